//! Parts of a text that are written anew and read once more: numbers whose groups stand apart, values in pieces, words with signs
//! in them, texts letter by letter.
//!
//! Of each only what cannot have been found before counts.

use std::ops::Range;

use super::look::{Found, Layers, Leads, SMALL_CHANGE, map_back};
use super::{Detectors, View};
use crate::apart;
use crate::aside::{self, Aside};
use crate::cuts::Pieces;
use crate::mapped::small;

impl Detectors {
    /// Everything of a text that has to be written anew.
    pub(super) fn again(
        &self,
        text: &str,
        key: Option<&str>,
        leads: &Leads,
        layers: Layers,
        budget: &mut usize,
        out: &mut Vec<Found>,
    ) {
        for range in &leads.apart {
            self.regrouped(text, range, key, out);
        }
        // Of its own: a file full of lines that only look cut is none that was read too often.
        let mut anew = text.len() + SMALL_CHANGE;
        for pieces in &leads.cut {
            self.rejoined(text, pieces, key, leads.first, &mut anew, out);
        }
        for aside in aside::emphasised(text) {
            self.undressed(&aside, key, &mut anew, out);
        }
        let mut behind = 0;
        for sign in &leads.signs {
            if sign.start < behind {
                continue;
            }
            behind = sign.end;
            if let Some((range, inner)) = aside::of_codes(text, sign.end) {
                self.beside(text, &inner, range, key, layers, budget, out);
            } else if let Some(aside) = aside::bracketed(text, sign.start) {
                behind = aside.signs.last().map_or(behind, |last| last + 1);
                self.undressed(&aside, key, &mut anew, out);
            }
        }
    }

    /// A number whose groups stand apart, read as it is usually written. What is found there beside it was found before.
    fn regrouped(&self, text: &str, range: &Range<usize>, key: Option<&str>, out: &mut Vec<Found>) {
        let written = apart::written(text, range);
        let first = out.len();
        self.plain(written.text(), key, View::Folded, out);
        map_back(out, first, &written);
        let mut at = 0;
        out.retain(|one| {
            at += 1;
            at <= first || (one.range().start <= range.start && range.end <= one.range().end)
        });
    }

    /// A value in pieces, read as one. What is found there and lies over no cut was found before, from `own` on.
    fn rejoined(
        &self,
        text: &str,
        pieces: &Pieces,
        key: Option<&str>,
        own: usize,
        budget: &mut usize,
        out: &mut Vec<Found>,
    ) {
        let first = out.len();
        for count in pieces.ways() {
            let Some((joined, cut)) = pieces.joined(text, count) else { return };
            let length = joined.text().len();
            if length > *budget {
                return;
            }
            *budget -= length;
            self.plain(joined.text(), key, View::Folded, out);
            map_back(out, first, &joined);
            let (known, found) = out.split_at(first);
            let known = known.get(own..).unwrap_or_default();
            let begins = |one: &Found| self.compiled.get(usize::from(one.rule)).is_some_and(|rule| !rule.grouped);
            // Of two strings beside each other the second may be a value of its own.
            let own_value = |one: &Found| {
                let behind = pieces.first_cut()..one.range().end;
                known.iter().any(|known| behind.contains(&known.range().start))
            };
            let over = |one: &Found| {
                let beside = !pieces.beside || (begins(one) && !own_value(one));
                one.range().start < cut.start && cut.end < one.range().end && beside
            };
            let more: Vec<Found> = found
                .iter()
                .filter(|one| over(one) && !known.iter().any(|known| self.is_enough(known, one, pieces.is_sure(count))))
                .cloned()
                .collect();
            out.truncate(first);
            if !more.is_empty() {
                out.extend(more);
                return;
            }
        }
    }

    /// Whether what was found in one piece is all of a value, and no more belongs to it: behind a word that announces it any value
    /// may go on with the next line, behind a prefix only its own letters do.
    fn is_enough(&self, known: &Found, more: &Found, sure: bool) -> bool {
        let overlap = known.start < more.end && more.start < known.end;
        let begins = |rule: u16| self.compiled.get(usize::from(rule)).is_some_and(|one| !one.grouped);
        overlap && !(sure && (known.rule != more.rule || begins(more.rule)))
    }

    /// A word without the signs that were put into it. What is found there and holds none of them was found before.
    fn undressed(&self, aside: &Aside, key: Option<&str>, budget: &mut usize, out: &mut Vec<Found>) {
        let length = aside.written.text().len();
        if length > *budget {
            return;
        }
        *budget -= length;
        let first = out.len();
        self.plain(aside.written.text(), key, View::Folded, out);
        map_back(out, first, &aside.written);
        let mut at = 0;
        out.retain(|one| {
            at += 1;
            at <= first || aside.signs.iter().any(|sign| one.range().start < *sign && sign + 1 < one.range().end)
        });
    }

    /// What was written letter by letter, read behind the words that stand before it.
    #[expect(clippy::too_many_arguments, reason = "one reading, all of which is passed on")]
    pub(super) fn beside(
        &self,
        text: &str,
        inner: &str,
        range: Range<usize>,
        key: Option<&str>,
        layers: Layers,
        budget: &mut usize,
        out: &mut Vec<Found>,
    ) {
        const BEFORE: usize = 48;
        let first = out.len();
        self.within(inner, range.clone(), View::Hex, key, layers, budget, out);
        if out.len() > first {
            return;
        }
        let from = text.floor_char_boundary(range.start.saturating_sub(BEFORE));
        let said = text.get(from..range.start).unwrap_or_default();
        let said = said.rsplit('\n').find(|line| line.contains(|c: char| c.is_alphabetic())).unwrap_or_default();
        // `String.fromCharCode(` and `bytes([` stand between a name and its value.
        let said = said.rsplit_once('=').map_or(said, |(name, _)| name).trim_end_matches(['(', '[', '{', ' ']);
        let said = format!("{said}: ");
        let mut found = Vec::new();
        self.plain(&format!("{said}{inner}"), key, View::Hex, &mut found);
        let strongest = found
            .into_iter()
            .filter(|one| one.end as usize > said.len())
            .max_by_key(|one| (self.severity(one.rule), one.end - one.start));
        out.extend(strongest.map(|one| Found { start: small(range.start), end: small(range.end), ..one }));
    }
}

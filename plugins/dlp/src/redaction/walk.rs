//! Walks a document's tokens where they lie. Strings, keys and numbers that something points at are read; the rest is stepped over.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use smallvec::SmallVec;

use super::blocks::Block;
use super::edits::Edits;
use super::labels::{NEAR, are_rows, is_value};
use super::names::Names;
use super::pieces::{MOST_NEIGHBOURS, Neighbourhood, Neighbours};
use super::place::{Place, Said, Way};
use super::schema;
use super::spoken::Spoken;
use super::step::{Look, end_of_string};
use super::string::About;
use super::{Redaction, UNREADABLE};
use crate::detectors::{Pointer, Why};
use crate::mapped::small;
use crate::paths::Alive;
use crate::{Blocked, Care, Counts};

/// The walk recurses; documents beyond this were refused before they came here.
const DEEPEST: usize = 512;
/// How much may be read twice, in lengths of the document, and of short ones besides.
const AHEAD: usize = 4;
const SMALL_CHANGE: usize = 4096;
/// More places than this, or than one in so many bytes, are not remembered: then everything is read.
const MOST_SPOTS: usize = 4096;
const BYTES_A_SPOT: usize = 16;
/// Of what stands inside another so much is put behind it at once; the rest is sorted at the end.
const MOST_INSIDE: usize = 8;

pub(super) struct Walk<'w, 'a> {
    pub redaction: &'w Redaction<'a>,
    pub text: &'w str,
    pub at: usize,
    pub nested: u8,
    pub found: &'w mut Counts,
    pub edits: &'w mut Edits,
    /// Places that deserve a look, in order; what lies before `next` is behind us.
    spots: SmallVec<[Pointer; 32]>,
    next: usize,
    all: bool,
    pub outer: Option<Care>,
    /// Texts that are one text in pieces, as they stand between quotes.
    pub pieces: Neighbours,
    /// The names of each object, by its place, that has a masked one: two of one name would be one.
    pub names: HashMap<usize, Names>,
    /// A private key that began in a string before.
    pub block: Option<Block>,
    /// So many bytes may still be read ahead of the walk, for names that stand behind their values.
    pub ahead: usize,
    /// What names say of the string at hand; kept, because there are many strings.
    context: String,
    /// Whom the names of strings before it spoke of.
    spoken: Spoken,
    /// To where something was changed last.
    way: Way,
}

pub(super) type Walked<T = ()> = Result<T, Blocked>;

impl<'w, 'a> Walk<'w, 'a> {
    pub fn new(
        redaction: &'w Redaction<'a>,
        text: &'w str,
        nested: u8,
        found: &'w mut Counts,
        edits: &'w mut Edits,
    ) -> Self {
        Self {
            redaction,
            text,
            at: 0,
            nested,
            found,
            edits,
            spots: SmallVec::new(),
            next: 0,
            all: false,
            outer: None,
            pieces: Neighbours::new(),
            names: HashMap::new(),
            block: None,
            ahead: text.len().saturating_mul(AHEAD).saturating_add(SMALL_CHANGE),
            context: String::new(),
            spoken: Spoken::default(),
            way: Way::default(),
        }
    }

    /// For a document inside a string: what holds for the string holds for all of it.
    pub fn under(mut self, care: Option<Care>) -> Self {
        self.outer = care.filter(|care| *care == Care::Critical);
        self
    }

    pub fn document(mut self) -> Walked {
        self.gather();
        let alive = if self.nested == 0 { self.redaction.paths.start() } else { Alive::NONE };
        let top = Place::top(alive);
        self.value(&top)?;
        self.blank();
        if self.at < self.text.len() {
            return Err(unreadable());
        }
        self.end_block(None, &top)?;
        let pieces = std::mem::take(&mut self.pieces);
        self.join(&pieces, Neighbourhood::Pieces, &top)
    }

    fn gather(&mut self) {
        for (number, set) in self.redaction.sets.iter().enumerate() {
            let number = u8::try_from(number).unwrap_or(u8::MAX);
            self.all |= set.reads_everything();
            let (spots, all) = (&mut self.spots, &mut self.all);
            let most = MOST_SPOTS.max(self.text.len() / BYTES_A_SPOT);
            set.suspicious(self.text.as_bytes(), |place, why| {
                if spots.len() >= most {
                    *all = true;
                }
                let pointer = Pointer { start: small(place.start), end: small(place.end), set: number, why };
                // They come in the order of their ends: what ends later may begin before some that stand inside it.
                let later = spots.iter().rev().take(MOST_INSIDE).take_while(|other| other.start > pointer.start);
                match later.count() {
                    0 | MOST_INSIDE => spots.push(pointer),
                    inside => spots.insert(spots.len() - inside, pointer),
                }
                !*all
            });
        }
        // Each kind comes on its own: a few sorted rows, which is sorted soon.
        self.spots.sort_by_key(|spot| spot.start);
    }

    /// Whether something lies in this part, which must not begin before the last one that was asked for.
    pub fn pointed_at(&mut self, start: usize, end: usize) -> bool {
        while self.spots.get(self.next).is_some_and(|spot| (spot.start as usize) < start) {
            self.next += 1;
        }
        self.all || self.spots.get(self.next).is_some_and(|spot| (spot.start as usize) < end)
    }

    /// Whether what points at a part, which was just asked for, leads to nothing in it: identifiers, times, digests, amounts.
    pub fn leads_nowhere(&mut self, part: Range<usize>, place: &Place<'_>) -> bool {
        let ahead = self.spots.get(self.next..).unwrap_or_default();
        let own = ahead.iter().take_while(|spot| (spot.start as usize) < part.end).count();
        let pointers = ahead.get(..own).unwrap_or_default();
        if self.all || pointers.iter().any(|one| one.why == Why::Any) {
            return false;
        }
        let text = self.text.get(part.clone()).unwrap_or_default();
        let sets = &self.redaction.sets;
        let (context, spoken) = (&mut self.context, &mut self.spoken);
        sets.iter().zip(0..).all(|(set, number)| {
            // Few texts lead to anybody who waits for words.
            let (context, spoken) = (&mut *context, &mut *spoken);
            set.leads_nowhere(text, part.start, number, pointers, move || {
                spoken.of(sets, place, context).get(usize::from(number))
            })
        })
    }

    /// Whether anything is pointed at not far ahead, counted from a spot that came before: elsewhere no name says anything.
    fn is_near(&self, spot: usize) -> bool {
        let near = self.all || self.spots.get(spot).is_some_and(|spot| (spot.start as usize) < self.at + NEAR);
        near && self.ahead > 0
    }

    /// Whether some rule begins with what stands in this part, wherever the walk is.
    pub fn begins_rule(&self, range: Range<usize>) -> bool {
        let part = self.text.as_bytes().get(range).unwrap_or_default();
        self.redaction.sets.iter().any(|set| set.has_literal(part))
    }

    fn value(&mut self, place: &Place<'_>) -> Walked {
        if place.depth > DEEPEST {
            return Err(unreadable());
        }
        match self.peek() {
            Some(b'{') => self.object(place),
            Some(b'[') => self.array(place),
            Some(b'"') => {
                let (start, end) = self.quoted()?;
                self.string(start, end, place)
            }
            Some(b'-' | b'0'..=b'9') => self.number(place),
            Some(b'a'..=b'z') => {
                self.skip(|byte| byte.is_ascii_lowercase());
                Ok(())
            }
            _ => Err(unreadable()),
        }
    }

    fn object(&mut self, place: &Place<'_>) -> Walked {
        let open = self.at;
        self.at += 1;
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(());
        }
        let mut run = Neighbours::new();
        let mut siblings = None;
        let first_spot = self.next;
        loop {
            if self.peek() != Some(b'"') {
                return Err(unreadable());
            }
            let (start, end) = self.quoted()?;
            let text = self.text;
            let raw = text.get(start..end).unwrap_or_default();
            // With its quotes and its colon: some rules begin with them.
            let pointed_at = self.pointed_at(start.saturating_sub(1), end + 2);
            let alive = self.redaction.paths.step(place.alive, raw);
            let mut inner = place.member(raw, alive, pointed_at, &[]);
            let care = self.care(&inner);
            let mut masked = None;
            if pointed_at && care != Some(Care::Opaque) {
                masked = self.member_name(open, start, end, &inner)?;
            }
            if self.peek() != Some(b':') {
                return Err(unreadable());
            }
            self.at += 1;
            let scalar = matches!(self.peek(), Some(b'"' | b'-' | b'0'..=b'9'));
            if scalar && self.is_near(first_spot) && is_value(raw) {
                let said = siblings.get_or_insert_with(|| self.siblings(open)).as_slice();
                inner = place.member(raw, alive, pointed_at, said);
            }
            let is_table = self.begins_table() && self.ahead > 0 && are_rows(raw);
            let heads = if is_table { self.heads(open) } else { Vec::new() };
            (inner.within, inner.written) = (open, start);
            inner.now = masked.as_deref();
            inner.table = heads.as_slice();
            let is_text = self.peek() == Some(b'"') && care.is_none();
            match care {
                Some(Care::Opaque) => self.step_over()?,
                Some(Care::Binary) if self.peek() == Some(b'"') => self.binary(open, &inner)?,
                _ => {
                    let before = self.at;
                    self.value(&inner)?;
                    if is_text && run.len() <= MOST_NEIGHBOURS {
                        run.push((before + 1, self.at.saturating_sub(1)));
                    }
                }
            }
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => break,
                _ => return Err(unreadable()),
            }
        }
        self.at += 1;
        self.join(&run, Neighbourhood::Members, place)
    }

    fn array(&mut self, place: &Place<'_>) -> Walked {
        let open = self.at;
        self.at += 1;
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(());
        }
        let mut run = Neighbours::new();
        let mut index = 0;
        // A table without heads has them in its first row.
        let mut heads: Vec<Said<'w>> = Vec::new();
        if place.table.is_empty() && self.ahead > 0 && self.peek() == Some(b'[') {
            heads = self.first_row();
        }
        let first_spot = self.next;
        let mut first = None;
        loop {
            let is_text = self.peek() == Some(b'"');
            let pair = match first.take() {
                Some(first) if index == 1 && self.is_near(first_spot) => self.pair(first),
                _ => None,
            };
            let column = place.row.get(index..index + 1).unwrap_or_default();
            let by_pair = pair.is_some_and(|pair| pair.pointed_at) || column.is_empty();
            let said = if by_pair { pair.as_slice() } else { column };
            let mut inner = place.element(index, self.redaction.paths.element(place.alive, index), said);
            inner.within = open;
            if self.peek() == Some(b'[') {
                inner.row = if heads.is_empty() || index == 0 { place.table } else { &heads };
            }
            if self.care(&inner) == Some(Care::Opaque) {
                self.step_over()?;
            } else {
                let before = self.at;
                self.value(&inner)?;
                if is_text && run.len() <= MOST_NEIGHBOURS {
                    run.push((before + 1, self.at.saturating_sub(1)));
                }
                first = (is_text && index == 0).then_some(before + 1..self.at.saturating_sub(1));
            }
            index += 1;
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => break,
                _ => return Err(unreadable()),
            }
        }
        self.at += 1;
        self.join(&run, Neighbourhood::Elements, place)
    }

    pub fn care(&self, place: &Place<'_>) -> Option<Care> {
        match self.redaction.paths.ends(place.alive, place.depth).or(self.outer) {
            Some(Care::Schema) if schema::is_word(place) => None,
            Some(Care::Schema) => Some(Care::Critical),
            care => care,
        }
    }

    pub fn string(&mut self, start: usize, end: usize, place: &Place<'_>) -> Walked {
        let care = self.care(place);
        if care == Some(Care::Pieces) && start < end {
            self.pieces.push((start, end));
        }
        let pointed_at = self.pointed_at(start, end);
        let alone = self.block.is_none() && place.label.is_none();
        if alone && (!pointed_at || self.leads_nowhere(start..end, place)) {
            return Ok(());
        }
        self.through_block(start..end, place, pointed_at)?;
        if !pointed_at && place.label.is_none() {
            return Ok(());
        }
        let text = self.text;
        let raw = text.get(start..end).unwrap_or_default();
        let mut context = std::mem::take(&mut self.context);
        place.context(&mut context);
        let key = Some(context.as_str()).filter(|context| !context.is_empty());
        let about = About { key, label: place.label, care, nested: self.nested };
        let done = self.redaction.raw_string(raw, start, about, self.edits, self.found);
        self.context = context;
        let changed = done.map_err(|rule| self.blocked(rule, place))?;
        if changed {
            self.changed_at(place);
        }
        Ok(())
    }

    /// Remembers where something was changed; inside a string there is no such place.
    pub fn changed_at(&mut self, place: &Place<'_>) {
        if self.nested == 0 {
            let way = &mut self.way;
            self.found.edited_at(|| place.pointer_from(way));
        }
    }

    /// What is found in a value with these names around it.
    pub fn about<T>(&mut self, place: &Place<'_>, look: impl FnOnce(&Redaction<'a>, &str) -> T) -> T {
        place.context(&mut self.context);
        look(self.redaction, &self.context)
    }

    /// A table: a list of lists.
    fn begins_table(&self) -> bool {
        let mut look = Look { text: self.text.as_bytes(), at: self.at };
        let opens = look.text.get(look.at) == Some(&b'[');
        look.at += 1;
        look.blank();
        opens && look.text.get(look.at) == Some(&b'[')
    }

    /// Names rule and place; a name on the way may be a value itself, and is told as its mask.
    pub fn blocked(&self, rule: Arc<str>, place: &Place<'_>) -> Blocked {
        Blocked { rule, path: place.told(self.redaction) }
    }

    fn step_over(&mut self) -> Walked {
        let mut look = Look { text: self.text.as_bytes(), at: self.at };
        look.value().ok_or_else(unreadable)?;
        self.at = look.at;
        Ok(())
    }

    fn peek(&mut self) -> Option<u8> {
        self.blank();
        self.text.as_bytes().get(self.at).copied()
    }

    fn blank(&mut self) {
        self.skip(|byte| matches!(byte, b' ' | b'\n' | b'\r' | b'\t'));
    }

    #[inline]
    pub fn skip(&mut self, kind: impl Fn(u8) -> bool) {
        let bytes = self.text.as_bytes();
        while bytes.get(self.at).is_some_and(|byte| kind(*byte)) {
            self.at += 1;
        }
    }

    /// Start and end of what stands between the quotes.
    pub fn quoted(&mut self) -> Walked<(usize, usize)> {
        let start = self.at + 1;
        let end = end_of_string(self.text.as_bytes(), start).ok_or_else(unreadable)?;
        self.at = end + 1;
        Ok((start, end))
    }
}

fn unreadable() -> Blocked {
    Blocked { rule: UNREADABLE.into(), path: String::new() }
}

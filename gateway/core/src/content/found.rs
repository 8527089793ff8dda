//! Personal data and secrets, as they may be told: which rule, how often, and what was done about it. Never the value.

use std::sync::Arc;

use crate::canonical::{Object, write_text};
use crate::classification::scale;

scale!(
    /// What is done about a finding, from nothing to everything: of two the stricter wins.
    Action, "observe, partial, hash, mask, block",
    { Observe = "observe", Partial = "partial", Hash = "hash", Mask = "mask", Block = "block", }
);

/// Which way a text goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// To an upstream.
    Request,
    /// To a client.
    Result,
    /// To a client, in a list of what there is.
    Definition,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub rule: Arc<str>,
    pub count: u32,
    pub action: Action,
}

/// All findings of a message, or of an answer in many messages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    findings: Vec<Finding>,
    edited: Vec<String>,
    /// What all of them take together.
    edited_bytes: usize,
    edited_more: bool,
    clean: bool,
}

/// More places than this are not told one by one, nor longer ones: then it is known that there were more, and whoever
/// forgives an edited place forgives none of those.
const MOST_EDITED: usize = 4096;
const MOST_EDITED_BYTES: usize = 1 << 20;

impl Found {
    pub fn add(&mut self, rule: &Arc<str>, action: Action, count: u32) {
        if count == 0 {
            return;
        }
        match self.findings.iter_mut().find(|known| known.action == action && known.rule == *rule) {
            Some(known) => known.count = known.count.saturating_add(count),
            None => self.findings.push(Finding { rule: Arc::clone(rule), count, action }),
        }
    }

    /// A place in the message, as a JSON pointer, whose value is no longer what its author wrote.
    pub fn edit(&mut self, path: String) {
        if self.edited.len() >= MOST_EDITED || self.edited_bytes + path.len() > MOST_EDITED_BYTES {
            self.edited_more = true;
            return;
        }
        self.edited_bytes += path.len();
        self.edited.push(path);
    }

    /// Takes the places out, so that only what was counted stays.
    #[must_use]
    pub fn take_places(&mut self) -> Self {
        let Self { edited, edited_bytes, edited_more, .. } = self;
        let edited_bytes = std::mem::take(edited_bytes);
        let edited_more = std::mem::take(edited_more);
        Self { edited: std::mem::take(edited), edited_bytes, edited_more, ..Self::default() }
    }

    /// Nothing in the message deserves a second look, neither by what changes messages nor by what keeps records of them.
    pub fn nothing_here(&mut self) {
        self.clean = true;
    }

    /// Somebody looked at all of it and found nothing that any rule could mean. Untold: nobody has looked.
    pub fn is_clean(&self) -> bool {
        self.clean
    }

    /// Places were edited that are not told.
    pub fn edit_more(&mut self) {
        self.edited_more = true;
    }

    pub fn join(&mut self, more: &Self) {
        for finding in &more.findings {
            self.add(&finding.rule, finding.action, finding.count);
        }
        for path in &more.edited {
            self.edit(path.clone());
        }
        self.edited_more |= more.edited_more;
    }

    pub fn is_empty(&self) -> bool {
        self.findings.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter()
    }

    pub fn edited(&self) -> &[String] {
        &self.edited
    }

    /// Whether more places were edited than are told.
    pub fn edited_more(&self) -> bool {
        self.edited_more
    }

    /// Canonical JSON, by rule and action, so that the same findings always read the same.
    pub(crate) fn write(&self, out: &mut String) {
        let mut ordered: Vec<_> = self.findings.iter().collect();
        ordered.sort_by(|one, other| (&one.rule, one.action).cmp(&(&other.rule, other.action)));
        out.push('[');
        for (place, finding) in ordered.into_iter().enumerate() {
            out.push_str(if place > 0 { "," } else { "" });
            let mut written = Object::with_capacity(64);
            written.text("action", Some(finding.action.as_str()));
            written.raw("count", &finding.count.to_string());
            write_text(&finding.rule, written.member("rule"));
            out.push_str(written.end().as_str());
        }
        out.push(']');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_are_counted_by_rule_and_told_in_order() {
        let (email, card): (Arc<str>, Arc<str>) = ("email".into(), "payment_card".into());
        let mut found = Found::default();
        found.add(&card, Action::Mask, 1);
        found.add(&email, Action::Observe, 2);
        found.add(&card, Action::Mask, 2);
        found.add(&email, Action::Mask, 0);
        let mut told = String::new();
        found.write(&mut told);
        let expected =
            r#"[{"action":"observe","count":2,"rule":"email"},{"action":"mask","count":3,"rule":"payment_card"}]"#;
        assert_eq!(told, expected);
        let mut both = Found::default();
        both.join(&found);
        assert_eq!(both, found);
    }

    #[test]
    fn edited_places_are_bounded_and_it_is_known_that_there_were_more() {
        let mut found = Found::default();
        for number in 0..MOST_EDITED {
            found.edit(format!("/{number}"));
        }
        assert!(!found.edited_more());
        found.edit("/one/more".into());
        assert!(found.edited_more() && found.edited().len() == MOST_EDITED);
        let (mut long, mut joined) = (Found::default(), Found::default());
        long.edit("x".repeat(MOST_EDITED_BYTES + 1));
        assert!(long.edited_more() && long.edited().is_empty());
        joined.join(&long);
        assert!(joined.edited_more());
        joined.add(&"email".into(), Action::Mask, 1);
        let places = joined.take_places();
        assert!(places.edited_more() && places.is_empty(), "{places:?}");
        assert!(!joined.edited_more() && joined.edited().is_empty() && !joined.is_empty(), "{joined:?}");
    }
}

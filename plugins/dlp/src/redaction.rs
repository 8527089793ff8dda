//! Takes out what was found.

use bytes::Bytes;
use serde_json::Value;
use smallvec::SmallVec;

use crate::{Action, Actions, Blocked, Counts, Detectors, Paths, Seam};

/// What to look for, what to do about it and where not to look.
#[derive(Clone)]
pub struct Redaction<'a> {
    pub sets: SmallVec<[&'a Detectors; 2]>,
    pub actions: &'a Actions,
    /// The tenant's; hashes are made with it.
    pub key: &'a [u8; 32],
    pub paths: &'a Paths,
}

impl<'a> Redaction<'a> {
    /// A bare text; `None` where nothing is changed.
    pub fn text(&self, text: &str, found: &mut Counts) -> Result<Option<String>, Blocked> {
        let mut out = None;
        for (index, set) in self.sets.iter().enumerate() {
            let current = out.as_deref().unwrap_or(text);
            let mut hits = Vec::new();
            set.scan(current, None, &mut hits);
            let mut edited = current.to_owned();
            let mut changed = false;
            for hit in hits.iter().rev() {
                let Some(rule) = set.rules().get(usize::from(hit.rule)) else {
                    continue;
                };
                let action = self.actions.of(index, hit.rule);
                if action == Action::Block {
                    return Err(Blocked { rule: rule.id.clone(), path: String::new() });
                }
                found.add(&rule.id, action, 1);
                if action != Action::Observe {
                    edited.replace_range(hit.start as usize..hit.end as usize, &format!("[{}]", rule.label));
                    changed = true;
                }
            }
            if changed {
                out = Some(edited);
            }
        }
        Ok(out)
    }

    /// A JSON document, read without building it; `None` where nothing is changed, and what is not changed stays byte for byte.
    pub fn json(&self, raw: &Bytes, found: &mut Counts) -> Result<Option<Bytes>, Blocked> {
        let Ok(mut value) = serde_json::from_slice::<Value>(raw) else {
            return Ok(None);
        };
        Ok(self.value(&mut value, found)?.then(|| value.to_string().into()))
    }

    /// A document that is a tree already, changed in place; whether it was changed.
    pub fn value(&self, value: &mut Value, found: &mut Counts) -> Result<bool, Blocked> {
        let mut changed = false;
        match value {
            Value::String(text) => {
                if let Some(edited) = self.text(text, found)? {
                    *text = edited;
                    changed = true;
                }
            }
            Value::Array(items) => {
                for item in items {
                    changed |= self.value(item, found)?;
                }
            }
            Value::Object(members) => {
                for (_, member) in members {
                    changed |= self.value(member, found)?;
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
        Ok(changed)
    }

    /// For texts that arrive in pieces.
    pub fn seam(&self) -> Seam<'_, 'a> {
        Seam::new(self)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use smallvec::smallvec;

    use super::*;
    use crate::WrittenDetector;

    #[test]
    fn an_address_is_masked_wherever_it_stands() {
        let email = WrittenDetector {
            id: "email".into(),
            pattern: Some(r"[a-z0-9.]+@[a-z0-9-]+(?:\.[a-z0-9-]+)+".into()),
            anchors: vec!["@".into()],
            ..WrittenDetector::default()
        };
        let set = Detectors::compile(vec![email]).unwrap();
        let actions = Actions::all(Action::Mask);
        let redaction = Redaction { sets: smallvec![&set], actions: &actions, key: &[0; 32], paths: &Paths::none() };
        let mut found = Counts::default();
        assert_eq!(redaction.text("to jo@example.org!", &mut found), Ok(Some("to [EMAIL]!".into())));
        let raw = Bytes::from_static(br#"{"a":["jo@example.org"]}"#);
        assert_eq!(redaction.json(&raw, &mut found), Ok(Some(r#"{"a":["[EMAIL]"]}"#.into())));
        assert_eq!(found.iter().map(|one| one.count).sum::<u32>(), 2);
    }
}

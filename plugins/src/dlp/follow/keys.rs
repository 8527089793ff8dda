//! Private keys that began in one message of a stream and end in a later one.

use std::collections::HashMap;

use gateway_dlp::{OpenKey, Paths};
use gateway_protocol::Reply;

use super::super::edit::{texts, with_texts};
use super::{Following, MOST_OPEN, Place};

impl Following {
    /// The message without what belongs to keys that began before it.
    pub(super) fn behind_keys(&mut self, reply: Reply) -> Reply {
        if self.keys.is_empty() {
            return reply;
        }
        let scope = self.scope(&reply);
        let nowhere = Paths::none();
        let redaction = scope.redaction(&self.inner.rules, &scope.softened, &nowhere);
        let method = reply.method().unwrap_or_default().to_owned();
        let mut edits = Vec::new();
        for (pointer, text) in texts(&reply) {
            let place = (method.clone(), pointer);
            let Some(key) = self.keys.get_mut(&place) else { continue };
            let rest = redaction.seam().go_on(key, &text);
            if rest.over {
                self.keys.remove(&place);
            }
            if rest.taken > 0 {
                edits.push((place.1, text.get(rest.taken..).unwrap_or_default().to_owned()));
            }
        }
        if edits.is_empty() { reply } else { with_texts(&reply, &edits) }
    }
}

pub(super) fn remember(keys: &mut HashMap<Place, OpenKey>, place: Place, key: OpenKey) {
    if keys.len() < MOST_OPEN || keys.contains_key(&place) {
        keys.insert(place, key);
    }
}

/// Leaves out all of a text in pieces that lies behind `start`, and says in which piece that is.
pub(super) fn cut(words: &mut [&str], start: usize) -> usize {
    let mut before = 0;
    let mut begins = None;
    for (index, word) in words.iter_mut().enumerate() {
        let kept = start.saturating_sub(before).min(word.len());
        before += word.len();
        if kept < word.len() {
            begins.get_or_insert(index);
            *word = word.get(..kept).unwrap_or_default();
        }
    }
    begins.unwrap_or_default()
}

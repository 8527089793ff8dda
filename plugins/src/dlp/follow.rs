//! Streams: a value that is cut by the end of one message and goes on in the next is found in both.
//!
//! A message waits only where a text in it ends in the beginning of something, at most as long and as large as the operator
//! lets it (`hold`). What had to go on without its rest is remembered, so that at least the rest does not follow it; a private
//! key is remembered until it ends, however many messages that takes.

mod keys;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use gateway_core::chain::{Follow, Passed, Passing, Step};
use gateway_core::content::{Action, Found};
use gateway_core::exchange::Exchange;
use gateway_core::live::TenantRules;
use gateway_core::policies::ClassifiedTool;
use gateway_core::verdict::Objection;
use gateway_dlp::{Counts, OpenKey, Paths};
use gateway_protocol::{Reply, ReplyKind};

use super::Inner;
use super::edit::{MOST_TEXTS, texts, with_texts};
use super::rules::told;
use super::scope::{Scope, Way, way_of};
use keys::{cut, remember};

/// Whether a longer message may pass is said when it goes on, so that it is not read twice.
const LONGEST_PIECE: usize = 16 * 1024;
/// How many texts a stream may have left open, and how much of each is remembered.
const MOST_OPEN: usize = MOST_TEXTS;
const LONGEST_OPEN: usize = 256;

pub(super) struct Following {
    inner: Arc<Inner>,
    way: Way,
    tenant: Arc<TenantRules>,
    tool: Option<Arc<ClassifiedTool>>,
    held: Vec<Piece>,
    /// The ends of texts that went on before their rest had come.
    open: HashMap<Place, String>,
    /// Private keys that began at a place and have not ended.
    keys: HashMap<Place, OpenKey>,
}

/// A method and a JSON pointer: pieces of one text stand at one place.
type Place = (String, String);

struct Piece {
    reply: Reply,
    texts: BTreeMap<Place, Text>,
}

struct Text {
    text: String,
    /// Where something begins in it that may not be over; its length where nothing does.
    over: usize,
}

impl Text {
    fn waits(&self) -> bool {
        self.over < self.text.len()
    }
}

impl Following {
    pub fn new(inner: Arc<Inner>, exchange: &Exchange, way: Way) -> Self {
        let tool = inner.handled(exchange).cloned();
        let tenant = Arc::clone(&exchange.rules);
        Self { inner, way, tenant, tool, held: Vec::new(), open: HashMap::new(), keys: HashMap::new() }
    }

    fn scope(&self, reply: &Reply) -> Arc<Scope> {
        let way = way_of(self.way, reply);
        self.inner.scopes.of(&self.inner.rules, &self.tenant, self.tool.as_ref(), way)
    }

    /// Looked at by itself.
    fn alone(&self, reply: Reply, found: &mut Found) -> Result<Passing, Objection> {
        let rules = &self.inner.rules;
        if !self.inner.suspects_answer(&self.tenant, reply.raw()) {
            return Ok(reply.into());
        }
        let mut own = Found::default();
        let edited = self.scope(&reply).reply(rules, &reply, &mut own);
        let places = own.take_places();
        found.join(&own);
        Ok(Passing { reply: edited?.unwrap_or(reply), edited: places })
    }

    /// Which of the texts at one place end in something that may go on, once `piece` stands behind the others.
    fn weigh(&mut self, piece: &mut Piece) {
        let scope = self.scope(&piece.reply);
        let nowhere = Paths::none();
        let redaction = scope.redaction(&self.inner.rules, &scope.actions, &nowhere);
        let seam = redaction.seam();
        for (place, text) in &mut piece.texts {
            let mut before: Vec<&mut Text> =
                self.held.iter_mut().filter_map(|held| held.texts.get_mut(place)).collect();
            // What went on already is where it begins: a blank by itself is open behind half a number.
            let mut whole = self.open.get(place).cloned().unwrap_or_default();
            let mut start = whole.len();
            whole.extend(before.iter().map(|held| held.text.as_str()));
            whole.push_str(&text.text);
            let tail = seam.tail(&whole).unwrap_or(whole.len());
            for held in &mut before {
                held.over = tail.saturating_sub(start).min(held.text.len());
                start += held.text.len();
            }
            text.over = tail.saturating_sub(start).min(text.text.len());
        }
    }

    /// Pieces that go on together: what lies across them is taken out first, then each is looked at by itself.
    fn finish(&mut self, pieces: Vec<Piece>, found: &mut Found) -> Passed {
        let mut edits: Vec<Vec<(String, String)>> = pieces.iter().map(|_| Vec::new()).collect();
        let joined: BTreeSet<Place> = pieces.iter().flat_map(|piece| piece.texts.keys()).cloned().collect();
        for place in joined {
            self.join(&place, &pieces, &mut edits, found);
        }
        let mut given = Passed::new();
        for (piece, edits) in pieces.into_iter().zip(edits) {
            let reply = if edits.is_empty() { piece.reply } else { with_texts(&piece.reply, &edits) };
            // Most that may not pass were refused when they came; taking something out may lay bare what nobody saw then.
            let passed = self.alone(reply, found).inspect_err(|objection| {
                tracing::info!("left out a message that was held: {}", objection.message);
            });
            given.push(passed.ok());
        }
        given
    }

    fn join(&mut self, place: &Place, pieces: &[Piece], edits: &mut [Vec<(String, String)>], found: &mut Found) {
        let at = |piece: &Piece| piece.texts.get(place).map(|text| text.text.clone());
        let mut texts: Vec<(Part, String)> =
            pieces.iter().enumerate().filter_map(|(index, piece)| Some((Part::Going(index), at(piece)?))).collect();
        if let Some(before) = self.open.remove(place) {
            texts.insert(0, (Part::Gone, before));
        }
        // What is still held may end what begins here; where it begins something itself, it is left for later.
        for (index, piece) in self.held.iter().enumerate() {
            let head = piece.texts.get(place).and_then(|text| text.text.get(..text.over));
            texts.extend(head.filter(|head| !head.is_empty()).map(|head| (Part::Held(index), head.to_owned())));
        }
        let Some(first) = pieces.first() else { return };
        let scope = self.scope(&first.reply);
        let nowhere = Paths::none();
        let redaction = scope.redaction(&self.inner.rules, &scope.softened, &nowhere);
        let mut counts = Counts::default();
        let mut words: Vec<&str> = texts.iter().map(|(_, text)| text.as_str()).collect();
        let key = redaction.seam().open_key(&words.concat(), &mut counts);
        if texts.len() < 2 && key.is_none() {
            return;
        }
        // A key that goes on without its end is taken out from where it begins.
        let mask = key.map(|(start, mask, key)| {
            remember(&mut self.keys, place.clone(), key);
            (cut(&mut words, start), mask)
        });
        let mut redacted = match redaction.seam().join(&words, &mut counts) {
            Ok(edited) => edited.unwrap_or_else(|| words.iter().map(|word| (*word).to_owned()).collect()),
            // Nobody can say what is in it, so nobody reads it.
            Err(_) => vec![String::new(); words.len()],
        };
        if let Some((index, mask)) = mask {
            redacted.get_mut(index).into_iter().for_each(|text| text.push_str(&mask));
        }
        // What is only observed is counted where each message is looked at by itself.
        for count in counts.iter().filter(|count| told(count.action) != Action::Observe) {
            found.add(&count.rule, told(count.action), count.count);
        }
        for ((part, before), now) in texts.iter().zip(redacted).filter(|((_, before), now)| before != now) {
            match part {
                Part::Gone => {}
                Part::Going(index) => edits.get_mut(*index).into_iter().for_each(|edits| {
                    edits.push((place.1.clone(), now.clone()));
                }),
                Part::Held(index) => self.held.get_mut(*index).into_iter().for_each(|piece| {
                    piece.replace(place, before.len(), &now);
                }),
            }
        }
    }
}

/// Where a part of a text is.
#[derive(Clone, Copy)]
enum Part {
    Gone,
    Going(usize),
    Held(usize),
}

impl Piece {
    /// The first bytes of one of its texts, in other words.
    fn replace(&mut self, place: &Place, bytes: usize, with: &str) {
        let Some(text) = self.texts.get_mut(place) else { return };
        text.text = [with, text.text.get(bytes..).unwrap_or_default()].concat();
        text.over = with.len();
        self.reply = with_texts(&self.reply, &[(place.1.clone(), text.text.clone())]);
    }
}

impl Follow for Following {
    fn next(&mut self, reply: Reply, found: &mut Found) -> Result<Step, Objection> {
        let answers = reply.kind() != ReplyKind::Notification;
        let reply = if answers { reply } else { self.behind_keys(reply) };
        if answers {
            let last = self.alone(reply, found)?;
            let mut given = self.end(found);
            given.push(Some(last));
            return Ok(Step::Give(given));
        }
        // Whether it may pass at all is said when it comes; what is taken out of it, when it goes on.
        if reply.raw().len() <= LONGEST_PIECE {
            self.alone(reply.clone(), &mut Found::default()).inspect_err(|objection| {
                found.add(&objection.rule.as_ref().into(), Action::Block, 1);
            })?;
        }
        let method = reply.method().unwrap_or_default().to_owned();
        let texts = texts(&reply)
            .into_iter()
            .map(|(pointer, text)| ((method.clone(), pointer), Text { over: text.len(), text }))
            .collect();
        let mut piece = Piece { reply, texts };
        self.weigh(&mut piece);
        self.held.push(piece);
        // Nothing overtakes what waits.
        let waits = |piece: &Piece| piece.texts.values().any(Text::waits);
        let first = self.held.iter().position(waits).unwrap_or(self.held.len());
        let going: Vec<Piece> = self.held.drain(..first).collect();
        if going.is_empty() {
            return Ok(Step::Hold);
        }
        Ok(Step::Give(self.finish(going, found)))
    }

    fn end(&mut self, found: &mut Found) -> Passed {
        let held = std::mem::take(&mut self.held);
        let left: Vec<(Place, String)> = held
            .iter()
            .flat_map(|piece| &piece.texts)
            .filter(|(_, text)| text.waits())
            .map(|(place, text)| (place.clone(), ending(&text.text).to_owned()))
            .collect();
        // A value may have to go on in many parts: each is read behind all of those before it.
        let known: Vec<(Place, String)> = left
            .iter()
            .filter_map(|(place, _)| self.open.get_key_value(place))
            .map(|(place, open)| (place.clone(), open.clone()))
            .collect();
        let given = self.finish(held, found);
        self.open.extend(known.into_iter().filter(|(place, _)| !self.keys.contains_key(place)));
        for (place, text) in left {
            if self.keys.contains_key(&place) {
                continue;
            }
            if self.open.len() < MOST_OPEN || self.open.contains_key(&place) {
                let open = self.open.entry(place).or_default();
                open.push_str(&text);
                *open = ending(open).to_owned();
            }
        }
        given
    }

    fn held(&self) -> usize {
        self.held.iter().map(|piece| piece.reply.raw().len()).sum()
    }

    fn bounds(&self) -> (Duration, usize) {
        let hold = self.inner.rules.settings.hold;
        (hold.time(), hold.bytes)
    }
}

/// The last part of a text.
fn ending(text: &str) -> &str {
    let mut start = text.len().saturating_sub(LONGEST_OPEN);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    text.get(start..).unwrap_or_default()
}

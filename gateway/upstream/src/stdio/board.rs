//! Who is waiting for what: the table between the requests of many clients and the one conversation with a child.
//!
//! Answers find their request by our number, progress by our token. Anything else a child says belongs to the request that
//! was started last, or to the sessions' own streams when nothing is under way. In a shared child that would be a guess
//! across principals, so there only lists that changed are told, and questions are refused.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use gateway_protocol::revision::meta;
use gateway_protocol::{Id, Message, Notification, Reply, ReplyKind, RpcError, code};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tracing::debug;

use super::mailbox::Mailbox;
use super::queues::Queues;
use super::rewrite;

/// Questions a child may have open at once.
const MAX_ASKED: usize = 1024;

pub(super) struct Board {
    table: Mutex<Table>,
    queues: Arc<Queues>,
    shared: bool,
    max_depth: usize,
}

struct Table {
    next: u64,
    flights: BTreeMap<u64, Waiting>,
    asked: HashMap<String, Asked>,
    last_used: Instant,
    closed: bool,
}

enum Waiting {
    Client(ClientRequest),
    Own(oneshot::Sender<Reply>),
}

pub(super) struct ClientRequest {
    /// `None` for a request that describes itself.
    pub(super) session: Option<String>,
    pub(super) id: Id,
    pub(super) token: Option<Value>,
    pub(super) mailbox: Arc<Mailbox>,
}

struct Asked {
    original: Id,
    session: String,
    mailbox: Arc<Mailbox>,
}

impl Board {
    pub(super) fn new(queues: Arc<Queues>, shared: bool, max_depth: usize) -> Self {
        let table = Table {
            next: 0,
            flights: BTreeMap::new(),
            asked: HashMap::new(),
            last_used: Instant::now(),
            closed: false,
        };
        Self { table: Mutex::new(table), queues, shared, max_depth }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number the request travels under.
    pub(super) fn enter(&self, request: ClientRequest) -> u64 {
        let mut table = self.table();
        if table.closed {
            request.mailbox.close();
        }
        table.enter(Waiting::Client(request))
    }

    /// A question of our own.
    pub(super) fn ask(&self) -> (u64, oneshot::Receiver<Reply>) {
        let (sender, receiver) = oneshot::channel();
        (self.table().enter(Waiting::Own(sender)), receiver)
    }

    /// Says whether it was still waited for.
    pub(super) fn leave(&self, number: u64) -> bool {
        let mut table = self.table();
        table.last_used = Instant::now();
        table.flights.remove(&number).is_some()
    }

    /// The child is gone: nobody will be answered any more.
    pub(super) fn close(&self) {
        let mut table = self.table();
        table.closed = true;
        table.asked.clear();
        for waiting in std::mem::take(&mut table.flights).into_values() {
            if let Waiting::Client(request) = waiting {
                request.mailbox.close();
            }
        }
    }

    /// When nothing is under way and nobody listens: since when.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        let listening = self.queues.all().iter().any(|queue| queue.has_reader());
        let table = self.table();
        (table.flights.is_empty() && !listening).then_some(table.last_used)
    }

    /// What the child said; gives what it must be answered at once.
    pub(super) fn receive(&self, reply: Reply) -> Option<Message> {
        match reply.kind() {
            ReplyKind::Result { .. } | ReplyKind::Error { .. } => self.answer(reply),
            ReplyKind::Request => return self.question(&reply),
            ReplyKind::Notification => self.news(&reply),
        }
        None
    }

    fn answer(&self, reply: Reply) {
        let Some(number) = reply.id().and_then(own_number) else { return };
        let mut table = self.table();
        table.last_used = Instant::now();
        match table.flights.remove(&number) {
            None => debug!(number, "an answer nobody waits for any more"),
            Some(Waiting::Own(sender)) => drop(sender.send(reply)),
            Some(Waiting::Client(request)) => {
                let answer = match carries_subscription(&reply) {
                    true => rewrite::edited(&reply, |message| {
                        *rewrite::subscription_slot(message)? = json!(request.id);
                        if let Message::Response(response) = message {
                            response.id = Some(request.id.clone());
                        }
                        Some(())
                    }),
                    false => None,
                };
                let answer = answer.or_else(|| rewrite::outward(&reply, &request.id, self.max_depth));
                if let Some(answer) = answer {
                    request.mailbox.put(answer);
                }
                request.mailbox.close();
            }
        }
    }

    fn question(&self, reply: &Reply) -> Option<Message> {
        let id = reply.id()?.clone();
        if reply.method() == Some("ping") {
            return Some(Message::result(id, json!({})));
        }
        let mut table = self.table();
        let under_way = table.flights.values().rev().find_map(|waiting| match waiting {
            Waiting::Client(request) => Some((request.session.clone()?, Arc::clone(&request.mailbox))),
            Waiting::Own(_) => None,
        });
        let place = if self.shared { None } else { under_way.or_else(|| self.queues.newest()) };
        let Some((session, mailbox)) = place else {
            return Some(Message::error(Some(id), RpcError::new(code::METHOD_NOT_FOUND, "no client can be asked")));
        };
        let text = fresh_question_id();
        let renamed = rewrite::edited(reply, |message| match message {
            Message::Request(request) => {
                request.id = Id::Text(text.clone());
                Some(())
            }
            _ => None,
        });
        let fits = table.asked.len() < MAX_ASKED && renamed.is_some_and(|renamed| mailbox.put(renamed));
        if !fits {
            return Some(Message::error(
                Some(id),
                RpcError::new(code::INTERNAL, "the client does not take questions now"),
            ));
        }
        table.asked.insert(text, Asked { original: id, session, mailbox });
        None
    }

    fn news(&self, reply: &Reply) {
        match reply.method() {
            Some("notifications/progress") => self.progress(reply),
            Some("notifications/cancelled") => self.question_withdrawn(reply),
            _ if carries_subscription(reply) && self.subscribed(reply) => {}
            Some(method) if self.shared && !concerns_all(method) => debug!(method, "not passed on from a shared child"),
            _ => {
                let recent = if self.shared { None } else { self.table().most_recent() };
                let places = recent.map_or_else(|| self.queues.all(), |mailbox| vec![mailbox]);
                for mailbox in places {
                    mailbox.put(reply.clone());
                }
            }
        }
    }

    fn progress(&self, reply: &Reply) {
        let Some(number) = reply.progress_token().as_ref().and_then(own_number) else { return };
        let table = self.table();
        let Some(Waiting::Client(request)) = table.flights.get(&number) else { return };
        let restored = rewrite::edited(reply, |message| {
            *message.params_mut()?.get_mut("progressToken")? = request.token.clone()?;
            Some(())
        });
        if let Some(restored) = restored {
            request.mailbox.put(restored);
        }
    }

    fn question_withdrawn(&self, reply: &Reply) {
        let mut table = self.table();
        let mut place = None;
        let renamed = rewrite::edited(reply, |message| {
            let slot = message.params_mut()?.get_mut("requestId")?;
            let original = Id::try_from(slot.clone()).ok()?;
            let text =
                table.asked.iter().find(|(_, asked)| asked.original == original).map(|(text, _)| text.clone())?;
            place = table.asked.remove(&text).map(|asked| asked.mailbox);
            *slot = Value::String(text);
            Some(())
        });
        if let (Some(mailbox), Some(renamed)) = (place, renamed) {
            mailbox.put(renamed);
        }
    }

    /// Says whether it belonged to a subscription.
    fn subscribed(&self, reply: &Reply) -> bool {
        let table = self.table();
        let mut place = None;
        let restored = rewrite::edited(reply, |message| {
            let slot = rewrite::subscription_slot(message)?;
            let number = Id::try_from(slot.clone()).ok().as_ref().and_then(own_number)?;
            let Some(Waiting::Client(request)) = table.flights.get(&number) else { return None };
            *slot = json!(request.id);
            place = Some(Arc::clone(&request.mailbox));
            Some(())
        });
        match (place, restored) {
            (Some(mailbox), Some(restored)) => mailbox.put(restored),
            _ => false,
        }
    }

    /// The client takes its request back: the same under our number, if the request is still under way.
    pub(super) fn cancelled(&self, session: &str, notification: &Notification) -> Option<Message> {
        let id = Id::try_from(notification.params.as_ref()?.get("requestId")?.clone()).ok()?;
        let number = self.table().flights.iter().find_map(|(number, waiting)| match waiting {
            Waiting::Client(request) if request.session.as_deref() == Some(session) && request.id == id => {
                Some(*number)
            }
            _ => None,
        })?;
        let mut params = notification.params.clone()?;
        params.insert("requestId".into(), number.into());
        Some(Message::notification("notifications/cancelled", Some(params)))
    }

    /// The child's own id of the question this client answers. A question is answered once, and by whom it was asked.
    pub(super) fn answered(&self, session: &str, id: &Id) -> Option<Id> {
        let Id::Text(text) = id else { return None };
        let mut table = self.table();
        if table.asked.get(text).is_none_or(|asked| asked.session != session) {
            return None;
        }
        table.asked.remove(text).map(|asked| asked.original)
    }
}

impl Table {
    fn enter(&mut self, waiting: Waiting) -> u64 {
        self.next += 1;
        self.last_used = Instant::now();
        if !self.closed {
            self.flights.insert(self.next, waiting);
        }
        self.next
    }

    fn most_recent(&self) -> Option<Arc<Mailbox>> {
        self.flights.values().rev().find_map(|waiting| match waiting {
            Waiting::Client(request) => Some(Arc::clone(&request.mailbox)),
            Waiting::Own(_) => None,
        })
    }
}

fn own_number(id: &Id) -> Option<u64> {
    match id {
        Id::Number(number) => number.as_u64(),
        // Some servers answer every id as text.
        Id::Text(text) => text.parse().ok(),
    }
}

/// Never used twice in this process, so an answer to a child that is gone reaches nobody.
fn fresh_question_id() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    format!("q-{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

fn concerns_all(method: &str) -> bool {
    method.ends_with("/list_changed")
}

/// A look at the bytes, because nearly no message has one.
fn carries_subscription(reply: &Reply) -> bool {
    memchr::memmem::find(reply.raw(), meta::SUBSCRIPTION_ID.as_bytes()).is_some()
}

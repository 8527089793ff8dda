//! Tasks: a call whose output is fetched later stays its caller's, and stays the tool's.
//!
//! A server's task id is a handle anybody could show. Callers get a sealed one instead, which opens for them alone, says which
//! tool the output belongs to, and finds its upstream from the common door. What it opens to goes upstream.

mod handed;
#[cfg(test)]
mod tests;

use gateway_protocol::{Malformed, Message, Outcome, Reply, ReplyKind, ResultKind, code};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Memory, Ports};
use crate::digest;
use crate::exchange::{Ask, Exchange, Route};
use crate::names::ToolName;
use crate::ports::{Clock, Seal};
use crate::session::route_key;

pub(super) use handed::Handed;

/// Where a message says that it belongs to a task.
const RELATED: &str = "io.modelcontextprotocol/related-task";
const ID: &str = "taskId";
/// Longer than a sealed id ever is.
const LONGEST: usize = 16 * 1024;

/// What a task id says once opened.
#[derive(Serialize, Deserialize)]
struct Task {
    binding: String,
    door: String,
    /// The tool whose output it will be.
    about: Option<ToolName>,
    /// The server's own id.
    task: String,
}

pub(super) struct Tasks<'a> {
    seal: &'a dyn Seal,
    clock: &'a dyn Clock,
    handed: &'a Handed,
}

impl<'a> Tasks<'a> {
    pub(super) fn new(ports: &'a Ports, memory: &'a Memory) -> Self {
        Self { seal: ports.seal.as_ref(), clock: ports.clock.as_ref(), handed: &memory.tasks }
    }

    /// Puts the server's own ids where the client showed sealed ones, before anybody judges.
    pub(super) fn open(&self, exchange: &mut Exchange) -> Result<(), Malformed> {
        let named = is_about_a_task(exchange.method());
        let listens = exchange.method() == Some("subscriptions/listen");
        if !named && !listens && related(exchange).is_none() {
            return Ok(());
        }
        let id = exchange.message().and_then(|message| message.id().cloned());
        self.replace(exchange, named, listens).map_err(|error| error.answering(id.as_ref()))
    }

    fn replace(&self, exchange: &mut Exchange, named: bool, listens: bool) -> Result<(), Malformed> {
        let mut about = None;
        // Taken out, because opening looks at the rest of the exchange.
        let mut ask = std::mem::replace(&mut exchange.ask, Ask::EndSession);
        let mut places = Vec::new();
        if let Ask::Message(message) = &mut ask {
            match message {
                Message::Response(response) => {
                    if let Outcome::Result(Value::Object(result)) = &mut response.outcome {
                        places.extend(related_mut(result));
                    }
                }
                Message::Request(_) | Message::Notification(_) => {
                    if let Some(params) = message.params_mut() {
                        places.extend(ids_mut(params, named, listens));
                    }
                }
            }
        }
        let mut opened = Ok(());
        for place in places {
            match place.as_str().and_then(|token| self.unseal(exchange, token)) {
                Some(task) => {
                    *place = Value::String(task.task);
                    about = about.or(task.about);
                }
                None => opened = Err(Malformed::new(code::INVALID_PARAMS, "Task not found")),
            }
        }
        exchange.ask = ask;
        if let Some(tool) = about {
            if exchange.route == Route::All {
                exchange.member = tool.namespace().parse().ok();
            }
            exchange.about = Some(tool);
        }
        opened
    }

    fn unseal(&self, exchange: &Exchange, token: &str) -> Option<Task> {
        if token.len() > LONGEST {
            return None;
        }
        let task: Task = serde_json::from_slice(&self.seal.open(token)?).ok()?;
        let owner = exchange.principal.binding();
        if task.binding != owner || task.door != route_key(&exchange.route) {
            return None;
        }
        // A caller may have got it at another node; whatever is said of the task here names it as the caller does.
        self.handed.remember(&owner, &task.door, &task.task, token, self.clock.now());
        Some(task)
    }

    /// A task's news for somebody who was never given that task, as far as this node knows.
    pub(super) fn is_anothers(&self, exchange: &Exchange, reply: &Reply) -> bool {
        if !reply.method().is_some_and(|method| method.starts_with("notifications/tasks")) {
            return false;
        }
        let message = reply.message().ok();
        let id = message.as_ref().and_then(|message| message.params()?.get(ID)?.as_str());
        id.is_none_or(|id| self.known(exchange, id).is_none())
    }

    fn known(&self, exchange: &Exchange, task: &str) -> Option<String> {
        self.handed.token(&exchange.principal.binding(), &route_key(&exchange.route), task, self.clock.now())
    }

    /// Seals every task id in a message on its way to the client. Replies that have none are only looked at.
    pub(super) fn close(&self, exchange: &Exchange, reply: &mut Reply) {
        if !may_name_tasks(exchange, reply) || !std::str::from_utf8(reply.raw()).is_ok_and(|raw| raw.contains(ID)) {
            return;
        }
        let Ok(mut message) = reply.message() else {
            return;
        };
        match &mut message {
            Message::Response(response) => {
                if let Outcome::Result(Value::Object(result)) = &mut response.outcome {
                    self.close_result(exchange, result);
                }
            }
            Message::Notification(notification) => {
                if let Some(params) = &mut notification.params {
                    let named = notification.method.starts_with("notifications/tasks");
                    ids_mut(params, named, true).for_each(|id| self.hand_out(exchange, id));
                }
            }
            // A question's own task is the client's; only what it relates to is the server's.
            Message::Request(request) => {
                if let Some(params) = &mut request.params {
                    related_mut(params).for_each(|id| self.hand_out(exchange, id));
                }
            }
        }
        *reply = Reply::from_message(&message);
    }

    fn close_result(&self, exchange: &Exchange, result: &mut Map<String, Value>) {
        if let Some(Value::Array(tasks)) = result.get_mut("tasks") {
            // What nobody here was given is not shown: the server may serve others through the same credentials.
            tasks.retain_mut(|task| {
                let id = task.get_mut(ID).filter(|id| id.as_str().is_some_and(|id| self.known(exchange, id).is_some()));
                id.map(|id| self.hand_out(exchange, id)).is_some()
            });
        }
        if let Some(id) = result.get_mut("task").and_then(|task| task.get_mut(ID)) {
            self.hand_out(exchange, id);
        }
        if let Some(inner) = result.get_mut("result").and_then(Value::as_object_mut) {
            related_mut(inner).for_each(|id| self.hand_out(exchange, id));
        }
        ids_mut(result, true, false).for_each(|id| self.hand_out(exchange, id));
    }

    /// The same task has the same name each time, as far as this node remembers.
    fn hand_out(&self, exchange: &Exchange, id: &mut Value) {
        let Some(task) = id.as_str() else {
            return;
        };
        if let Some(token) = self.known(exchange, task) {
            *id = Value::String(token);
            return;
        }
        let about = exchange.tool().map(|tool| tool.name.clone()).or_else(|| exchange.about.clone());
        let (binding, door) = (exchange.principal.binding(), route_key(&exchange.route));
        let sealed = Task { binding, door, about, task: task.to_owned() };
        let token = self.seal.seal(&serde_json::to_vec(&sealed).unwrap_or_default());
        self.handed.remember(&sealed.binding, &sealed.door, &sealed.task, &token, self.clock.now());
        *id = Value::String(token);
    }
}

/// The digest that a trace names a task by: the id itself is a handle.
pub(super) fn digest_of(exchange: &Exchange) -> Option<String> {
    is_about_a_task(exchange.method()).then_some(())?;
    Some(digest::named(exchange.message()?.params()?.get(ID)?.as_str()?.as_bytes()))
}

fn is_about_a_task(method: Option<&str>) -> bool {
    matches!(method, Some("tasks/get" | "tasks/result" | "tasks/cancel" | "tasks/update"))
}

fn related(exchange: &Exchange) -> Option<&Value> {
    match exchange.message()? {
        Message::Response(response) => match &response.outcome {
            Outcome::Result(result) => result.get("_meta")?.get(RELATED),
            Outcome::Error(_) => None,
        },
        message => message.meta()?.get(RELATED),
    }
}

/// Whether a message can hold a task id at all. A call that was not made as a task is looked at no further.
fn may_name_tasks(exchange: &Exchange, reply: &Reply) -> bool {
    let asked = exchange.message().and_then(Message::params).is_some_and(|params| params.contains_key("task"));
    let tasks = asked || exchange.method().is_some_and(|method| method.starts_with("tasks/"));
    let listens = matches!(exchange.ask, Ask::Listen { .. }) || exchange.method() == Some("subscriptions/listen");
    match reply.kind() {
        ReplyKind::Result { kind: ResultKind::Task, .. } => true,
        ReplyKind::Result { .. } | ReplyKind::Request => tasks || listens,
        ReplyKind::Notification => {
            tasks || listens || reply.method().is_some_and(|method| method.starts_with("notifications/tasks"))
        }
        ReplyKind::Error { .. } => false,
    }
}

fn related_mut(inside: &mut Map<String, Value>) -> impl Iterator<Item = &mut Value> {
    inside.get_mut("_meta").and_then(|meta| meta.get_mut(RELATED)).and_then(|related| related.get_mut(ID)).into_iter()
}

/// Every place for a task id: its own where there is one, what the message relates to, and what a subscription is for.
fn ids_mut(inside: &mut Map<String, Value>, named: bool, listens: bool) -> impl Iterator<Item = &mut Value> {
    inside.iter_mut().flat_map(move |(key, value)| -> Vec<&mut Value> {
        match key.as_str() {
            ID if named => vec![value],
            "_meta" => value.get_mut(RELATED).and_then(|related| related.get_mut(ID)).into_iter().collect(),
            "taskIds" if listens => value.as_array_mut().into_iter().flatten().collect(),
            "notifications" if listens => {
                let ids = value.get_mut("taskIds").and_then(Value::as_array_mut);
                ids.into_iter().flatten().collect()
            }
            _ => Vec::new(),
        }
    })
}

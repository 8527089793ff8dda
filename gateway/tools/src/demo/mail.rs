//! The demo's mailbox: messages to read, drafts to write, and an outbox that stands for the world outside.
//!
//! Nothing is ever sent anywhere. `list_messages` counts the outbox, so that a refused `send_message` can be seen not to have run.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use gateway_core::names::NameError;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{number, over, room_for_one_more, text};
use crate::builtin::{BuiltinServer, BuiltinTool, ToolFailure, ToolSpec, annotations};

pub fn server() -> Result<BuiltinServer, NameError> {
    let mailbox = Arc::new(Mutex::new(Mailbox::invented()));
    let tools: Vec<Box<dyn BuiltinTool>> = vec![
        over(&mailbox, list_spec(), list),
        over(&mailbox, draft_spec(), draft),
        over(&mailbox, label_spec(), label),
        over(&mailbox, send_spec(), send),
    ];
    let instructions = "A mailbox with invented messages. Draft before you send.";
    BuiltinServer::new("mail", "portreeve-demo-mail", Some(instructions), tools)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Folder {
    Inbox,
    Drafts,
    Outbox,
}

#[derive(Debug, Clone, Serialize)]
struct Letter {
    id: u64,
    folder: Folder,
    from: String,
    to: String,
    subject: String,
    body: String,
    labels: BTreeSet<String>,
}

struct Mailbox {
    letters: Vec<Letter>,
}

impl Mailbox {
    fn invented() -> Self {
        let mut mailbox = Self { letters: Vec::new() };
        for (from, subject, body) in [
            (
                "odalys.fenwright@example.com",
                "Late barges",
                "The last two barges came a day late. Shall we change the ferry?",
            ),
            (
                "ingrith.s@example.net",
                "Invoice 1180",
                "Please find the invoice for the March crossings; due in thirty days.",
            ),
            ("tavish@example.com", "Lamps for the quay", "We can hang the new lamps on Thursday, if the quay is free."),
        ] {
            mailbox.put(Folder::Inbox, from, ME, subject, body);
        }
        mailbox
    }

    fn put(&mut self, folder: Folder, from: &str, to: &str, subject: &str, body: &str) -> u64 {
        let id = self.letters.last().map_or(1, |letter| letter.id + 1);
        let (from, to, subject, body) = (from.into(), to.into(), subject.into(), body.into());
        self.letters.push(Letter { id, folder, from, to, subject, body, labels: BTreeSet::new() });
        id
    }

    fn count(&self, folder: Folder) -> usize {
        self.letters.iter().filter(|letter| letter.folder == folder).count()
    }

    fn write(&mut self, folder: Folder, arguments: &Map<String, Value>) -> Result<u64, ToolFailure> {
        room_for_one_more(&self.letters, "messages")?;
        let to = text(arguments, "to");
        if !to.contains('@') || to.contains(char::is_whitespace) {
            return Err(ToolFailure::new("Invalid to: expected an e-mail address"));
        }
        Ok(self.put(folder, ME, to, text(arguments, "subject"), text(arguments, "body")))
    }
}

const ME: &str = "reeve@example.com";

fn list(mailbox: &mut Mailbox, arguments: &Map<String, Value>) -> Result<Value, ToolFailure> {
    let folder = arguments.get("folder");
    let shown = |letter: &&Letter| folder.is_none_or(|folder| json!(letter.folder) == *folder);
    let messages: Vec<_> = mailbox.letters.iter().filter(shown).collect();
    let count = |folder| mailbox.count(folder);
    let counts =
        json!({ "inbox": count(Folder::Inbox), "drafts": count(Folder::Drafts), "outbox": count(Folder::Outbox) });
    Ok(json!({ "messages": messages, "counts": counts }))
}

fn draft(mailbox: &mut Mailbox, arguments: &Map<String, Value>) -> Result<Value, ToolFailure> {
    let id = mailbox.write(Folder::Drafts, arguments)?;
    Ok(json!({ "id": id, "drafts": mailbox.count(Folder::Drafts) }))
}

fn send(mailbox: &mut Mailbox, arguments: &Map<String, Value>) -> Result<Value, ToolFailure> {
    let id = mailbox.write(Folder::Outbox, arguments)?;
    let note = "This demo keeps the message in its outbox and sends it nowhere.";
    Ok(json!({ "id": id, "outbox": mailbox.count(Folder::Outbox), "note": note }))
}

fn label(mailbox: &mut Mailbox, arguments: &Map<String, Value>) -> Result<Value, ToolFailure> {
    const MOST: usize = 20;
    let id = number(arguments, "id");
    let letter = mailbox.letters.iter_mut().find(|letter| letter.id == id);
    let letter = letter.ok_or_else(|| ToolFailure::new(format!("Invalid id: there is no message {id}")))?;
    if letter.labels.len() >= MOST {
        return Err(ToolFailure::new(format!("Invalid label: message {id} has {MOST} labels already")));
    }
    letter.labels.insert(text(arguments, "label").into());
    Ok(json!({ "id": id, "labels": letter.labels }))
}

fn letter_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "to": { "type": "string", "minLength": 1, "description": "One e-mail address." },
            "subject": { "type": "string", "minLength": 1 },
            "body": { "type": "string" },
        },
        "required": ["to", "subject", "body"],
        "additionalProperties": false,
    })
}

fn list_spec() -> ToolSpec {
    ToolSpec {
        name: "list_messages".into(),
        title: "List messages".into(),
        description: "Lists the messages of one folder or of all, and counts each folder.".into(),
        input_schema: json!({
            "type": "object",
            "properties": { "folder": { "type": "string", "enum": ["inbox", "drafts", "outbox"] } },
        }),
        output_schema: Some(json!({
            "type": "object",
            "properties": { "messages": { "type": "array", "items": { "type": "object" } }, "counts": { "type": "object" } },
            "required": ["messages", "counts"],
        })),
        annotations: annotations::reads(),
    }
}

fn draft_spec() -> ToolSpec {
    ToolSpec {
        name: "draft_message".into(),
        title: "Draft a message".into(),
        description: "Writes a draft that a person can read, change and send. Sends nothing.".into(),
        input_schema: letter_schema(),
        output_schema: Some(json!({
            "type": "object",
            "properties": { "id": { "type": "integer" }, "drafts": { "type": "integer" } },
            "required": ["id", "drafts"],
        })),
        annotations: annotations::adds(),
    }
}

fn label_spec() -> ToolSpec {
    ToolSpec {
        name: "label_message".into(),
        title: "Label a message".into(),
        description: "Puts a label on a message.".into(),
        input_schema: json!({
            "type": "object",
            "properties": { "id": { "type": "integer", "minimum": 1 }, "label": { "type": "string", "minLength": 1 } },
            "required": ["id", "label"],
        }),
        output_schema: Some(json!({
            "type": "object",
            "properties": { "id": { "type": "integer" }, "labels": { "type": "array", "items": { "type": "string" } } },
            "required": ["id", "labels"],
        })),
        annotations: annotations::changes(),
    }
}

fn send_spec() -> ToolSpec {
    ToolSpec {
        name: "send_message".into(),
        title: "Send a message".into(),
        description: "Sends a message to somebody outside. It cannot be called back.".into(),
        input_schema: letter_schema(),
        output_schema: Some(json!({
            "type": "object",
            "properties": { "id": { "type": "integer" }, "outbox": { "type": "integer" }, "note": { "type": "string" } },
            "required": ["id", "outbox", "note"],
        })),
        annotations: annotations::reaches_out(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::*;
    use crate::demo::testing::call;

    #[tokio::test]
    async fn what_is_sent_and_drafted_can_be_counted() {
        let mail = server().unwrap();
        let letter = json!({ "to": "tavish@example.com", "subject": "Lamps", "body": "Thursday is fine." });
        assert_eq!(call(&mail, "draft_message", letter.clone()).await, Ok(json!({ "id": 4, "drafts": 1 })));
        assert_eq!(call(&mail, "send_message", letter).await.unwrap()["outbox"], 1);
        let all = call(&mail, "list_messages", json!({})).await.unwrap();
        assert_eq!(all["counts"], json!({ "inbox": 3, "drafts": 1, "outbox": 1 }));
        let outbox = call(&mail, "list_messages", json!({ "folder": "outbox" })).await.unwrap();
        assert_eq!((outbox["messages"].as_array().unwrap().len(), &outbox["messages"][0]["id"]), (1, &json!(5)));
        for _ in 0..2 {
            assert_eq!(
                call(&mail, "label_message", json!({ "id": 1, "label": "urgent" })).await.unwrap()["labels"],
                json!(["urgent"])
            );
        }
    }

    #[tokio::test]
    async fn a_message_that_cannot_go_is_not_kept() {
        let mail = server().unwrap();
        for (given, expected) in [
            (json!({ "to": "x@example.com", "subject": "s" }), "Missing required fields: body"),
            (json!({ "to": "nobody", "subject": "s", "body": "" }), "Invalid to: expected an e-mail address"),
            (json!({ "to": "x@example.com", "subject": "s", "body": "", "cc": "y" }), "Unknown field: cc"),
        ] {
            assert_eq!(call(&mail, "send_message", given).await, Err(expected.into()));
        }
        assert_eq!(
            call(&mail, "label_message", json!({ "id": 77, "label": "x" })).await,
            Err("Invalid id: there is no message 77".into())
        );
        assert_eq!(call(&mail, "list_messages", json!({ "folder": "outbox" })).await.unwrap()["counts"]["outbox"], 0);
    }
}

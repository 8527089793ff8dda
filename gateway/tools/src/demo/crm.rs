//! The demo's customer records: personal data to protect, none of it real.
//!
//! An update keeps what was there before, so it can be taken back; a deletion cannot.

mod contacts;

use std::sync::{Arc, Mutex};

use gateway_core::names::NameError;
use serde_json::{Map, Value, json};

use super::{number, over, text};
use crate::builtin::{BuiltinServer, BuiltinTool, ToolFailure, ToolSpec, annotations};
use contacts::{Contact, FIELDS};

pub fn server() -> Result<BuiltinServer, NameError> {
    let book = Arc::new(Mutex::new(Book { contacts: contacts::invented() }));
    let tools: Vec<Box<dyn BuiltinTool>> = vec![
        over(&book, search_spec(), search),
        over(&book, get_spec(), get),
        over(&book, update_spec(), update),
        over(&book, delete_spec(), delete),
    ];
    let instructions = "Customer records with invented people. Treat them as if they were real.";
    BuiltinServer::new("crm", "portreeve-demo-crm", Some(instructions), tools)
}

struct Book {
    contacts: Vec<Contact>,
}

fn search(book: &mut Book, arguments: &Map<String, Value>) -> Result<Value, ToolFailure> {
    let wanted = text(arguments, "text").to_lowercase();
    let found: Vec<Value> =
        book.contacts.iter().filter(|contact| contact.mentions(&wanted)).map(Contact::shown).collect();
    Ok(json!({ "count": found.len(), "contacts": found }))
}

fn get(book: &mut Book, arguments: &Map<String, Value>) -> Result<Value, ToolFailure> {
    let id = number(arguments, "id");
    let found = book.contacts.iter().find(|contact| contact.id == id).ok_or_else(|| unknown(id))?;
    Ok(json!({ "contact": found.shown() }))
}

fn update(book: &mut Book, arguments: &Map<String, Value>) -> Result<Value, ToolFailure> {
    let id = number(arguments, "id");
    let changes: Vec<(&str, &str)> =
        FIELDS.iter().filter_map(|name| Some((*name, arguments.get(*name)?.as_str()?))).collect();
    if changes.is_empty() {
        return Err(ToolFailure::new(format!("Missing required fields: one of {}", FIELDS.join(", "))));
    }
    let contact = book.contacts.iter_mut().find(|contact| contact.id == id).ok_or_else(|| unknown(id))?;
    let mut before = Map::new();
    for (name, value) in changes {
        if let Some(old) = contact.replace(name, value) {
            before.insert(name.into(), json!(old));
        }
    }
    Ok(json!({ "contact": contact.shown(), "before": before }))
}

fn delete(book: &mut Book, arguments: &Map<String, Value>) -> Result<Value, ToolFailure> {
    let id = number(arguments, "id");
    let place = book.contacts.iter().position(|contact| contact.id == id).ok_or_else(|| unknown(id))?;
    book.contacts.remove(place);
    Ok(json!({ "deleted": id, "remaining": book.contacts.len() }))
}

fn unknown(id: u64) -> ToolFailure {
    ToolFailure::new(format!("Invalid id: there is no contact {id}"))
}

fn id_schema() -> Value {
    json!({ "type": "integer", "minimum": 1, "description": "The contact's number." })
}

fn contact_schema() -> Value {
    json!({ "type": "object", "properties": { "id": { "type": "integer" } }, "required": ["id"] })
}

fn search_spec() -> ToolSpec {
    ToolSpec {
        name: "search_contacts".into(),
        title: "Search contacts".into(),
        description: "Finds contacts whose name, company or e-mail address contains a text; an empty text finds all."
            .into(),
        input_schema: json!({
            "type": "object",
            "properties": { "text": { "type": "string", "description": "In any case." } },
            "required": ["text"],
        }),
        output_schema: Some(json!({
            "type": "object",
            "properties": { "count": { "type": "integer" }, "contacts": { "type": "array", "items": contact_schema() } },
            "required": ["count", "contacts"],
        })),
        annotations: annotations::reads(),
    }
}

fn get_spec() -> ToolSpec {
    ToolSpec {
        name: "get_contact".into(),
        title: "Get a contact".into(),
        description: "Gives one contact with everything that is on record.".into(),
        input_schema: json!({ "type": "object", "properties": { "id": id_schema() }, "required": ["id"] }),
        output_schema: Some(json!({
            "type": "object",
            "properties": { "contact": contact_schema() },
            "required": ["contact"],
        })),
        annotations: annotations::reads(),
    }
}

fn update_spec() -> ToolSpec {
    let mut properties = Map::from_iter([("id".into(), id_schema())]);
    properties.extend(FIELDS.map(|name| (name.into(), json!({ "type": "string", "minLength": 1 }))));
    ToolSpec {
        name: "update_contact".into(),
        title: "Update a contact".into(),
        description: "Changes fields of a contact and gives back what they were before, so that it can be undone."
            .into(),
        input_schema: json!({
            "type": "object",
            "properties": properties,
            "required": ["id"],
            "additionalProperties": false,
        }),
        output_schema: Some(json!({
            "type": "object",
            "properties": { "contact": contact_schema(), "before": { "type": "object" } },
            "required": ["contact", "before"],
        })),
        annotations: annotations::changes(),
    }
}

fn delete_spec() -> ToolSpec {
    ToolSpec {
        name: "delete_contact".into(),
        title: "Delete a contact".into(),
        description: "Removes a contact for good.".into(),
        input_schema: json!({ "type": "object", "properties": { "id": id_schema() }, "required": ["id"] }),
        output_schema: Some(json!({
            "type": "object",
            "properties": { "deleted": { "type": "integer" }, "remaining": { "type": "integer" } },
            "required": ["deleted", "remaining"],
        })),
        annotations: annotations::destroys(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::*;
    use crate::demo::testing::call;

    #[tokio::test]
    async fn contacts_are_found_changed_and_removed() {
        let crm = server().unwrap();
        let all = call(&crm, "search_contacts", json!({ "text": "" })).await.unwrap();
        let count = all["count"].as_u64().unwrap();
        assert!(count >= 5);
        let one = call(&crm, "search_contacts", json!({ "text": "ODALYS" })).await.unwrap();
        assert_eq!(one["count"], 1, "{one}");
        let id = one["contacts"][0]["id"].clone();

        let changed = call(&crm, "update_contact", json!({ "id": id, "phone": "+1 555 0199" })).await.unwrap();
        assert_eq!(
            (&changed["contact"]["phone"], &changed["before"]["phone"]),
            (&json!("+1 555 0199"), &one["contacts"][0]["phone"])
        );
        let read = call(&crm, "get_contact", json!({ "id": id })).await.unwrap();
        assert_eq!(read["contact"], changed["contact"]);

        assert_eq!(
            call(&crm, "delete_contact", json!({ "id": id })).await,
            Ok(json!({ "deleted": id, "remaining": count - 1 }))
        );
        for tool in ["get_contact", "delete_contact"] {
            assert!(
                call(&crm, tool, json!({ "id": id })).await.unwrap_err().starts_with("Invalid id: there is no contact")
            );
        }
    }

    #[tokio::test]
    async fn an_update_that_makes_no_sense_changes_nothing() {
        let crm = server().unwrap();
        let before = call(&crm, "get_contact", json!({ "id": 1 })).await.unwrap();
        for (given, expected) in [
            (json!({ "phone": "1" }), "Missing required fields: id"),
            (json!({ "id": 1 }), "Missing required fields: one of name, company, email, phone"),
            (json!({ "id": "1", "phone": "1" }), "Invalid id: expected integer"),
            (json!({ "id": 1, "ssn": "1" }), "Unknown field: ssn"),
            (json!({ "id": 99, "phone": "1" }), "Invalid id: there is no contact 99"),
        ] {
            assert_eq!(call(&crm, "update_contact", given).await, Err(expected.into()));
        }
        assert_eq!(call(&crm, "get_contact", json!({ "id": 1 })).await.unwrap(), before);
    }
}

//! The page that a link in a notice or a question leads to: what is asked, and a form to answer it.
//!
//! No script and no cookie, so there is nothing that another site could make a browser send: whoever answers shows an
//! administrator's key with the answer. The token in the link only says that the link is ours.

use axum::Router;
use axum::extract::{Form, Path, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use gateway_core::approvals::{ApprovalRecord, ApprovalStatus, Via, is_link};
use gateway_core::desk::{DeskError, Who};
use gateway_core::identity::Credential;
use serde::Deserialize;
use uuid::Uuid;

use crate::{Shared, Stranger};

const POLICY: &str = "default-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

pub(crate) fn routes() -> Router<Shared> {
    Router::new().route("/approvals/{id}", get(show).post(answer))
}

#[derive(Deserialize)]
struct Token {
    #[serde(default)]
    k: String,
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    k: String,
    key: String,
    #[serde(default)]
    note: String,
    verdict: Verdict,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    Approve,
    Reject,
}

async fn show(State(console): State<Shared>, Path(id): Path<String>, Query(token): Query<Token>) -> Response {
    match found(&console, &id, &token.k).await {
        Ok(row) => page(StatusCode::OK, &described(&row, &token.k, "")),
        Err(refused) => refused,
    }
}

async fn answer(State(console): State<Shared>, Path(id): Path<String>, Form(answer): Form<Answer>) -> Response {
    let row = match found(&console, &id, &answer.k).await {
        Ok(row) => row,
        Err(refused) => return refused,
    };
    let again = |status, what: &str| page(status, &described(&row, &answer.k, what));
    let who = match console.node.caller(&Credential::Key(answer.key.trim().to_owned())).await {
        Ok(known) => match Who::administrator(&known).filter(|who| who.may_see(Some(row.asked.tenant))) {
            Some(who) => who,
            None => return again(StatusCode::FORBIDDEN, "This needs an administrator's key of the agent's tenant."),
        },
        Err(Stranger::Unknown) => return again(StatusCode::UNAUTHORIZED, "Nobody has this key."),
        Err(Stranger::Limited) => return again(StatusCode::TOO_MANY_REQUESTS, "Too many tries: wait a little."),
        Err(Stranger::Unavailable) => return again(StatusCode::SERVICE_UNAVAILABLE, "The store does not answer."),
    };
    let approve = answer.verdict == Verdict::Approve;
    match console.desk.decide(&who, Via::Page, row.asked.id, approve, Some(answer.note)).await {
        Ok(row) => page(StatusCode::OK, &described(&row, &answer.k, "Your answer was taken.")),
        Err(error) => {
            let status = match error {
                DeskError::NotFound(_) => StatusCode::NOT_FOUND,
                DeskError::Invalid(_) => StatusCode::UNPROCESSABLE_ENTITY,
                DeskError::Forbidden(_) => StatusCode::FORBIDDEN,
                DeskError::Conflict(_) => StatusCode::CONFLICT,
                DeskError::Frozen(_) => StatusCode::LOCKED,
                DeskError::Store(_) | DeskError::Ledger(_) => StatusCode::SERVICE_UNAVAILABLE,
            };
            again(status, &error.to_string())
        }
    }
}

/// The approval that a link of ours leads to; every other link leads nowhere.
async fn found(console: &Shared, id: &str, token: &str) -> Result<ApprovalRecord, Response> {
    let nothing = || page(StatusCode::NOT_FOUND, "<p>There is nothing under this link.</p>");
    let id: Uuid = id.parse().map_err(|_| nothing())?;
    if !is_link(token, console.seal.as_ref(), id) {
        return Err(nothing());
    }
    match console.desk.approvals.find(None, id).await {
        Ok(row) => row.ok_or_else(nothing),
        Err(error) => {
            tracing::error!(error = &error as &dyn std::error::Error, "an approval could not be shown: {error}");
            Err(page(StatusCode::SERVICE_UNAVAILABLE, "<p>The store does not answer right now.</p>"))
        }
    }
}

fn described(row: &ApprovalRecord, token: &str, told: &str) -> String {
    let asked = &row.asked;
    let tool = asked.tool.as_ref().map_or_else(|| asked.kind.to_string(), ToString::to_string);
    let reasons: String = asked.reasons.iter().map(|reason| format!("<li>{}</li>", safe(&reason.message))).collect();
    let arguments = match &asked.shown {
        Some(shown) => serde_json::to_string_pretty(shown).unwrap_or_default(),
        None => "(not shown)".into(),
    };
    let told =
        if told.is_empty() { String::new() } else { format!("<p role=\"status\"><strong>{}</strong></p>", safe(told)) };
    let decided = row.decided_by.as_deref().map(|by| format!(" by {}", safe(by))).unwrap_or_default();
    let eyes = if asked.four_eyes { "<p>Somebody other than the agent's own user must approve this.</p>" } else { "" };
    let form = if row.status == ApprovalStatus::Pending { form(token) } else { String::new() };
    format!(
        "<h1>{} asks to use {}</h1>{told}<p>{}: <strong>{}</strong>{decided}. It waits until {}.</p>{eyes}\
         <h2>Why a human is asked</h2><ul>{reasons}</ul><h2>Arguments</h2><pre>{}</pre>{form}",
        safe(asked.agent.as_str()),
        safe(&tool),
        safe(&asked.classification.code()),
        row.status,
        asked.deadline.strftime("%Y-%m-%d %H:%M:%SZ"),
        safe(&arguments),
    )
}

fn form(token: &str) -> String {
    format!(
        "<form method=\"post\" autocomplete=\"off\"><input type=\"hidden\" name=\"k\" value=\"{}\">\
         <p><label>Administrator's key <input type=\"password\" name=\"key\" required></label></p>\
         <p><label>Note <input type=\"text\" name=\"note\" maxlength=\"500\"></label></p>\
         <p><button name=\"verdict\" value=\"approve\">Approve</button> \
         <button name=\"verdict\" value=\"reject\">Reject</button></p></form>",
        safe(token)
    )
}

/// A text as HTML shows it, with what nobody would see made visible.
fn safe(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' => out.push('\n'),
            hidden if hidden.is_control() || is_invisible(hidden) => {
                out.push_str(&format!("[U+{:04X}]", u32::from(hidden)))
            }
            plain => out.push(plain),
        }
    }
    out
}

/// Marks that turn or hide what stands around them: a person must not approve other words than are sent.
fn is_invisible(letter: char) -> bool {
    matches!(letter, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

fn page(status: StatusCode, body: &str) -> Response {
    let page = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>Portreeve: approval</title>\
         <meta name=\"viewport\" content=\"width=device-width\"><meta name=\"color-scheme\" content=\"light dark\">\
         </head><body>{body}</body></html>"
    );
    let headers = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    (status, headers, Html(page)).into_response()
}

#[cfg(test)]
mod tests {
    use super::safe;

    #[test]
    fn nothing_that_a_caller_wrote_becomes_markup() {
        for (text, shown) in [
            ("<script>\"'&", "&lt;script&gt;&quot;&#39;&amp;"),
            ("a\u{202e}b\u{200b}", "a[U+202E]b[U+200B]"),
            ("line\nline\u{7}", "line\nline[U+0007]"),
            ("é 漢", "é 漢"),
        ] {
            assert_eq!(safe(text), shown);
        }
    }
}

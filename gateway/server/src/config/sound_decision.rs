//! Pins and approvals, checked.

use std::time::Duration;

use super::numbers::Count;
use super::problem::Problems;
use super::sound::{base_url, is_loopback};
use super::written::{WrittenApprovals, WrittenPins, WrittenWebhook};
use super::{Approvals, Secret, Webhook};

pub fn pins_recheck(written: &WrittenPins, problems: &mut Problems) -> Duration {
    Duration::from_secs(within(written.recheck_seconds, "pins.recheck_seconds", 600, 86_400, problems))
}

pub fn approvals(written: WrittenApprovals, problems: &mut Problems) -> Approvals {
    let deadline = within(written.deadline_seconds, "approvals.deadline_seconds", 3600, 30 * 86_400, problems);
    let minutes = within(written.use_minutes, "approvals.use_minutes", 15, 24 * 60, problems);
    Approvals {
        deadline: Duration::from_secs(deadline),
        use_within: Duration::from_secs(minutes * 60),
        url: base_url(written.url, "approvals.url", problems),
        show_arguments: written.show_arguments.unwrap_or(true),
        webhook: written.webhook.and_then(|webhook| self::webhook(webhook, problems)),
    }
}

fn webhook(written: WrittenWebhook, problems: &mut Problems) -> Option<Webhook> {
    let secure = |uri: &http::Uri| match uri.scheme_str() {
        Some("https") => uri.host().is_some(),
        Some("http") => uri.host().is_some_and(is_loopback),
        _ => false,
    };
    // The text itself is not repeated: it may hold a token.
    if !written.url.parse().is_ok_and(|uri| secure(&uri)) {
        problems.say("approvals.webhook.url", "must be an `https://` URL, or `http://` on this machine");
        return None;
    }
    if written.secret.len() < 16 {
        problems.say("approvals.webhook.secret", "must have at least 16 characters");
        return None;
    }
    Some(Webhook { url: Secret::new(written.url), secret: Secret::new(written.secret) })
}

fn within(value: Option<Count>, path: &str, usual: u64, most: u64, problems: &mut Problems) -> u64 {
    let value = value.map_or(usual, |count| count.0);
    if (1..=most).contains(&value) {
        return value;
    }
    problems.say(path, format!("is {value}, must be between 1 and {most}"));
    usual
}

//! Every sample of every detector.

use std::collections::BTreeSet;

use gateway_dlp::Hit;

use super::shipped::{ALL, WRITTEN, compiled, hits, masked, masked_json, rule, severity, told};
use super::template::expanded;

#[test]
fn every_detector_finds_what_it_must_and_nothing_else() {
    let mut wrong = Vec::new();
    for written in WRITTEN.iter() {
        let alone = compiled(vec![written.clone()]);
        for sample in &written.must {
            let text = expanded(sample);
            let own = hits(&alone, &text);
            if own.is_empty() {
                wrong.push(format!("{}: not found in `{text}`", written.id));
            }
            // Among the others the same place is found, by a rule that is no milder, and none of it is left.
            let all = hits(&ALL, &text);
            for hit in own {
                let same = |other: &&Hit| other.start <= hit.start && hit.end <= other.end;
                match all.iter().find(same).map(|other| severity(&ALL, other)) {
                    None => wrong.push(format!("{}: lost among the others in `{text}`", written.id)),
                    Some(severity) if severity < written.severity => {
                        wrong.push(format!("{}: taken for something milder in `{text}`", written.id));
                    }
                    Some(_) => {}
                }
                let value = &text[hit.start as usize..hit.end as usize];
                // With a word in front, so that a sample that is a document is read as the text it stands for.
                for shown in [masked(&format!("x {text}")), masked_json(&format!("x {text}"))] {
                    if shown.contains(value) {
                        wrong.push(format!("{}: `{value}` is left in `{shown}`", written.id));
                    }
                }
            }
        }
        for sample in &written.must_not {
            let text = expanded(sample);
            let own: Vec<_> = hits(&alone, &text).iter().map(|hit| rule(&alone, hit)).collect();
            if !own.is_empty() {
                wrong.push(format!("{}: found in `{text}`: {:?}", written.id, told(&alone, &text)));
            }
        }
    }
    assert!(wrong.is_empty(), "{} samples:\n{}", wrong.len(), wrong.join("\n"));
}

/// What one rule must not find, the others must not either, unless they mean something else by it.
#[test]
fn decoys_of_one_rule_are_not_taken_by_another() {
    let mut taken = Vec::new();
    for written in WRITTEN.iter() {
        for sample in &written.must_not {
            let text = expanded(sample);
            for (rule, value) in told(&ALL, &text) {
                taken.push(format!("{rule} takes `{value}` of `{text}` ({})", written.id));
            }
        }
    }
    let allowed = taken.len() * 100 / WRITTEN.len().max(1);
    assert!(allowed <= 6, "{}", taken.join("\n"));
}

#[test]
fn every_detector_is_whole() {
    let ids: BTreeSet<_> = WRITTEN.iter().map(|written| &written.id).collect();
    assert_eq!(ids.len(), WRITTEN.len(), "an id stands for one detector");
    for written in WRITTEN.iter() {
        let id = &written.id;
        assert!(!written.title.is_empty() && !written.tags.is_empty(), "{id}: title and tags");
        assert!(matches!(written.tier, 1 | 2), "{id}: tier");
        assert!(!written.must.is_empty() && !written.must_not.is_empty(), "{id}: samples");
        assert!(
            !written.anchors.is_empty() || written.digits.is_some(),
            "{id}: without an anchor every text is searched"
        );
    }
    // Others name these: tests, documents, tenants' rows.
    for id in "email phone payment_card iban us_ssn ca_sin fr_nir passport ip_address mac_address jwt private_key \
               database_url url_password aws_access_key aws_secret_key gcp_api_key gcp_service_account azure_storage_key azure_sas \
               azure_client_secret github_token github_fine_grained gitlab_token slack_token slack_webhook stripe_key openai_key \
               anthropic_key supabase_key notion_key portreeve_key generic_password generic_secret"
        .split_whitespace()
    {
        assert!(ids.contains(&id.to_owned()), "{id} is shipped");
    }
}

/// Things that look like something and are nothing.
#[test]
fn everyday_values_stay() {
    for text in [
        "550e8400-e29b-41d4-a716-446655440000",
        "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "2026-11-16T13:40:31.123456Z",
        "2026-11-16 13:40:31,456 INFO started",
        "1763298000 1763298000123 1763298000123456",
        "order 100-2345678-9012345",
        "invoice INV-2026-000123",
        "ISBN 978-0-306-40615-7",
        "EAN 4006381333931",
        "tracking 1Z999AA10123456784",
        "tracking 9400110200881234567890",
        "version 4.4.2.1 of 1.2.3.4",
        "#ff8800 rgba(12, 34, 56, 0.5)",
        "48.858370, 2.294481",
        "port 8080, 443 and 127.0.0.1:5432",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
        "npm i left-pad@1.3.0 @types/node@18.2.0",
        "OPENAI_API_KEY=sk-... and <your-key> and AKIAXXXXXXXXXXXXXXXX",
        "password: ${DB_PASSWORD}",
        "https://example.org/a/b?c=1&d=2#e",
        "The quick brown fox jumps over 13 lazy dogs in 2026.",
        "+15 % more than in 2025",
        "0.4111111111111111",
        "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]",
        "std::collections::BTreeMap<String, u64>",
        "etag W/\"5d8c72a5edda8d6a:0\"",
    ] {
        assert_eq!(told(&ALL, text), [], "{text}");
    }
}

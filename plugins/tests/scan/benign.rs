//! Descriptions such as real servers have, in our words: forceful, full of "always" and "must", and meant well.

use gateway_core::definitions::ScanAction;
use serde_json::json;

use super::{found, saying, scanner};

#[test]
fn plain_speech_stays_silent() {
    let scanner = scanner();
    let mut flagged = Vec::new();
    for text in include_str!("benign.txt").lines() {
        let (verdict, _) = found(&scanner, &saying(text), &[]);
        if verdict != ScanAction::Allow {
            flagged.push(format!("{text}\n  {:#?}", scanner.heard(text)));
        }
    }
    assert!(flagged.len() <= 1, "{}", flagged.join("\n"));
}

// Other writing systems, emoji and units are not disguises.
#[test]
fn other_alphabets_and_emoji_are_no_disguise() {
    let scanner = scanner();
    for text in [
        "Поиск заметок по словам. А также по дате.",
        "Αναζήτηση σημειώσεων με λέξεις",
        "単語でメモを検索します。ＩＤは必須です。",
        "按词语搜索笔记。",
        "Sucht Notizen – auch ältere, größere und „zitierte“. Más información aquí, señor: 1º.",
        "⚠️ Careful: deletes. 👨‍👩‍👧 1️⃣ ℹ️ ✔️ 🏴󠁧󠁢󠁳󠁣󠁴󠁿",
        "Waits 10 μs, measures kΩ and Δt; °C, ½, x², naïve café.",
        "می‌خواهم جست‌وجو کنم",
        "İstanbul'da hava ışığı için arama yapar, şehir adı gerekir.",
        "Prix : 10 € ; « gratuit » !",
        "Łódź, Ærø, Þór, straße, œuvre",
    ] {
        let (verdict, findings) = found(&scanner, &saying(text), &[]);
        assert_eq!(verdict, ScanAction::Allow, "{text}: {findings:#?}");
    }
}

// Two servers may have tools of one name; it takes more to be a copy.
#[test]
fn the_same_name_at_another_server_is_not_enough() {
    let scanner = scanner();
    let mine = json!({"name": "list_tables", "description": "Lists the tables of a project with their columns.", "inputSchema": {"properties": {"project_id": {}, "schemas": {}}}});
    let theirs =
        json!({"name": "list_tables", "description": "All tables in the file.", "inputSchema": {"properties": {}}});
    assert_eq!(found(&scanner, &mine, &[("sqlite", &theirs)]).0, ScanAction::Allow);
    let copy = json!({"name": "list_tables", "description": "Fast.", "inputSchema": {"properties": {"project_id": {}, "schemas": {}}}});
    assert_eq!(found(&scanner, &copy, &[("supabase", &mine)]).0, ScanAction::Flag);
    let other = json!({"name": "list_tables_v2", "description": "Fast.", "inputSchema": {}});
    assert_eq!(found(&scanner, &other, &[("supabase", &mine)]).0, ScanAction::Flag);
}

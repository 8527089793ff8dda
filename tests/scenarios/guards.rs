//! The guards alone, as scripts use them: a file of lines at once, or a line, its answer, and the next.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use portreeve_tests::environment::portreeve;
use portreeve_tests::{Kind, World};
use serde_json::{Value, json};

// `guard dlp`: in order, offsets are bytes, a bad line is answered like any other, and the world's own detectors are read.
#[test]
fn guard_dlp_reads_lines() {
    let own = "detectors: [{ id: badge, tier: 1, pattern: 'AC-[0-9]{6}', anchors: ['ac-'], must: ['AC-{digits:6}'] }]";
    let world = World::on(Kind::Sqlite).policy_file("dlp/badge.yaml", own).start();
    let lines = [
        json!({ "id": 1, "text": "é: jane@example.org" }),
        json!({ "id": "two", "text": "nothing here" }),
        json!({ "id": 3, "text": "badge AC-123456" }),
        json!({ "id": 4 }),
    ];
    let text = lines.iter().map(Value::to_string).collect::<Vec<_>>().join("\n") + "\n\n{\n";
    let told = world.cli_with_input(&["guard", "dlp"], &text);
    let told: Vec<Value> = told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let finding = |rule: &str, start: usize, end: usize| json!([{ "rule": rule, "start": start, "end": end }]);
    let expected = [
        json!({ "id": 1, "text": "é: [EMAIL]", "findings": finding("email", 4, 20) }),
        json!({ "id": "two", "text": "nothing here", "findings": [] }),
        json!({ "id": 3, "text": "badge [BADGE]", "findings": finding("badge", 6, 15) }),
    ];
    assert_eq!(told.get(..3), Some(&expected[..]), "{told:?}");
    let ids: Vec<_> = told[3..].iter().map(|line| (line["id"].clone(), line["error"].is_string())).collect();
    assert_eq!(ids, [(json!(4), true), (Value::Null, true)], "{told:?}");
}

// Whoever waits for an answer before the next question gets it.
#[test]
fn every_guard_answers_a_line_before_the_next_is_written() {
    let tool = json!({ "name": "find", "description": "Finds.", "inputSchema": { "type": "object" } });
    for (guard, question, says) in [
        ("sql", json!({ "id": 0, "sql": "select 1" }), json!("allow")),
        ("dlp", json!({ "id": 0, "text": "jane@example.org" }), json!("[EMAIL]")),
        ("tools", json!({ "id": 0, "server": "s", "tool": tool, "accepted": [] }), json!("allow")),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let mut command = Command::new(portreeve());
        command.args(["guard", guard]).current_dir(directory.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (mut questions, answers) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let (told, heard) = mpsc::channel();
        let reading = std::thread::spawn(move || {
            for line in answers.lines() {
                told.send(line.unwrap()).unwrap();
            }
        });
        for id in 0..3 {
            let mut question = question.clone();
            question["id"] = json!(id);
            writeln!(questions, "{question}").unwrap();
            let answer = heard.recv_timeout(Duration::from_secs(20));
            let answer = answer.unwrap_or_else(|_| {
                child.kill().unwrap();
                panic!("{guard}: no answer to line {id} while the input is open")
            });
            let answer: Value = serde_json::from_str(&answer).unwrap();
            assert_eq!(answer["id"], json!(id), "{guard}: {answer}");
            assert!(answer["verdict"] == says || answer["text"] == says, "{guard}: {answer}");
        }
        drop(questions);
        assert!(child.wait().unwrap().success(), "{guard}");
        reading.join().unwrap();
    }
}

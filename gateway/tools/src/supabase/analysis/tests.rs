#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::collections::BTreeSet;

use super::*;

fn summary(data: &Value) -> String {
    analyze(data, None).unwrap()["summary"].as_str().unwrap().to_owned()
}

// acceptance 102
#[test]
fn figures_and_paragraph() {
    let data = json!([
        { "id": 1, "status": "resolved", "message_count": 2, "satisfaction": 4.5, "created_at": "2026-01-03T08:00:00Z" },
        { "id": 2, "status": "open", "message_count": 41, "satisfaction": null, "created_at": "2026-09-27T10:00:00Z" },
        { "id": 3, "status": "resolved", "message_count": 19, "satisfaction": 3.1, "created_at": "2026-03-01T00:00:00Z" },
    ]);
    let answer = analyze(&data, Some("what happened?")).unwrap();
    let expected = json!({
        "summary": "3 rows from 2026-01-03 to 2026-09-27. message_count runs from 2 to 41, on average 20.67. \
                    satisfaction runs from 3.1 to 4.5, on average 3.8. The most frequent status is resolved (2 of 3). \
                    1 of 3 rows has no satisfaction.",
        "analysis": {
            "row_count": 3,
            "columns": [
                { "name": "id", "kind": "identifier", "nulls": 0, "null_share": 0, "distinct": 3 },
                {
                    "name": "status", "kind": "text", "nulls": 0, "null_share": 0, "distinct": 2,
                    "top": [{ "value": "resolved", "count": 2 }, { "value": "open", "count": 1 }],
                },
                {
                    "name": "message_count", "kind": "number", "nulls": 0, "null_share": 0,
                    "min": 2, "max": 41, "avg": 20.67, "sum": 62,
                },
                {
                    "name": "satisfaction", "kind": "number", "nulls": 1, "null_share": 0.3333,
                    "min": 3.1, "max": 4.5, "avg": 3.8, "sum": 7.6,
                },
                {
                    "name": "created_at", "kind": "date-time", "nulls": 0, "null_share": 0,
                    "first": "2026-01-03T08:00:00Z", "last": "2026-09-27T10:00:00Z",
                },
            ],
        },
        "prompt": "what happened?",
    });
    assert_eq!(answer, expected);
    assert_eq!(answer.to_string(), analyze(&data, Some("what happened?")).unwrap().to_string(), "the same again");
    for wrapped in ["data", "rows", "results"] {
        assert_eq!(summary(&json!({ wrapped: data })), summary(&data), "{wrapped}");
    }
}

#[test]
fn paragraphs_of_all_kinds_of_rows() {
    for (data, expected) in [
        (json!([]), "There are no rows."),
        (json!({ "data": [] }), "There are no rows."),
        (json!([{}]), "1 row."),
        (json!([1, 2, 4]), "3 rows. value runs from 1 to 4, on average 2.33."),
        (json!([0.1, 0.2]), "2 rows. value runs from 0.1 to 0.2, on average 0.15."),
        (json!([null, null]), "2 rows. No row has a value."),
        (json!([{ "a": null }]), "1 row. The row has no a."),
        (json!([{ "a": 5 }, { "a": 5 }]), "2 rows. a is always 5."),
        (json!([{ "s": "x" }, { "s": "x" }]), "2 rows. s is always x."),
        (json!([{ "s": "x" }, { "s": "y" }]), "2 rows."),
        (json!(["b", "a", "a", "b", "c"]), "5 rows. The most frequent value are a and b (2 of 5 each)."),
        (json!([true, false, true]), "3 rows. The most frequent value is true (2 of 3)."),
        (json!([{ "d": "2026-03-01" }, { "d": "2026-03-01 08:30" }]), "2 rows, all of 2026-03-01."),
        (json!([{ "d": "2026-03-02" }, { "d": "soon" }]), "2 rows."),
        (json!([{ "user_id": 10 }, { "user_id": 20 }]), "2 rows."),
        (json!([{ "m": 1 }, { "m": "one" }]), "2 rows."),
        (json!([{ "j": { "deep": 1 } }, { "j": [1] }]), "2 rows."),
        (json!([{ "a": 1 }, { "b": 2 }]), "2 rows. a is always 1. b is always 2. 1 of 2 rows has no a."),
        (json!([{ "n": "line\nbreak" }, { "n": "line\nbreak" }, { "n": "z" }]), "3 rows."),
    ] {
        assert_eq!(summary(&data), expected, "{data}");
    }
}

#[test]
fn what_is_no_list_of_rows_is_refused() {
    for data in [json!("rows"), json!(5), json!(null), json!({ "x": [1] }), json!([[1]]), json!([1, { "a": 1 }])] {
        let refused = analyze(&data, None).unwrap_err();
        assert_eq!(refused.to_string(), "Cannot analyze: data must be a list of rows", "{data}");
    }
}

#[test]
fn much_data_is_looked_at_in_part_and_that_is_said() {
    let many: Vec<Value> = (0..MOST_ROWS + 5).map(|row| json!({ "n": row })).collect();
    let answer = analyze(&Value::Array(many), None).unwrap();
    assert_eq!(answer["analysis"]["row_count"], 10_005);
    assert_eq!(answer["analysis"]["rows_examined"], 10_000);
    assert_eq!(
        answer["summary"],
        "10005 rows, of which the first 10000 were looked at. n runs from 0 to 9999, on average 4999.5."
    );
    let wide: Map<String, Value> = (0..MOST_COLUMNS + 3).map(|column| (format!("c{column}"), Value::Null)).collect();
    let answer = analyze(&json!([wide]), None).unwrap();
    assert_eq!(answer["analysis"]["columns"].as_array().unwrap().len(), MOST_COLUMNS);
    assert_eq!(answer["analysis"]["columns_left_out"], 3);
}

#[test]
fn numbers_that_cannot_be_added_exactly_are_not() {
    let answer = analyze(&json!([{ "n": 1e300 }, { "n": 0.5 }]), None).unwrap();
    let column = &answer["analysis"]["columns"][0];
    assert_eq!(column["note"], "the numbers are too far apart to be compared exactly");
    assert_eq!(column.get("sum"), None);
    assert_eq!(answer["summary"], "2 rows.");
}

/// The numbers in a text, without signs and without zeros at the end of a fraction.
fn numbers_in(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for piece in text.split(|c: char| !c.is_ascii_digit() && c != '.') {
        let piece = piece.trim_matches('.');
        let plain = if piece.contains('.') { piece.trim_end_matches('0').trim_end_matches('.') } else { piece };
        if !plain.is_empty() {
            found.insert(plain.to_owned());
        }
    }
    found
}

/// Whether a number is the average of some hundredths, to two places more than they have: by multiplying back, not by
/// dividing.
fn is_average(token: &str, hundredths: &[i64]) -> bool {
    let (whole, fraction) = token.split_once('.').unwrap_or((token, ""));
    let Ok(units) = format!("{whole}{fraction:0<4}").parse::<i64>() else {
        return false;
    };
    let count = i64::try_from(hundredths.len()).unwrap();
    let off = (units * count - hundredths.iter().sum::<i64>() * 100).abs();
    let coarse = if hundredths.iter().all(|cents| cents % 10 == 0) { 10 } else { 1 };
    fraction.len() <= 4 && off * 2 <= count * coarse
}

struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

// acceptance 102
#[test]
fn every_number_is_in_the_data_or_follows_from_it() {
    for seed in 0..500 {
        let mut dice = Dice(seed);
        for _ in 0..10 {
            let mut hundredths = Vec::new();
            let mut rows = Vec::new();
            let mut statuses = [0_usize; 3];
            for row in 0..1 + dice.below(30) {
                let cents = i64::try_from(dice.below(100_000)).unwrap();
                let amount = (dice.below(5) > 0).then(|| {
                    hundredths.push(cents);
                    format!("{}.{:02}", cents / 100, cents % 100).parse::<f64>().unwrap()
                });
                let status = usize::try_from(dice.below(3)).unwrap();
                statuses[status] += 1;
                let created = format!("2026-{:02}-{:02}T10:00:00Z", 1 + dice.below(12), 1 + dice.below(28));
                let word = ["open", "resolved", "escalated"][status];
                rows.push(json!({ "id": row, "amount": amount, "status": word, "created_at": created }));
            }
            let mut follows = numbers_in(&json!(rows).to_string());
            follows.insert(rows.len().to_string());
            follows.insert((rows.len() - hundredths.len()).to_string());
            follows.extend(statuses.iter().map(usize::to_string));
            let data = Value::Array(rows);
            let text = summary(&data);
            for number in numbers_in(&text) {
                let known = follows.contains(&number) || is_average(&number, &hundredths);
                assert!(known, "seed {seed}: {number} in `{text}` of {data}");
            }
            assert_eq!(text, summary(&data), "the same again");
        }
    }
}

//! A text inside of itself, as often as it takes to hurt whoever reads it by recursion.

use crate::random::Random;

/// Most of what stands around an expression that holds another.
const AROUND: [(&str, &str); 18] = [
    ("(", ")"),
    ("(select ", ")"),
    ("abs(", ")"),
    ("not ", ""),
    ("- ", ""),
    ("case when true then ", " end"),
    ("case ", " when 1 then 2 end"),
    ("array[", "]"),
    ("", "::int"),
    ("", "[1]"),
    ("", ".a"),
    ("1 + ", ""),
    ("a || ", ""),
    ("a and ", " or b"),
    ("exists (select * from (", ") x)"),
    ("with a as (select ", ") select 1"),
    ("1 in (", ")"),
    ("cast(", " as int)"),
];
/// What stands around a statement.
const WHOLE: [(&str, &str); 8] = [
    ("select 1 union ", ""),
    ("with a as (", ") select 1"),
    ("select * from (", ") x"),
    ("explain ", ""),
    ("(", ")"),
    ("", ";"),
    ("/* ", " */"),
    ("create trigger a after insert on t begin ", "; end"),
];
/// A nested text is no longer than this.
const LONGEST: usize = 1 << 17;

/// Two layers of any kinds around the text, each up to thousands of times.
pub fn nested(text: &str, random: &mut Random, check: impl Fn(&str) -> Result<(), String>) -> Result<(), String> {
    let around = |text: String, pairs: &[(&str, &str)], random: &mut Random| {
        let (before, behind) = pairs.get(random.below(pairs.len())).copied().unwrap_or_default();
        let most = [8, 60, 1_000, 20_000].get(random.below(4)).copied().unwrap_or(8);
        let room = LONGEST.saturating_sub(text.len()) / (before.len() + behind.len()).max(1);
        let times = random.below(most).min(room);
        format!("{}{text}{}", before.repeat(times), behind.repeat(times))
    };
    let inner = if random.one_in(2) { text.to_owned() } else { "1".to_owned() };
    let inner = around(inner, &AROUND, random);
    let inner = around(inner, &AROUND, random);
    let begun = random.pick(&["select ", "select * from t where ", "update t set a = ", ""]).unwrap_or_default();
    check(&around(format!("{begun}{inner}"), &WHOLE, random))
}

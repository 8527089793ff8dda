//! A detector as people write it, in `policies/dlp/*.yaml` and in a tenant's row.

use serde::{Deserialize, Serialize};

use crate::{Action, Check, Severity};

/// One rule: a pattern or a dictionary, where to begin to look, and what must hold of what was found.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenDetector {
    pub id: String,
    #[serde(default)]
    pub title: String,
    /// 1: nearly never wrong. 2: needs its surroundings to be believed.
    #[serde(default = "first_tier")]
    pub tier: u8,
    #[serde(default)]
    pub severity: Severity,
    #[serde(default)]
    pub tags: Vec<String>,
    /// A regular expression over bytes, Unicode off unless it says `(?u)`. With `digits` it must match a whole window.
    /// If it has groups, the first that takes part is the value (`password=(\S+)`), and boundaries are looked at around the whole
    /// match.
    #[serde(default)]
    pub pattern: Option<String>,
    /// The pattern is only how it begins: everything up to this belongs to it. Where this does not come, as much does as looks
    /// like a key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    #[serde(default)]
    pub dictionary: Option<Dictionary>,
    /// Where a pattern is tried: a literal of at least three bytes (any case) that every match holds, or one of
    /// `@`, `<digits:N>` (N digits, with blanks, dots, dashes, slashes or parentheses between them), `<run:N>` (N letters of a token
    /// without a break), `<dots:N>` (digits and N dots), `<colons:N>` (hexadecimal digits and N colons).
    #[serde(default)]
    pub anchors: Vec<String>,
    /// Every window of so many digits (separators may stand between them) is a candidate, longest first.
    /// A window begins and ends where a group of digits does; `pattern`, if any, must match all of it, a leading `+` or `(` included.
    #[serde(default)]
    pub digits: Option<(u8, u8)>,
    #[serde(default)]
    pub boundary: Boundary,
    #[serde(default)]
    pub check: Vec<Check>,
    #[serde(default)]
    pub context: Option<ContextWords>,
    /// Words that make a match something else; written like `context`.
    #[serde(default)]
    pub unless: Option<ContextWords>,
    /// What stands in the mask, `[LABEL]`; the id in capitals unless said.
    #[serde(default)]
    pub label: String,
    #[serde(default)]
    pub keep: Keep,
    /// What is done about it unless somebody says otherwise.
    #[serde(default)]
    pub action: Option<Action>,
    #[serde(default)]
    pub must: Vec<Sample>,
    #[serde(default)]
    pub must_not: Vec<Sample>,
}

/// Words, found whole.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Dictionary {
    pub words: Vec<String>,
    #[serde(default)]
    pub case_sensitive: bool,
}

/// What may stand beside a match.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Boundary {
    /// No letter or digit on either side.
    #[default]
    Word,
    /// Nor `_`.
    Token,
    /// No digit on either side.
    Digit,
    /// Nor a digit beyond a dash, dot, slash or `_`, or beyond the sign that stands between its own groups: a part of a longer row of
    /// numbers is none of its own.
    Number,
    /// No letter or digit behind it. What begins like nothing else is seen behind a word too: `keyghp_...`.
    End,
    /// Anything: the pattern says it itself.
    None,
}

/// Words that make a match believable.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ContextWords {
    pub words: Vec<String>,
    /// Bytes before the match.
    #[serde(default = "near")]
    pub within: u16,
    /// Bytes after it.
    #[serde(default)]
    pub after: u16,
    /// Without one of the words it is no match.
    #[serde(default = "yes")]
    pub required: bool,
    /// The name of the JSON member, or the head of the column, counts too.
    #[serde(default = "yes")]
    pub also_key: bool,
}

/// What `partial` leaves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Keep {
    #[serde(default)]
    pub first: u8,
    #[serde(default)]
    pub last: u8,
    /// An e-mail's: the first letter and the domain.
    #[serde(default)]
    pub domain: bool,
}

/// A text; what stands in braces is expanded by whoever runs the samples.
pub type Sample = String;

fn first_tier() -> u8 {
    1
}

fn near() -> u16 {
    48
}

fn yes() -> bool {
    true
}

//! Points in time as callers give them: of the world, or counted.

use serde::{Deserialize, Serialize};
use serde_json::Number;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "value", rename_all = "snake_case", try_from = "Written")]
pub enum GateTime {
    UnixMillis(i64),
    Logical(u64),
}

/// Read apart, because an adjacently tagged enum would ignore keys it does not know.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    kind: String,
    value: Number,
}

impl TryFrom<Written> for GateTime {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        match written.kind.as_str() {
            "unix_millis" => written.value.as_i64().map(Self::UnixMillis).ok_or("unix_millis wants a 64-bit integer"),
            "logical" => written.value.as_u64().map(Self::Logical).ok_or("logical wants an unsigned integer"),
            _ => Err("kind must be `unix_millis` or `logical`"),
        }
        .map_err(Into::into)
    }
}

impl GateTime {
    /// Whether this is `millis` or more after `start`; none if the two are not counted alike.
    pub fn is_due(self, start: Self, millis: u64) -> Option<bool> {
        let (now, then) = match (self, start) {
            (Self::UnixMillis(now), Self::UnixMillis(then)) => (i128::from(now), i128::from(then)),
            (Self::Logical(now), Self::Logical(then)) => (i128::from(now), i128::from(then)),
            _ => return None,
        };
        Some(now >= then + i128::from(millis))
    }
}

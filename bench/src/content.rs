//! What travels: texts that follow from a seed, so that both ends can compute them and a wrong, cut or swapped answer shows.
//!
//! A text opens with a token of its seed and goes on with a slice of plain prose whose start also depends on the seed. Tokens use the
//! letters a to p instead of hex digits: nothing here may look like a card number or a secret, or we would measure redaction.

use std::sync::LazyLock;

pub const TOKEN_LEN: usize = 16;
/// Length of the text in one streamed notification; with its envelope and SSE framing an event is about 200 bytes.
pub const EVENT_TEXT: usize = 80;
pub const LEGACY: &str = "2025-11-25";
pub const MODERN: &str = "2026-07-28";

pub const LONGEST: usize = 64 * 1024;
const PROSE: &str = "the reeve of the port keeps the gate and writes down who came with what and where it went before \
    anything leaves the market so that whoever asks later may read the roll and need not take the word of the keeper ";

static FILLER: LazyLock<Vec<u8>> = LazyLock::new(|| PROSE.bytes().cycle().take(LONGEST + PROSE.len()).collect());

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload {
    /// One JSON answer whose text has this many bytes.
    Json(usize),
    /// An event stream of this many notifications, with texts of this many bytes, and the result.
    Stream { events: u32, size: usize, burst: u32 },
}

impl Payload {
    pub fn tool(self) -> &'static str {
        match self {
            Self::Json(200) => "echo_200",
            Self::Json(4096) => "echo_4k",
            Self::Json(_) => "echo_64k",
            Self::Stream { .. } => "stream",
        }
    }

    pub fn label(self) -> String {
        match self {
            Self::Json(200) => "200b".into(),
            Self::Json(4096) => "4k".into(),
            Self::Json(_) => "64k".into(),
            Self::Stream { size: EVENT_TEXT, .. } => "stream".into(),
            Self::Stream { size: 4096, .. } => "stream-4k".into(),
            Self::Stream { .. } => "stream-64k".into(),
        }
    }
}

pub fn size_of_tool(tool: &str) -> Option<usize> {
    match tool {
        "echo_200" => Some(200),
        "echo_4k" => Some(4096),
        "echo_64k" => Some(LONGEST),
        _ => None,
    }
}

/// A text is its token, then its prose; both are compared in full by the receiver.
#[derive(Clone, Copy)]
pub struct Text {
    pub token: [u8; TOKEN_LEN],
    pub prose: &'static [u8],
}

impl Text {
    pub fn of(seed: u64, salt: u64, len: usize) -> Self {
        let mixed = mix(seed ^ mix(salt));
        let start = usize::try_from(mixed % 64).unwrap_or(0);
        let prose = FILLER.get(start..start + len.saturating_sub(TOKEN_LEN)).unwrap_or(&[]);
        Self { token: letters(mixed), prose }
    }

    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.token);
        out.extend_from_slice(self.prose);
    }

    pub fn opens(&self, bytes: &[u8]) -> bool {
        bytes.strip_prefix(&self.token).is_some_and(|rest| rest.starts_with(self.prose))
    }

    pub fn equals(&self, text: &str) -> bool {
        text.len() == TOKEN_LEN + self.prose.len() && self.opens(text.as_bytes())
    }
}

/// The answer of an echo tool: its size is the salt, so an answer of another tool has another token.
pub fn echo_text(seed: u64, size: usize) -> Text {
    Text::of(seed, size as u64, size)
}

pub fn event_text(seed: u64, index: u32, size: usize) -> Text {
    Text::of(seed, 0x5eed_0000_0000 + u64::from(index), size)
}

/// The result that ends a stream knows how many events came before it.
pub fn stream_text(seed: u64, events: u32) -> Text {
    Text::of(seed, 0xf17a_0000_0000 + u64::from(events), EVENT_TEXT)
}

pub fn letters(value: u64) -> [u8; TOKEN_LEN] {
    let mut out = [b'a'; TOKEN_LEN];
    let mut rest = value;
    for slot in out.iter_mut().rev() {
        *slot = b'a' + (rest & 15) as u8;
        rest >>= 4;
    }
    out
}

pub fn from_letters(text: &str) -> Option<u64> {
    if text.len() != TOKEN_LEN {
        return None;
    }
    text.bytes().try_fold(0u64, |value, letter| match letter {
        b'a'..=b'p' => Some(value << 4 | u64::from(letter - b'a')),
        _ => None,
    })
}

/// The finaliser of splitmix64: every bit of the seed reaches every letter of the token.
pub fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_text_is_known_by_its_seed_its_salt_and_its_length() {
        let mut bytes = Vec::new();
        echo_text(7, 200).write(&mut bytes);
        assert_eq!(bytes.len(), 200);
        let text = String::from_utf8(bytes).unwrap();
        for (other, same) in [(echo_text(7, 200), true), (echo_text(8, 200), false), (Text::of(7, 201, 200), false)] {
            assert_eq!(other.equals(&text), same);
        }
        assert!(!echo_text(7, 200).equals(text.get(..199).unwrap()), "a cut text is not the text");
        assert!(!text.bytes().any(|byte| byte.is_ascii_digit() || byte == b'"' || byte == b'\\'));
    }

    #[test]
    fn the_longest_text_is_whole() {
        let mut bytes = Vec::new();
        echo_text(u64::MAX, LONGEST).write(&mut bytes);
        assert_eq!(bytes.len(), LONGEST);
    }

    #[test]
    fn letters_go_there_and_back() {
        for value in [0, 1, 0xdead_beef, u64::MAX] {
            let text = String::from_utf8(letters(value).to_vec()).unwrap();
            assert_eq!(from_letters(&text), Some(value), "{text}");
        }
        for wrong in ["", "abc", "aaaaaaaaaaaaaaaz", "aaaaaaaaaaaaaaaaa"] {
            assert_eq!(from_letters(wrong), None, "{wrong}");
        }
    }
}

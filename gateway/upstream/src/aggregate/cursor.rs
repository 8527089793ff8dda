//! Where a client stands in a merged list. The cursor names the list it was cut from: another list, another cursor.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

const DIGEST: usize = 12;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ListDigest([u8; DIGEST]);

impl ListDigest {
    pub(super) fn of<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        let mut hasher = Sha256::new();
        for name in names {
            hasher.update((name.len() as u64).to_be_bytes());
            hasher.update(name.as_bytes());
        }
        let mut digest = [0; DIGEST];
        for (slot, byte) in digest.iter_mut().zip(hasher.finalize()) {
            *slot = byte;
        }
        Self(digest)
    }
}

pub(super) fn write(offset: usize, list: &ListDigest) -> String {
    let mut bytes = (offset as u64).to_be_bytes().to_vec();
    bytes.extend_from_slice(&list.0);
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The offset, if the cursor was cut from this very list.
pub(super) fn read(cursor: &str, list: &ListDigest, length: usize) -> Option<usize> {
    let bytes = URL_SAFE_NO_PAD.decode(cursor).ok()?;
    let (offset, digest) = bytes.split_first_chunk::<8>()?;
    let offset = usize::try_from(u64::from_be_bytes(*offset)).ok()?;
    (digest == list.0 && offset < length).then_some(offset)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
    use super::*;

    #[test]
    fn a_cursor_is_good_for_its_own_list_only() {
        let list = ListDigest::of(["a", "b"].into_iter());
        let other = ListDigest::of(["ab"].into_iter());
        assert_ne!(list, other);
        let cursor = write(500, &list);
        assert_eq!(read(&cursor, &list, 501), Some(500));
        assert_eq!(read(&cursor, &list, 500), None, "beyond the end");
        assert_eq!(read(&cursor, &other, 501), None);
        for bad in ["", "x", "AAAA", "not base64!", &cursor[1..]] {
            assert_eq!(read(bad, &list, 501), None, "{bad}");
        }
    }
}

//! How random a text looks.

/// Shannon's bits per byte.
#[expect(clippy::cast_precision_loss, reason = "lengths of tokens are far below 2^23")]
pub fn bits(value: &str) -> f32 {
    let mut counts = [0_u16; 256];
    for byte in value.bytes() {
        if let Some(count) = counts.get_mut(usize::from(byte)) {
            *count = count.saturating_add(1);
        }
    }
    let all = value.len() as f32;
    counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| f32::from(*count) / all)
        .map(|share| -share * share.log2())
        .sum()
}

//! Numbers that depend on nothing but a seed, on every machine and in every version: a printed seed brings a run back.

/// SplitMix64.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Numbers that depend on every byte of an input (FNV-1a).
    pub fn of(input: &[u8]) -> Self {
        Self(
            input
                .iter()
                .fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)),
        )
    }

    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`; 0 if there is none.
    pub fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end).unwrap_or(u64::MAX).max(1);
        usize::try_from(self.number() % end).unwrap_or(0)
    }

    pub fn byte(&mut self) -> u8 {
        self.number().to_le_bytes()[0]
    }

    pub fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> Option<&'a T> {
        from.get(self.below(from.len())).copied()
    }

    /// A stretch within `length` bytes, rarely a long one.
    pub fn stretch(&mut self, length: usize) -> std::ops::Range<usize> {
        let start = self.below(length + 1);
        let longest = if self.one_in(4) { length } else { 16 };
        let end = (start + self.below(longest + 1)).min(length);
        start..end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_always_says_the_same() {
        let mut random = Random::new(0);
        assert_eq!(random.number(), 0xe220_a839_7b1d_cdaf, "the published first number of SplitMix64");
        assert_eq!((random.below(0), random.below(1)), (0, 0));
        for _ in 0..100 {
            let stretch = random.stretch(10);
            assert!(stretch.start <= stretch.end && stretch.end <= 10);
        }
        assert_eq!(random.stretch(0), 0..0);
        assert_eq!(random.pick::<str>(&[]), None);
    }
}

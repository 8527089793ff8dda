//! The digits of a candidate without what groups them, as most checksums want them.

/// No number that is checked here has more; a longer one is none of ours.
const MOST: usize = 34;

/// Digits (or, for some numbers, letters as values) of one candidate, on the stack.
#[derive(Clone, Copy)]
pub struct Digits {
    values: [u8; MOST],
    count: usize,
}

impl Digits {
    /// Everything that is no digit is grouping. `None`: more than any known number has.
    pub fn of(text: &str) -> Option<Self> {
        Self::from_values(text.bytes().filter(u8::is_ascii_digit).map(|byte| byte - b'0'))
    }

    pub fn from_values(values: impl Iterator<Item = u8>) -> Option<Self> {
        let mut digits = Self { values: [0; MOST], count: 0 };
        for value in values {
            *digits.values.get_mut(digits.count)? = value;
            digits.count += 1;
        }
        Some(digits)
    }

    pub fn all(&self) -> &[u8] {
        self.values.get(..self.count).unwrap_or_default()
    }

    pub fn count(&self) -> usize {
        self.count
    }

    /// The first `count` digits as a number; as many as there are if there are fewer.
    pub fn leading(&self, count: usize) -> u64 {
        number(self.all().iter().take(count))
    }

    /// The digits from `from`, `count` of them, as a number.
    pub fn part(&self, from: usize, count: usize) -> u64 {
        number(self.all().iter().skip(from).take(count))
    }

    pub fn last(&self) -> u8 {
        self.all().last().copied().unwrap_or_default()
    }

    /// The sum of digits times weights, position by position.
    pub fn weighted(&self, weights: &[u32]) -> u32 {
        self.all().iter().zip(weights).map(|(digit, weight)| u32::from(*digit) * weight).sum()
    }

    /// One digit over and over.
    pub fn all_same(&self) -> bool {
        self.all().windows(2).all(|pair| pair.first() == pair.last())
    }
}

fn number<'a>(digits: impl Iterator<Item = &'a u8>) -> u64 {
    digits.fold(0_u64, |sum, digit| sum.wrapping_mul(10).wrapping_add(u64::from(*digit)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn grouping_is_not_counted() {
        let digits = Digits::of("40 12-3.4").unwrap();
        assert_eq!((digits.count(), digits.leading(3), digits.part(2, 2), digits.last()), (6, 401, 12, 4));
        assert!(Digits::of(&"1".repeat(35)).is_none());
        assert!(Digits::of("77-77").unwrap().all_same());
    }
}

//! Few numbers out of many: percentiles of a run, the median and the range over rounds.

use serde::Serialize;

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Latency {
    pub count: usize,
    pub p50_us: f64,
    pub p99_us: f64,
}

impl Latency {
    pub fn of(mut samples_ns: Vec<u64>) -> Self {
        samples_ns.sort_unstable();
        Self { count: samples_ns.len(), p50_us: rank(&samples_ns, 0.50), p99_us: rank(&samples_ns, 0.99) }
    }
}

/// The smallest sample that at least this share of all samples do not exceed, in microseconds.
fn rank(sorted: &[u64], share: f64) -> f64 {
    let at = (sorted.len() as f64 * share).ceil() as usize;
    sorted.get(at.saturating_sub(1)).map_or(0.0, |ns| *ns as f64 / 1000.0)
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    pub median: f64,
    pub min: f64,
    pub max: f64,
}

impl Spread {
    /// Nothing measured gives no figure, not a zero.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
        values.sort_by(f64::total_cmp);
        let middle = values.len() / 2;
        let upper = *values.get(middle)?;
        let median =
            if values.len().is_multiple_of(2) { f64::midpoint(*values.get(middle - 1)?, upper) } else { upper };
        Some(Self { median, min: *values.first()?, max: *values.last()? })
    }

    pub fn show(self, digits: usize) -> String {
        let Self { median, min, max } = self;
        format!("{median:.digits$} ({min:.digits$}..{max:.digits$})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_samples() {
        for (samples, p50, p99) in [
            (vec![], 0.0, 0.0),
            (vec![5000], 5.0, 5.0),
            (vec![4000, 1000, 3000, 2000], 2.0, 4.0),
            ((1..=200).map(|n| n * 1000).collect(), 100.0, 198.0),
        ] {
            let latency = Latency::of(samples);
            assert_eq!((latency.p50_us, latency.p99_us), (p50, p99));
        }
    }

    #[test]
    fn the_median_lies_between_the_ends() {
        for (values, expected) in [
            (vec![], None),
            (vec![2.0], Some((2.0, 2.0, 2.0))),
            (vec![3.0, 1.0, 2.0], Some((2.0, 1.0, 3.0))),
            (vec![4.0, 1.0, 2.0, 3.0], Some((2.5, 1.0, 4.0))),
            (vec![f64::NAN, 1.0, f64::INFINITY], Some((1.0, 1.0, 1.0))),
        ] {
            let spread = Spread::of(values).map(|spread| (spread.median, spread.min, spread.max));
            assert_eq!(spread, expected);
        }
    }
}

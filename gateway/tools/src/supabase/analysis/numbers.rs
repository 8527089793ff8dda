//! Exact decimals and what is computed of a column of them.

use std::cmp::Ordering;
use std::fmt;

use serde_json::{Number, Value};

/// Places behind the point that an average has more than its data, and the most it has at all.
const MORE_PLACES: u32 = 2;
const MOST_PLACES: u32 = 6;
/// Finer data is not told apart.
const FINEST: u32 = 30;

/// `units` divided by ten, `scale` times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Decimal {
    units: i128,
    scale: u32,
}

/// `sum` and `avg` are missing where the numbers are too large to be added exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Numbers {
    pub min: Decimal,
    pub max: Decimal,
    pub sum: Option<Decimal>,
    pub avg: Option<Decimal>,
}

impl Decimal {
    /// As JSON writes numbers, also with an exponent.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
            None => (text, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let units: i128 = format!("{whole}{fraction}").parse().ok()?;
        let scale = i32::try_from(fraction.len()).ok()?.checked_sub(exponent)?;
        match u32::try_from(scale) {
            Ok(scale) => (scale <= FINEST).then_some(Self { units, scale }),
            Err(_) => Some(Self { units: units.checked_mul(power(scale.unsigned_abs())?)?, scale: 0 }),
        }
    }

    /// `part` of `whole`, to four places.
    pub(super) fn share(part: usize, whole: usize) -> Option<Self> {
        let (part, whole) = (i128::try_from(part).ok()?, i128::try_from(whole).ok()?);
        Some(Self { units: divided(part.checked_mul(power(4)?)?, whole)?, scale: 4 })
    }

    fn at_scale(self, scale: u32) -> Option<i128> {
        self.units.checked_mul(power(scale.checked_sub(self.scale)?)?)
    }

    /// A JSON number where that says exactly the same, else the digits as text.
    pub(super) fn json(self) -> Value {
        let text = self.to_string();
        if let Ok(whole) = text.parse::<i64>() {
            return whole.into();
        }
        let float = text.parse::<f64>().ok().and_then(Number::from_f64);
        match float.filter(|float| float.to_string() == text) {
            Some(float) => Value::Number(float),
            None => Value::String(text),
        }
    }
}

impl Numbers {
    /// `None` where there are none, or they are too far apart to be written with one scale.
    pub(super) fn of(values: &[Decimal]) -> Option<Self> {
        let scale = values.iter().map(|value| value.scale).max()?;
        let units = values.iter().map(|value| value.at_scale(scale)).collect::<Option<Vec<i128>>>()?;
        let sum = units.iter().try_fold(0_i128, |sum, unit| sum.checked_add(*unit));
        let avg = sum.and_then(|sum| average(sum, scale, units.len()));
        Some(Self {
            min: Decimal { units: units.iter().copied().min()?, scale },
            max: Decimal { units: units.iter().copied().max()?, scale },
            sum: sum.map(|units| Decimal { units, scale }),
            avg,
        })
    }
}

fn average(sum: i128, scale: u32, count: usize) -> Option<Decimal> {
    let places = (scale + MORE_PLACES).min(MOST_PLACES);
    let count = i128::try_from(count).ok()?;
    let (up, down) = (power(places.saturating_sub(scale))?, power(scale.saturating_sub(places))?);
    let units = divided(sum.checked_mul(up)?, count.checked_mul(down)?)?;
    Some(Decimal { units, scale: places })
}

/// Rounded to the nearest, and from the middle to the even one, so that errors do not add up.
fn divided(number: i128, by: i128) -> Option<i128> {
    if by <= 0 {
        return None;
    }
    let (below, rest) = (number.checked_div_euclid(by)?, number.checked_rem_euclid(by)?);
    let up = match rest.checked_mul(2)?.cmp(&by) {
        Ordering::Less => false,
        Ordering::Greater => true,
        Ordering::Equal => below % 2 != 0,
    };
    below.checked_add(i128::from(up))
}

fn power(of_ten: u32) -> Option<i128> {
    10_i128.checked_pow(of_ten)
}

/// Without zeros at the end: 20.60 is 20.6.
impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut units, mut scale) = (self.units, self.scale);
        while scale > 0 && units % 10 == 0 {
            units /= 10;
            scale -= 1;
        }
        if scale == 0 {
            return write!(f, "{units}");
        }
        let sign = if units < 0 { "-" } else { "" };
        let places = scale as usize;
        let digits = format!("{:0>width$}", units.unsigned_abs(), width = places + 1);
        let (whole, fraction) = digits.split_at(digits.len() - places);
        write!(f, "{sign}{whole}.{fraction}")
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    fn all(texts: &[&str]) -> Option<Numbers> {
        Numbers::of(&texts.iter().map(|text| Decimal::parse(text).unwrap()).collect::<Vec<_>>())
    }

    #[test]
    fn decimals_are_written_as_they_were_read() {
        for (text, expected) in [
            ("0", "0"),
            ("-7", "-7"),
            ("0.5", "0.5"),
            ("-0.05", "-0.05"),
            ("2.50", "2.5"),
            ("1e3", "1000"),
            ("1.5e-3", "0.0015"),
            ("-1.25E2", "-125"),
            ("100", "100"),
            ("9223372036854775808", "9223372036854775808"),
        ] {
            assert_eq!(Decimal::parse(text).unwrap().to_string(), expected, "{text}");
        }
        for text in ["", "-", "x", "1e400", "1e-400", "1.2.3", "NaN", "1e"] {
            assert_eq!(Decimal::parse(text), None, "{text}");
        }
    }

    #[test]
    fn sums_and_averages_are_exact() {
        for (texts, sum, avg) in [
            (vec!["0.1", "0.2"], "0.3", "0.15"),
            (vec!["1", "2"], "3", "1.5"),
            (vec!["1", "1", "2"], "4", "1.33"),
            (vec!["2", "3", "3"], "8", "2.67"),
            (vec!["-1", "-2"], "-3", "-1.5"),
            (vec!["0.005", "0.004"], "0.009", "0.0045"),
            (vec!["9007199254740993", "1"], "9007199254740994", "4503599627370497"),
            (vec!["0.0000001", "0.0000002"], "0.0000003", "0"),
        ] {
            let numbers = all(&texts).unwrap();
            assert_eq!(numbers.sum.unwrap().to_string(), sum, "{texts:?}");
            assert_eq!(numbers.avg.unwrap().to_string(), avg, "{texts:?}");
        }
        // From the middle to the even one: 2.125 over two places, and 2.135 over two.
        assert_eq!(divided(2_125, 10), Some(212));
        assert_eq!(divided(2_135, 10), Some(214));
        assert_eq!(divided(-2_125, 10), Some(-212));
        assert_eq!(divided(1, 0), None);
    }

    #[test]
    fn what_is_too_large_to_add_has_no_sum() {
        let huge = "170141183460469231731687303715884105727";
        let numbers = all(&[huge, "1"]).unwrap();
        assert_eq!((numbers.sum, numbers.avg), (None, None));
        assert_eq!((numbers.min.to_string(), numbers.max.to_string()), ("1".to_owned(), huge.to_owned()));
        assert_eq!(all(&[huge, "0.5"]), None);
        assert_eq!(all(&[]), None);
    }

    #[test]
    fn json_gets_a_number_only_where_it_is_the_same() {
        for (text, expected) in [
            ("12", json!(12)),
            ("0.3", json!(0.3)),
            ("-2.5", json!(-2.5)),
            ("9223372036854775808", json!("9223372036854775808")),
            ("0.12345678901234567890123", json!("0.12345678901234567890123")),
        ] {
            assert_eq!(Decimal::parse(text).unwrap().json(), expected, "{text}");
        }
    }
}

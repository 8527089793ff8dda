//! A time as it is hashed and stored.

use jiff::Timestamp;

/// `2026-02-23T00:00:00.000Z`: always three decimals, so that equal times are equal texts.
pub fn written_time(timestamp: Timestamp) -> String {
    // Written twice a call, and most of the time a general formatter takes goes into finding out what is wanted.
    let Ok(millis) = u64::try_from(timestamp.as_millisecond()) else {
        return format!("{timestamp:.3}");
    };
    let (days, millis) = (millis / 86_400_000, millis % 86_400_000);
    let (year, month, day) = civil(days);
    let (seconds, millis) = (millis / 1_000, millis % 1_000);
    let mut text = String::with_capacity(24);
    let mut put = |number: u64, digits: u32, behind: char| {
        for digit in (0..digits).rev() {
            text.push(char::from(b'0' + (number / 10_u64.pow(digit) % 10) as u8));
        }
        text.push(behind);
    };
    put(year, 4, '-');
    put(month, 2, '-');
    put(day, 2, 'T');
    put(seconds / 3_600, 2, ':');
    put(seconds / 60 % 60, 2, ':');
    put(seconds % 60, 2, '.');
    put(millis, 3, 'Z');
    text
}

/// Year, month and day of a day since 1970, in years that begin in March so that the leap day is their last.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_time_is_written_as_the_calendar_has_it() {
        let days = (0..2_932_000).step_by(13).map(|day| day * 86_400_000 + day % 86_400_000);
        let millis = days.chain((0..2_000_000_000_000).step_by(7_654_321_987)).chain([
            -1,
            -62_135_596_800_000,
            951_782_399_999,
            951_782_400_000,
            951_868_800_000,
            1_709_251_199_999,
            4_107_542_400_000,
            253_402_207_200_000,
        ]);
        for millis in millis {
            let time = Timestamp::from_millisecond(millis).unwrap();
            assert_eq!(written_time(time), format!("{time:.3}"), "{millis}");
        }
        let finer: Timestamp = "2026-02-23T00:00:00.123999999Z".parse().unwrap();
        assert_eq!(written_time(finer), "2026-02-23T00:00:00.123Z");
    }
}

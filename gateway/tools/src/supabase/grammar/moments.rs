//! Stretches of time said in words: `today`, `last month`, `in the last 30 days`, `in March 2026`. All in UTC.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};

use super::cursor::Cursor;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    Day(Date),
    Instant(Timestamp),
    /// So many whole days ago: on a column of days it is that day.
    DaysAgo(Timestamp),
}

/// From the first on, up to and without the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Window {
    pub from: Option<Moment>,
    pub until: Option<Moment>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Hour,
    Day,
    Week,
    Month,
    Year,
}

const UNITS: [(&str, Unit); 10] = [
    ("hour", Unit::Hour),
    ("hours", Unit::Hour),
    ("day", Unit::Day),
    ("days", Unit::Day),
    ("week", Unit::Week),
    ("weeks", Unit::Week),
    ("month", Unit::Month),
    ("months", Unit::Month),
    ("year", Unit::Year),
    ("years", Unit::Year),
];

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// More would leave the calendar.
const MOST: u32 = 5_000;

/// The stretch said here, if one is; otherwise the cursor stays where it was.
pub(super) fn window(cursor: &mut Cursor<'_>, now: Timestamp) -> Result<Option<Window>, String> {
    let start = cursor.at;
    let found = read(cursor, now)?;
    if found.is_none() {
        cursor.at = start;
    }
    Ok(found)
}

fn read(cursor: &mut Cursor<'_>, now: Timestamp) -> Result<Option<Window>, String> {
    let today = now.to_zoned(TimeZone::UTC).date();
    if cursor.take("since") {
        let found = calendar(cursor, today, true)?;
        return Ok(found.map(|(from, _)| Window { from: Some(Moment::Day(from)), until: None }));
    }
    let dated = cursor.take_one(&["in", "during", "over", "within", "for", "from"]);
    let the = cursor.take("the");
    if let Some(from) = rolling(cursor, now, dated && the)? {
        return Ok(Some(Window { from: Some(from), until: None }));
    }
    let found = calendar(cursor, today, dated)?;
    Ok(found.map(|(from, until)| Window { from: Some(Moment::Day(from)), until: Some(Moment::Day(until)) }))
}

/// `last 30 days`, and `in the last week` without a number: seven days, not the week of the calendar.
fn rolling(cursor: &mut Cursor<'_>, now: Timestamp, number_may_lack: bool) -> Result<Option<Moment>, String> {
    if !matches!(cursor.word(0), "last" | "past") {
        return Ok(None);
    }
    let (many, long) = match cursor.number(1) {
        Some(many) => (many, 2),
        None if number_may_lack => (1, 1),
        None => return Ok(None),
    };
    let Some((_, unit)) = UNITS.iter().copied().find(|(word, _)| *word == cursor.word(long)) else {
        return Ok(None);
    };
    cursor.at += long + 1;
    if many == 0 || many > MOST {
        return Err(format!("a stretch of time is 1 to {MOST} units long"));
    }
    let many = i64::from(many);
    let span = match unit {
        Unit::Hour => Span::new().try_hours(many),
        Unit::Day => Span::new().try_days(many),
        Unit::Week => Span::new().try_weeks(many),
        Unit::Month => Span::new().try_months(many),
        Unit::Year => Span::new().try_years(many),
    };
    let then = span.and_then(|span| now.to_zoned(TimeZone::UTC).checked_sub(span)).map_err(outside)?.timestamp();
    Ok(Some(if unit == Unit::Hour { Moment::Instant(then) } else { Moment::DaysAgo(then) }))
}

/// A day, week, month or year of the calendar: its first day and the day after its last.
fn calendar(cursor: &mut Cursor<'_>, today: Date, dated: bool) -> Result<Option<(Date, Date)>, String> {
    let stretch = if cursor.take("today") {
        (today, Unit::Day)
    } else if cursor.take("yesterday") {
        (today.yesterday().map_err(outside)?, Unit::Day)
    } else if cursor.take("this week") {
        (monday(today)?, Unit::Week)
    } else if cursor.take("this month") {
        (today.first_of_month(), Unit::Month)
    } else if cursor.take("this year") {
        (today.first_of_year(), Unit::Year)
    } else if cursor.take("last week") {
        (monday(today)?.checked_sub(Span::new().days(7)).map_err(outside)?, Unit::Week)
    } else if cursor.take("last month") {
        (today.first_of_month().checked_sub(Span::new().months(1)).map_err(outside)?, Unit::Month)
    } else if cursor.take("last year") {
        (today.first_of_year().checked_sub(Span::new().years(1)).map_err(outside)?, Unit::Year)
    } else if let Some(month) = month(cursor.word(0)).filter(|_| dated) {
        let Some(year) = year(cursor, 1) else {
            let word = cursor.word(0);
            return Err(format!("`{word}` of which year? say it as in `in {word} 2026`"));
        };
        cursor.at += 2;
        (Date::new(year, month, 1).map_err(outside)?, Unit::Month)
    } else if let Some(year) = year(cursor, 0).filter(|_| dated) {
        cursor.at += 1;
        (Date::new(year, 1, 1).map_err(outside)?, Unit::Year)
    } else {
        return Ok(None);
    };
    let (from, unit) = stretch;
    let long = match unit {
        Unit::Hour | Unit::Day => Span::new().days(1),
        Unit::Week => Span::new().days(7),
        Unit::Month => Span::new().months(1),
        Unit::Year => Span::new().years(1),
    };
    Ok(Some((from, from.checked_add(long).map_err(outside)?)))
}

fn monday(day: Date) -> Result<Date, String> {
    day.checked_sub(Span::new().days(i64::from(day.weekday().to_monday_zero_offset()))).map_err(outside)
}

fn month(word: &str) -> Option<i8> {
    let place = MONTHS.iter().position(|month| *month == word || (word.len() == 3 && month.starts_with(word)))?;
    i8::try_from(place + 1).ok()
}

fn year(cursor: &Cursor<'_>, ahead: usize) -> Option<i16> {
    let token = cursor.token(ahead).filter(|token| token.text.len() == 4)?;
    token.text.parse().ok().filter(|year| (1900..2200).contains(year))
}

fn outside(_: jiff::Error) -> String {
    "the time is outside of the calendar".into()
}

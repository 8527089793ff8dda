//! One paragraph for people who do not read tables. Every figure in it is one of the analysis.

use super::Analysis;
use super::columns::{Column, Holds};
use super::numbers::Numbers;

/// Columns of one kind that get a sentence.
const EACH: usize = 2;
/// More different values are no categories.
const MOST_CATEGORIES: usize = 50;
/// Longer values are left to the figures.
const LONGEST: usize = 60;

pub(super) fn paragraph(analysis: &Analysis) -> String {
    if analysis.row_count == 0 {
        return "There are no rows.".into();
    }
    let mut sentences = vec![extent(analysis)];
    sentences.extend(analysis.columns.iter().filter_map(numbers).take(EACH));
    sentences.extend(analysis.columns.iter().filter_map(category).take(EACH));
    sentences.extend(gap(analysis));
    sentences.join(" ")
}

fn extent(analysis: &Analysis) -> String {
    let rows = if analysis.row_count == 1 { "1 row".to_owned() } else { format!("{} rows", analysis.row_count) };
    let dated = |column: &&Column| matches!(column.holds, Holds::Moments { .. });
    let created = analysis.columns.iter().filter(dated).find(|column| column.name == "created_at");
    let column = created.or_else(|| analysis.columns.iter().find(dated));
    let mut text = match column.map(|column| &column.holds) {
        Some(Holds::Moments { first, last }) => {
            let (first, last) = (day(first), day(last));
            if first == last { format!("{rows}, all of {first}") } else { format!("{rows} from {first} to {last}") }
        }
        _ => rows,
    };
    if analysis.examined < analysis.row_count {
        text.push_str(&format!(", of which the first {} were looked at", analysis.examined));
    }
    text.push('.');
    text
}

fn day(moment: &str) -> &str {
    moment.get(..10).unwrap_or(moment)
}

fn numbers(column: &Column) -> Option<String> {
    let name = readable(&column.name)?;
    let Holds::Numbers(Some(Numbers { min, max, avg, .. })) = &column.holds else {
        return None;
    };
    if min == max {
        return Some(format!("{name} is always {min}."));
    }
    Some(match avg {
        Some(avg) => format!("{name} runs from {min} to {max}, on average {avg}."),
        None => format!("{name} runs from {min} to {max}."),
    })
}

fn category(column: &Column) -> Option<String> {
    let name = readable(&column.name)?;
    let Holds::Words { distinct, top, .. } = &column.holds else {
        return None;
    };
    let present = column.rows - column.nulls;
    // Where every value is another one, none is frequent.
    if *distinct > MOST_CATEGORIES || (*distinct == present && present > 1) {
        return None;
    }
    let (first, count) = top.first()?;
    let value = readable(first)?;
    if *distinct == 1 {
        return Some(format!("{name} is always {value}."));
    }
    let rows = column.rows;
    match (top.get(1), top.get(2)) {
        (Some((_, second)), _) if second < count => {
            Some(format!("The most frequent {name} is {value} ({count} of {rows})."))
        }
        (Some((other, second)), third) if third.is_none_or(|(_, third)| third < second) => {
            let other = readable(other)?;
            Some(format!("The most frequent {name} are {value} and {other} ({count} of {rows} each)."))
        }
        _ => None,
    }
}

/// The column that most rows have nothing in.
fn gap(analysis: &Analysis) -> Option<String> {
    let most = analysis.columns.iter().map(|column| column.nulls).max().filter(|most| *most > 0)?;
    let column = analysis.columns.iter().find(|column| column.nulls == most)?;
    let name = readable(&column.name)?;
    Some(match column.rows {
        rows if rows == most && rows == 1 => format!("The row has no {name}."),
        rows if rows == most => format!("No row has a {name}."),
        rows if most == 1 => format!("1 of {rows} rows has no {name}."),
        rows => format!("{most} of {rows} rows have no {name}."),
    })
}

/// A name or value that can stand in a sentence: short, on one line, not empty.
fn readable(text: &str) -> Option<&str> {
    let fits = !text.trim().is_empty() && text.chars().count() <= LONGEST && !text.chars().any(char::is_control);
    fits.then_some(text)
}

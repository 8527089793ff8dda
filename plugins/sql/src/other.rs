//! The dialects that have no parser of their own here.

use crate::{Ask, DialectList, Read, Rule};

pub fn read(_text: &str, ask: &Ask<'_>, _list: &DialectList) -> Read {
    Read::invalid(Rule::Syntax, format!("{} is not read yet", ask.dialect))
}

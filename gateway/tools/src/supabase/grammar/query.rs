//! The tree that a question becomes. It can say one SELECT of one table and nothing else: there is no star, no join, no
//! function but the five aggregates.

use gateway_core::ports::TableInfo;
use jiff::Timestamp;
use jiff::civil::Date;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    pub table: TableRef,
    pub select: Vec<Item>,
    /// All of them hold.
    pub filter: Vec<Test>,
    pub group: Vec<String>,
    pub order: Vec<(OrderBy, Direction)>,
    pub limit: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableRef {
    pub schema: Option<String>,
    pub name: String,
}

impl TableRef {
    pub(super) fn of(table: &TableInfo) -> Self {
        Self { schema: table.schema.clone(), name: table.name.clone() }
    }

    pub fn full_name(&self) -> String {
        match &self.schema {
            Some(schema) => format!("{schema}.{}", self.name),
            None => self.name.clone(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    Column(String),
    /// `of` is `None` only where rows are counted.
    Aggregate {
        f: Aggregate,
        of: Option<String>,
        alias: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aggregate {
    Count,
    Sum,
    Avg,
    Min,
    Max,
}

impl Aggregate {
    pub fn name(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Sum => "sum",
            Self::Avg => "avg",
            Self::Min => "min",
            Self::Max => "max",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Test {
    Compare(String, Op, Literal),
    Between(String, Literal, Literal),
    In(String, Vec<Literal>),
    Like(String, Match, String),
    /// `true`: there is none.
    Null(String, bool),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    Equal,
    Unequal,
    Less,
    AtMost,
    More,
    AtLeast,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Match {
    Contains,
    Starts,
    Ends,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Literal {
    /// As written: read as a number once, so that it is nothing else.
    Number(String),
    Text(String),
    Boolean(bool),
    Day(Date),
    Instant(Timestamp),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OrderBy {
    /// `empty_last`: rows without a value must not come first, where an engine would put them there.
    Column {
        name: String,
        empty_last: bool,
    },
    Aggregate(Aggregate, Option<String>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    Ascending,
    Descending,
}

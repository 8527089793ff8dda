//! What a question asks, in the columns of its table, and why it may not be understood.

use super::super::lexicon::Mention;
use super::super::moments::Window;
use super::super::query::{Aggregate, Direction, Match, Op};
use super::super::words::Token;

/// What was asked, in the table's columns.
#[derive(Debug, Default)]
pub(in super::super) struct Asked {
    pub mention: Option<Mention>,
    pub amount: Option<Amount>,
    pub aggregates: Vec<(Aggregate, Option<usize>)>,
    pub group: Vec<usize>,
    pub order: Option<Order>,
    pub conditions: Vec<Condition>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Amount {
    pub rank: Rank,
    pub count: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Rank {
    /// `top`, `last`: the greatest or newest.
    Last,
    /// `first`, `oldest`.
    First,
    /// A number and nothing else.
    Any,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Key {
    Column(usize),
    /// `date`: the column that says when a row came to be.
    Date,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Order {
    /// `None`: the value that was computed.
    pub key: Option<Key>,
    pub direction: Option<Direction>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) enum Condition {
    Compare(Key, Op, Token),
    Between(Key, Token, Token),
    In(Key, Vec<Token>),
    Like(Key, Match, Token),
    Null(Key, bool),
    Is(usize, bool),
    Window(Window),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Fault {
    pub at: usize,
    pub what: What,
    /// The word stands right behind a value without quotes, of which it may be the rest.
    pub after_bare_value: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) enum What {
    Unknown,
    NoColumn,
    Or,
    Said(String),
}

impl Asked {
    /// The words that named the table.
    pub(in super::super) fn called(&self, tokens: &[Token]) -> String {
        let Some(mention) = self.mention else {
            return String::new();
        };
        let words = tokens.iter().skip(mention.at).take(mention.long);
        words.map(|token| token.text.as_str()).collect::<Vec<_>>().join(" ")
    }
}

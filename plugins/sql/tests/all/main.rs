//! The guard with the lists that ship: what passes, what does not, and why.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::too_many_lines)]

mod corpus;
mod limits;
mod postgres;
mod tables;

use gateway_sql::{Ask, Dialect, Guard, Lists, Read, WrittenList};

fn guard() -> Guard {
    let written: WrittenList = serde_saphyr::from_str(include_str!("../../../../policies/sql/postgres.yaml")).unwrap();
    Guard::new(Lists { postgres: written.into(), ..Lists::default() })
}

fn read(sql: &str) -> Read {
    guard().read(sql, &Ask::of(Dialect::Postgres))
}

/// The rule that refuses it, or `-`.
fn rule(read: &Read) -> &'static str {
    read.refused.as_ref().map_or("-", |refusal| refusal.rule.as_str())
}

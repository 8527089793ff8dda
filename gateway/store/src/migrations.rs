//! The schema, embedded: `migrations/sqlite` and `migrations/postgres` hold the same numbers and names.
//!
//! Listed by hand instead of with `sqlx::migrate!`, whose macro would build both database drivers a second time.

use sqlx::SqlSafeStr;
use sqlx::migrate::{Migration, MigrationType, Migrator};

macro_rules! embedded {
    ($($number:literal $name:literal,)*) => {
        /// Number, name, and the text for SQLite and for Postgres.
        const ALL: &[(i64, &str, &str, &str)] = &[$((
            $number,
            $name,
            include_str!(concat!("../../../migrations/sqlite/", $name, ".sql")),
            include_str!(concat!("../../../migrations/postgres/", $name, ".sql")),
        ),)*];
    };
}

embedded! {
    1 "0001_tenants",
    2 "0002_agents",
    3 "0003_ledger",
    4 "0004_platform",
    5 "0005_spent_tokens",
    6 "0006_row_security",
    7 "0007_live",
    8 "0008_policies",
    9 "0009_pins",
    10 "0010_approvals",
    11 "0011_standing",
    12 "0012_content",
    13 "0013_gate",
    15 "0015_versions",
}

pub(crate) fn sqlite() -> Migrator {
    migrator(|(number, name, sqlite, _)| (*number, *name, *sqlite))
}

pub(crate) fn postgres() -> Migrator {
    migrator(|(number, name, _, postgres)| (*number, *name, *postgres))
}

type Entry = (i64, &'static str, &'static str, &'static str);

fn migrator(text: impl Fn(&Entry) -> (i64, &'static str, &'static str)) -> Migrator {
    let migrations = ALL.iter().map(text).map(|(number, name, sql)| {
        Migration::new(number, name.into(), MigrationType::Simple, sql.into_sql_str(), false)
    });
    Migrator::with_migrations(migrations.collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::ALL;

    #[test]
    fn every_file_is_embedded_and_both_engines_have_the_same() {
        let listed: Vec<String> = ALL.iter().map(|(_, name, ..)| format!("{name}.sql")).collect();
        for engine in ["sqlite", "postgres"] {
            let folder = format!("{}/../../migrations/{engine}", env!("CARGO_MANIFEST_DIR"));
            let mut files: Vec<String> = std::fs::read_dir(folder)
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            files.sort();
            assert_eq!(files, listed, "{engine}");
        }
        for (number, name, ..) in ALL {
            assert!(name.starts_with(&format!("{number:04}_")), "{name}");
        }
    }
}

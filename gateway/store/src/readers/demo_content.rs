//! What is in the demo database: made up, and the same on every machine.

use std::path::Path;

use gateway_core::ports::StoreError;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode};
use sqlx::{ConnectOptions, Connection};

use crate::failure::unavailable;

const TABLES: &str = "
DROP TABLE IF EXISTS kpi_data;
DROP TABLE IF EXISTS kpi_metrics;
DROP TABLE IF EXISTS agent_conversations;
DROP TABLE IF EXISTS users;
CREATE TABLE users (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT NOT NULL UNIQUE, role TEXT NOT NULL, department TEXT NOT NULL,
    is_active BOOLEAN NOT NULL, created_at TIMESTAMP NOT NULL
);
CREATE TABLE agent_conversations (
    id INTEGER PRIMARY KEY, user_id INTEGER NOT NULL REFERENCES users (id), agent_name TEXT NOT NULL, topic TEXT NOT NULL,
    status TEXT NOT NULL, message_count INTEGER NOT NULL, satisfaction REAL, created_at TIMESTAMP NOT NULL,
    updated_at TIMESTAMP NOT NULL
);
CREATE TABLE kpi_metrics (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, department TEXT NOT NULL, unit TEXT NOT NULL, target REAL NOT NULL,
    created_at TIMESTAMP NOT NULL
);
CREATE TABLE kpi_data (
    id INTEGER PRIMARY KEY, metric_id INTEGER NOT NULL REFERENCES kpi_metrics (id), value REAL NOT NULL, region TEXT NOT NULL,
    recorded_at TIMESTAMP NOT NULL
);
";

const FIRST: [&str; 10] = ["Ada", "Björn", "Chidi", "Dalia", "Esra", "Farid", "Greta", "Hana", "Ivo", "Jun"];
const LAST: [&str; 6] = ["Albrecht", "Baker", "Castillo", "Dubois", "Eriksen", "Fujita"];
const DEPARTMENTS: [&str; 5] = ["Finance", "Support", "Sales", "Operations", "Engineering"];
const ROLES: [&str; 4] = ["analyst", "manager", "lead", "administrator"];
const AGENTS: [&str; 4] = ["billing-helper", "support-triage", "contract-reader", "data-analyst"];
const TOPICS: [&str; 8] = [
    "invoice dispute",
    "password reset",
    "quarterly report",
    "vendor comparison",
    "refund request",
    "contract renewal",
    "stock forecast",
    "onboarding",
];
const STATUSES: [&str; 4] = ["resolved", "resolved", "open", "escalated"];
const MEASURES: [(&str, &str, f64); 10] = [
    ("revenue", "EUR", 250_000.0),
    ("cost", "EUR", 120_000.0),
    ("tickets closed", "count", 900.0),
    ("response time", "minutes", 30.0),
    ("satisfaction", "score", 4.2),
    ("churn", "percent", 3.0),
    ("headcount", "count", 24.0),
    ("uptime", "percent", 99.9),
    ("backlog", "count", 60.0),
    ("conversion", "percent", 12.5),
];
const REGIONS: [&str; 4] = ["north", "south", "east", "west"];

/// Writes the database anew, with its folder.
pub async fn create_demo_database(path: &Path) -> Result<(), StoreError> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(|error| {
            StoreError::Invalid(format!("the folder `{}` cannot be made: {error}", folder.display()))
        })?;
    }
    let options =
        SqliteConnectOptions::new().filename(path).create_if_missing(true).journal_mode(SqliteJournalMode::Delete);
    let mut connection = options.connect().await.map_err(|error| {
        StoreError::Invalid(format!("the demo database `{}` cannot be made: {error}", path.display()))
    })?;
    fill(&mut connection).await.map_err(unavailable)?;
    connection.close().await.map_err(unavailable)
}

async fn fill(connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
    sqlx::raw_sql(TABLES).execute(&mut *connection).await?;
    let mut dice = Dice(2026);
    let mut transaction = connection.begin().await?;
    for id in 1..=60_usize {
        let (first, last) = (pick(&FIRST, id - 1), pick(&LAST, (id - 1) / FIRST.len()));
        sqlx::query("INSERT INTO users VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")
            .bind(id as i64)
            .bind(format!("{first} {last}"))
            .bind(format!("{}.{}{id}@example.com", first.to_lowercase().replace('ö', "oe"), last.to_lowercase()))
            .bind(dice.of(&ROLES))
            .bind(dice.of(&DEPARTMENTS))
            .bind(dice.below(10) > 0)
            .bind(moment(2025, &mut dice))
            .execute(&mut *transaction)
            .await?;
    }
    for id in 1..=150_i64 {
        let began = moment(2026, &mut dice);
        let rated = dice.below(4) > 0;
        sqlx::query("INSERT INTO agent_conversations VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")
            .bind(id)
            .bind(1 + dice.below(60))
            .bind(dice.of(&AGENTS))
            .bind(dice.of(&TOPICS))
            .bind(dice.of(&STATUSES))
            .bind(2 + dice.below(40))
            .bind(rated.then(|| (10 + dice.below(41)) as f64 / 10.0))
            .bind(&began)
            .bind(&began)
            .execute(&mut *transaction)
            .await?;
    }
    for id in 1..=50_usize {
        let (measure, unit, target) =
            MEASURES.get((id - 1) % MEASURES.len()).copied().unwrap_or(("revenue", "EUR", 1.0));
        let department = pick(&DEPARTMENTS, (id - 1) / MEASURES.len());
        sqlx::query("INSERT INTO kpi_metrics VALUES (?1, ?2, ?3, ?4, ?5, ?6)")
            .bind(id as i64)
            .bind(format!("{department} {measure}"))
            .bind(department)
            .bind(unit)
            .bind(target)
            .bind("2025-01-01T00:00:00Z")
            .execute(&mut *transaction)
            .await?;
    }
    for id in 1..=200_i64 {
        let metric = (id - 1) % 50;
        let target =
            MEASURES.get(usize::try_from(metric).unwrap_or(0) % MEASURES.len()).map_or(1.0, |measure| measure.2);
        let value = (target * (80 + dice.below(41)) as f64).round() / 100.0;
        sqlx::query("INSERT INTO kpi_data VALUES (?1, ?2, ?3, ?4, ?5)")
            .bind(id)
            .bind(metric + 1)
            .bind(value)
            .bind(dice.of(&REGIONS))
            .bind(format!("2026-{:02}-01T00:00:00Z", 1 + (id - 1) / 50))
            .execute(&mut *transaction)
            .await?;
    }
    transaction.commit().await
}

fn pick<'a>(from: &[&'a str], place: usize) -> &'a str {
    from.get(place % from.len().max(1)).copied().unwrap_or_default()
}

fn moment(year: u32, dice: &mut Dice) -> String {
    let (month, day, hour, minute) = (1 + dice.below(9), 1 + dice.below(28), 7 + dice.below(12), dice.below(60));
    format!("{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:00Z")
}

/// The same throws every time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: u64) -> i64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        i64::try_from((self.0 >> 33) % sides.max(1)).unwrap_or(0)
    }

    fn of<'a>(&mut self, from: &[&'a str]) -> &'a str {
        let place = self.below(from.len() as u64);
        pick(from, usize::try_from(place).unwrap_or(0))
    }
}

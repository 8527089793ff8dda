//! The gateway's database, seen from outside: as an auditor or an attacker with SQL would.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::environment;

/// Which database a story runs on. Stories about storage run on both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Sqlite,
    Postgres,
}

pub enum Database {
    Sqlite(PathBuf),
    Postgres(String),
}

impl Database {
    pub fn create(kind: Kind, directory: &Path) -> Self {
        match kind {
            Kind::Sqlite => Self::Sqlite(directory.join("portreeve.db")),
            Kind::Postgres => {
                // Process ids come around again within one run, so they name nothing.
                let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a clock");
                let name = format!("story_{}_{}", now.as_nanos(), std::process::id());
                let admin = environment::postgres();
                psql(&admin, &format!("CREATE DATABASE {name}"));
                let (server, _) = admin.rsplit_once('/').expect("a database in PORTREEVE_TEST_POSTGRES");
                Self::Postgres(format!("{server}/{name}"))
            }
        }
    }

    pub fn url(&self) -> String {
        match self {
            Self::Sqlite(path) => format!("sqlite://{}", path.display()),
            Self::Postgres(url) => url.clone(),
        }
    }

    /// Rows as lines, columns separated by `|`, as both command-line tools print them.
    pub fn sql(&self, query: &str) -> String {
        match self {
            Self::Sqlite(path) => sqlite(path, query),
            Self::Postgres(url) => psql(url, query),
        }
    }

    /// Postgres only: what a role that is not the gateway's own may see and do.
    pub fn sql_as(&self, role: &str, query: &str) -> Result<String, String> {
        let Self::Postgres(url) = self else { panic!("only Postgres has roles") };
        let role = format!("SET ROLE {role}");
        let arguments = ["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-c", &role, "-c", query, "-d", url];
        let output = Command::new("psql").args(arguments).output().expect("psql");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
    }

    pub fn count(&self, query: &str) -> i64 {
        let text = self.sql(query);
        text.parse().unwrap_or_else(|_| panic!("{query} gave `{text}`"))
    }
}

fn psql(url: &str, query: &str) -> String {
    let arguments = ["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-c", query, "-d", url];
    run(Command::new("psql").args(arguments), query)
}

/// Python's own SQLite: Debian's command-line tool is not asked for.
fn sqlite(path: &Path, query: &str) -> String {
    let script = "import sqlite3,sys\n\
        c=sqlite3.connect(sys.argv[1],timeout=30)\n\
        c.execute('PRAGMA foreign_keys=ON')\n\
        for r in c.execute(sys.argv[2]).fetchall(): print('|'.join('' if v is None else str(v) for v in r))\n\
        c.commit()";
    run(Command::new("python3").arg("-c").arg(script).arg(path).arg(query), query)
}

fn run(command: &mut Command, query: &str) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{query}: {said}");
    String::from_utf8(output.stdout).expect("text").trim_end().to_owned()
}

//! Somebody's database beside the gateway's own, and the three ways to it.

use std::collections::BTreeSet;

use portreeve_tests::process::Process;
use portreeve_tests::store::Database;
use portreeve_tests::{Kind, World, WorldBuilder, environment, servers};
use serde_json::{Value, json};
use tempfile::TempDir;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backend {
    Sqlite,
    Postgres,
    Rest,
}

impl Backend {
    pub const ALL: [Self; 3] = [Self::Sqlite, Self::Postgres, Self::Rest];

    /// Where the gateway keeps its own things meanwhile.
    pub fn store(self) -> Kind {
        if self == Self::Postgres { Kind::Postgres } else { Kind::Sqlite }
    }
}

/// What nobody may do, written in every way.
pub const WRITES: [&str; 21] = [
    "drop table pots",
    "DROP TABLE IF EXISTS pots",
    "truncate pots",
    "TRUNCATE TABLE pots",
    "alter table pots add column x integer",
    "delete from pots",
    "DeLeTe FROM pots WHERE id = 1",
    "update pots set name = 'x'",
    "/* select */ update pots set name = 'x'",
    "-- select\ndelete from pots",
    "with gone as (delete from pots returning id) select id from gone",
    "select 1; drop table pots",
    "select id from pots; delete from pots where id = 1",
    "insert into pots (id, name) values (9, 'x')",
    "with one as (select 1 as id) insert into pots (id, name) select id + 8, 'x' from one",
    "create table x (y integer)",
    "copy pots to '/tmp/pots'",
    "select * into other from pots",
    "select id from pots for update",
    "vacuum",
    "grant all on pots to public",
];

pub struct Business {
    backend: Backend,
    pub database: Database,
    rest: Option<(Process, u16)>,
    _folder: TempDir,
}

impl Business {
    pub fn open(backend: Backend) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let kind = if backend == Backend::Sqlite { Kind::Sqlite } else { Kind::Postgres };
        let database = Database::create(kind, folder.path());
        let time = if backend == Backend::Sqlite { "TIMESTAMP" } else { "timestamptz" };
        for sql in [
            format!("CREATE TABLE pots (id INTEGER PRIMARY KEY, name TEXT NOT NULL, updated_at {time})"),
            "INSERT INTO pots (id, name) VALUES (1, 'tea'), (2, 'coffee'), (3, 'melting'), (4, 'flower'), (5, 'jack')"
                .into(),
            "CREATE TABLE secrets (id INTEGER PRIMARY KEY, word TEXT NOT NULL)".into(),
            "INSERT INTO secrets VALUES (1, 'abracadabra')".into(),
            format!(
                "CREATE TABLE agent_conversations (id INTEGER PRIMARY KEY, topic TEXT NOT NULL, message_count INTEGER NOT NULL, \
                 created_at {time} NOT NULL)"
            ),
        ] {
            database.sql(&sql);
        }
        let rows: Vec<String> =
            (1..=12).map(|day| format!("({day}, 'topic {day}', {day}, '2026-03-{day:02}T10:00:00Z')")).collect();
        database.sql(&format!("INSERT INTO agent_conversations VALUES {}", rows.join(", ")));
        let rest = (backend == Backend::Rest).then(|| {
            let shipped = environment::root().join("config/supabase/exec_sql.sql");
            database.sql(&std::fs::read_to_string(shipped).unwrap());
            servers::supabase_rest(folder.path(), &database.url())
        });
        Self { backend, database, rest, _folder: folder }
    }

    fn url(&self) -> String {
        match &self.rest {
            Some((_, port)) => format!("http://127.0.0.1:{port}"),
            None => self.database.url(),
        }
    }

    /// A gateway that finds it by its environment.
    pub fn world(&self, store: Kind) -> WorldBuilder {
        let world = World::on(store).variable("SUPABASE_URL", &self.url());
        if self.rest.is_some() { world.variable("SUPABASE_KEY", servers::SUPABASE_KEY) } else { world }
    }

    /// The section `built_in` with more said of it.
    pub fn section(&self, more: Value) -> Value {
        let mut supabase = more;
        supabase["url"] = json!(self.url());
        json!({ "supabase": supabase })
    }

    /// It is gone, and whoever reads it has to notice.
    pub fn take_away(&mut self) {
        match (&self.database, self.backend) {
            (Database::Sqlite(path), _) => std::fs::remove_file(path).unwrap(),
            (_, Backend::Rest) => self.rest = None,
            (Database::Postgres(url), _) => {
                let (server, name) = url.rsplit_once('/').unwrap();
                let admin = Database::Postgres(environment::postgres());
                assert!(server.len() < url.len());
                admin.sql(&format!("DROP DATABASE {name} WITH (FORCE)"));
            }
        }
    }
}

/// Connections that a process has opened to somebody else: none of its listeners' own, as `LOCAL -> REMOTE` in the kernel's words.
pub fn outbound(pid: u32, own_ports: &[u16]) -> Vec<String> {
    let sockets: BTreeSet<String> = std::fs::read_dir(format!("/proc/{pid}/fd"))
        .into_iter()
        .flatten()
        .filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok())
        .filter_map(|target| Some(target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned()))
        .collect();
    let mut found = Vec::new();
    for table in ["tcp", "tcp6"] {
        let text = std::fs::read_to_string(format!("/proc/{pid}/net/{table}")).unwrap_or_default();
        for line in text.lines().skip(1) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let (local, remote, inode) = (fields[1], fields[2], fields[9]);
            let port = u16::from_str_radix(local.rsplit(':').next().unwrap(), 16).unwrap();
            if sockets.contains(inode) && !own_ports.contains(&port) {
                found.push(format!("{local} -> {remote}"));
            }
        }
    }
    found
}

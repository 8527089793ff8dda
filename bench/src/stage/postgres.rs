//! A private Postgres cluster in its own temporary directory, with the server's default settings: what is durable stays durable.
//!
//! Postgres refuses to run as root, so root becomes the `postgres` user of the Debian package for it.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;

use crate::error::{Context, Result};
use crate::handshake::wait_until;
use crate::stage::child::{Child, output};

pub struct Server {
    pub child: Child,
    pub url: String,
    pub version: String,
}

#[derive(Clone, Copy)]
struct User {
    uid: u32,
    gid: u32,
}

pub fn start(port: u16) -> Result<Server> {
    let programs = find().context(|| {
        "Postgres is not installed (no `pg_config`, nothing in /usr/lib/postgresql); leave it out with --only".into()
    })?;
    let user = if rustix::process::geteuid().is_root() { Some(postgres_user()?) } else { None };
    let dir =
        tempfile::Builder::new().prefix("portreeve-compare-pg-").tempdir().context(|| "temporary directory".into())?;
    if let Some(user) = user {
        std::os::unix::fs::chown(dir.path(), Some(user.uid), Some(user.gid))
            .context(|| "give Postgres its directory".into())?;
    }
    let run = |name: &str| {
        let mut command = Command::new(programs.join(name));
        command.current_dir(dir.path());
        if let Some(user) = user {
            command.uid(user.uid).gid(user.gid);
        }
        command
    };
    let data = dir.path().join("data");
    let mut init = run("initdb");
    init.arg("-D").arg(&data).args(["-U", "bench", "--auth=trust", "--encoding=UTF8", "--locale=C"]);
    output(init)?;

    let mut command = run("postgres");
    command
        .arg("-D")
        .arg(&data)
        .args(["-p", &port.to_string(), "-c", "listen_addresses=127.0.0.1", "-k"])
        .arg(dir.path());
    let mut child = Child::start("postgres", command, dir.path())?;
    let psql = |sql: &str| {
        let mut command = run("psql");
        command.args(["-h", "127.0.0.1", "-p", &port.to_string(), "-U", "bench", "-d", "postgres", "-qAt", "-c", sql]);
        output(command)
    };
    wait_until("Postgres", Duration::from_secs(30), || child.alive(), || psql("select 1").is_ok())?;
    // An owner who is no superuser: row-level security binds it, as it does in production.
    psql("create role portreeve login password 'bench'")?;
    psql("create database portreeve owner portreeve")?;
    let version = format!("Postgres {}", psql("show server_version")?.trim());
    let child = child.with(Signal::INT, dir);
    Ok(Server { child, url: format!("postgres://portreeve:bench@127.0.0.1:{port}/portreeve"), version })
}

fn find() -> Option<PathBuf> {
    let mut asked = Command::new("pg_config");
    asked.arg("--bindir");
    let told = output(asked).ok().map(|text| PathBuf::from(text.trim()));
    let mut places: Vec<PathBuf> = told.into_iter().collect();
    let mut installed: Vec<PathBuf> = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path().join("bin"))
        .collect();
    installed.sort();
    places.extend(installed.into_iter().rev());
    places.into_iter().find(|place| has(place, "initdb") && has(place, "postgres") && has(place, "psql"))
}

fn has(place: &Path, name: &str) -> bool {
    place.join(name).is_file()
}

fn postgres_user() -> Result<User> {
    let passwd = fs::read_to_string("/etc/passwd").context(|| "read the users of this machine".into())?;
    parse_user(&passwd, "postgres")
        .context(|| "we are root, Postgres may not be, and there is no user `postgres`".into())
}

fn parse_user(passwd: &str, name: &str) -> Option<User> {
    let line = passwd.lines().find(|line| line.split(':').next() == Some(name))?;
    let mut fields = line.split(':').skip(2);
    Some(User { uid: fields.next()?.parse().ok()?, gid: fields.next()?.parse().ok()? })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn finds_the_user_by_its_whole_name() {
        let passwd = "root:x:0:0::/root:/bin/sh\npostgresql:x:1:1::/:/bin/sh\npostgres:x:101:104::/:/bin/sh\n";
        let user = parse_user(passwd, "postgres").unwrap();
        assert_eq!((user.uid, user.gid), (101, 104));
        assert!(parse_user(passwd, "nobody").is_none());
    }
}

//! nginx as the plain proxy to compare with: it forwards bytes, reads nothing, records nothing.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::error::{Context, Result};
use crate::handshake::{accepts, wait_until};
use crate::stage::child::Child;
use crate::stage::write;

/// As many as the cores of the machine these figures are made on; Portreeve uses one thread per core too.
pub const WORKERS: usize = 2;

pub fn start(dir: &Path, port: u16, upstream: u16) -> Result<(Child, String)> {
    let binary = find()
        .context(|| "nginx is not installed (Debian: the package `nginx-light`); leave it out with --only".into())?;
    let dir = dir.join("nginx");
    let config = dir.join("nginx.conf");
    write(&config, &configuration(port, upstream, rustix::process::geteuid().is_root()))?;
    let mut command = Command::new(&binary);
    command.arg("-p").arg(&dir).arg("-c").arg(&config).args(["-e", "stderr", "-g", "daemon off;"]);
    let mut child = Child::start("nginx", command, &dir)?;
    wait_until("nginx", Duration::from_secs(10), || child.alive(), || accepts(port))?;
    Ok((child, version(&binary)))
}

fn find() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places: Vec<PathBuf> = std::env::split_paths(&path).collect();
    places.push("/usr/sbin".into());
    places.into_iter().map(|place| place.join("nginx")).find(|file| file.is_file())
}

fn version(binary: &Path) -> String {
    let said = Command::new(binary).arg("-v").output().map(|output| output.stderr).unwrap_or_default();
    String::from_utf8_lossy(&said).trim().trim_start_matches("nginx version: ").to_owned()
}

/// Buffers are large enough for the longest answer, so nginx is never made to write a temporary file.
fn configuration(port: u16, upstream: u16, root: bool) -> String {
    // Workers of a root master would become `nobody` and could not enter the temporary directory.
    let user = if root { "user root;" } else { "" };
    format!(
        "{user}
worker_processes {WORKERS};
pid nginx.pid;
error_log stderr warn;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    keepalive_requests 100000000;
    keepalive_timeout 300s;
    tcp_nodelay on;
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    upstream bench {{
        server 127.0.0.1:{upstream};
        keepalive 128;
        keepalive_requests 100000000;
    }}
    server {{
        listen 127.0.0.1:{port};
        proxy_http_version 1.1;
        proxy_set_header Connection \"\";
        proxy_buffer_size 16k;
        proxy_buffers 8 16k;
        proxy_busy_buffers_size 64k;
        proxy_max_temp_file_size 0;
        location = /mcp {{ proxy_pass http://bench/mcp; }}
        location = /stream/mcp {{ proxy_pass http://bench/mcp; proxy_buffering off; }}
    }}
}}
"
    )
}

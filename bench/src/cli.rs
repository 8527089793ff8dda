//! The command line of `compare`, and what follows from it.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};

use crate::content::{EVENT_TEXT, LONGEST, Payload};
use crate::error::{Context, Failure, Result};
use crate::request::Era;
use crate::stage::{DIRECT, FULL, NGINX, POSTGRES, SQLITE};

pub const PAYLOADS: [&str; 6] = ["200b", "4k", "64k", "stream", "stream-4k", "stream-64k"];

/// Measures the same MCP calls direct, through nginx and through Portreeve, in interleaved rounds on this machine.
#[derive(Debug, Parser)]
#[command(name = "compare")]
pub struct Cli {
    #[command(subcommand)]
    pub hidden: Option<Hidden>,
    #[command(flatten)]
    pub options: Options,
}

#[derive(Debug, Subcommand)]
pub enum Hidden {
    /// The tool server, started by `compare` itself.
    #[command(hide = true)]
    Upstream {
        #[arg(long)]
        port: u16,
        #[arg(long, default_value = "legacy")]
        era: Era,
    },
}

#[derive(Debug, Args)]
pub struct Options {
    /// How often everything is measured; medians are over rounds [default: 5, with --quick 2]
    #[arg(long)]
    pub rounds: Option<u32>,
    /// Seconds of load per target, payload and round [default: 2, with --quick 0.5]
    #[arg(long)]
    pub seconds: Option<f64>,
    /// A short run to see that everything works; its figures are rough
    #[arg(long)]
    pub quick: bool,
    /// Connections of the closed loop and of the fixed rate
    #[arg(long, default_value_t = 64)]
    pub connections: usize,
    /// Events per write of the upstream in streams; 1 is what tools that report progress do
    #[arg(long, default_value_t = 1)]
    pub burst: u32,
    /// Protocol era of the calls and of the upstream
    #[arg(long, value_enum, default_value = "legacy")]
    pub era: Era,
    /// A proxy you started yourself: `name=url,pid[,header: value]...`; give the upstream a port with --upstream-port
    #[arg(long)]
    pub peer: Vec<Peer>,
    /// Port of the upstream, for peers that must know it [default: a free one]
    #[arg(long)]
    pub upstream_port: Option<u16>,
    /// The gateway's binary [default: `portreeve` beside this one]
    #[arg(long)]
    pub portreeve: Option<PathBuf>,
    /// Leave Portreeve out; the report says NOT MEASURED
    #[arg(long)]
    pub without_portreeve: bool,
    /// Policies in force besides the manifests of the bench tools [default: the repository's own]
    #[arg(long)]
    pub policies: Option<PathBuf>,
    /// Targets (direct, nginx, portreeve-sqlite, portreeve-postgres, portreeve-full, peers by name) and payloads (200b, 4k, 64k, stream, stream-4k, stream-64k) to measure
    #[arg(long, value_delimiter = ',')]
    pub only: Vec<String>,
    /// Write every sample to this file as JSON
    #[arg(long)]
    pub json: Option<PathBuf>,
}

impl Options {
    pub fn check(&self) -> Result<()> {
        for name in &self.only {
            let known = PAYLOADS.contains(&name.as_str())
                || [DIRECT, NGINX, SQLITE, POSTGRES, FULL].contains(&name.as_str())
                || self.peer.iter().any(|peer| peer.name == *name);
            if !known {
                return Err(Failure::new(format!("--only `{name}`: neither a target nor a payload")));
            }
        }
        if self.rounds() == 0 || self.connections == 0 || !(0.1..=600.0).contains(&self.seconds()) {
            return Err(Failure::new("--rounds and --connections must not be 0, --seconds is from 0.1 to 600"));
        }
        Ok(())
    }

    /// Without them the built-in ones would be in force, and passing on would be measured with every detector at work.
    pub fn policies(&self) -> PathBuf {
        let own = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../policies");
        self.policies.clone().unwrap_or_else(own)
    }

    pub fn rounds(&self) -> u32 {
        self.rounds.unwrap_or(if self.quick { 2 } else { 5 })
    }

    fn seconds(&self) -> f64 {
        self.seconds.unwrap_or(if self.quick { 0.5 } else { 2.0 })
    }

    pub fn time(&self) -> Duration {
        Duration::from_secs_f64(self.seconds())
    }

    /// Naming only payloads means all targets, and the other way round.
    pub fn wants(&self, target: &str) -> bool {
        let names_targets = self.only.iter().any(|name| !PAYLOADS.contains(&name.as_str()));
        !names_targets || self.only.iter().any(|name| name == target)
    }

    pub fn payloads(&self) -> Vec<Payload> {
        let names_payloads = self.only.iter().any(|name| PAYLOADS.contains(&name.as_str()));
        [
            Payload::Json(200),
            Payload::Json(4096),
            Payload::Json(65536),
            Payload::Stream { events: 500, size: EVENT_TEXT, burst: self.burst },
            Payload::Stream { events: 100, size: 4096, burst: self.burst },
            Payload::Stream { events: 20, size: LONGEST, burst: self.burst },
        ]
        .into_iter()
        .filter(|payload| !names_payloads || self.only.contains(&payload.label()))
        .collect()
    }
}

#[derive(Clone, Debug)]
pub struct Peer {
    pub name: String,
    pub url: String,
    pub pid: u32,
    pub headers: Vec<(String, String)>,
}

impl FromStr for Peer {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Self> {
        let form = || format!("`{text}` is not of the form name=url,pid[,header: value]...");
        let (name, rest) = text.split_once('=').context(form)?;
        let mut parts = rest.split(',');
        let (url, pid) = (parts.next().context(form)?, parts.next().context(form)?);
        let headers = parts
            .map(|part| {
                part.split_once(':').map(|(name, value)| (name.trim().into(), value.trim().into())).context(form)
            })
            .collect::<Result<_>>()?;
        Ok(Self { name: name.into(), url: url.into(), pid: pid.trim().parse().context(form)?, headers })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn parse(arguments: &[&str]) -> Options {
        Cli::try_parse_from(std::iter::once(&"compare").chain(arguments)).unwrap().options
    }

    #[test]
    fn only_narrows_targets_and_payloads_apart() {
        for (only, nginx, postgres, payloads) in [
            ("200b", true, true, 1),
            ("nginx", true, false, 6),
            ("nginx,4k,stream", true, false, 2),
            ("direct,portreeve-postgres", false, true, 6),
        ] {
            let options = parse(&["--only", only]);
            options.check().unwrap();
            assert_eq!(
                (options.wants(NGINX), options.wants(POSTGRES), options.payloads().len()),
                (nginx, postgres, payloads),
                "{only}"
            );
        }
        assert!(parse(&["--only", "ngin"]).check().is_err());
    }

    #[test]
    fn a_peer_names_its_url_its_process_and_its_headers() {
        let peer: Peer = "other=http://127.0.0.1:3000/mcp?a=b,42,authorization: Bearer x".parse().unwrap();
        assert_eq!((peer.name.as_str(), peer.url.as_str(), peer.pid), ("other", "http://127.0.0.1:3000/mcp?a=b", 42));
        assert_eq!(peer.headers, [("authorization".to_owned(), "Bearer x".to_owned())]);
        for wrong in ["other", "other=url", "other=url,x", "other=url,1,nocolon"] {
            assert!(wrong.parse::<Peer>().is_err(), "{wrong}");
        }
    }
}

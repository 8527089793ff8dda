//! The command line: every verb, its arguments, and how it ends.
//!
//! Exit 0: done. 1: the answer is no, or something failed. 2: wrong usage. Answers go to standard output, everything else
//! to standard error; with `--json` the answer is one JSON document.

mod agent;
mod approval;
mod audit;
mod batch;
mod check;
mod dlp;
mod doctor;
mod explain;
mod failure;
mod gate;
mod guard;
mod key;
mod kill;
mod logging;
mod manifest;
mod output;
mod pins;
mod policy;
mod promote;
mod prove;
mod replay;
mod runpack;
mod stdio;
mod suggest;
mod tenant;
mod tool_agent;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use gateway_core::ports::Tenant;
use gateway_store::Store;

use crate::config::Config;
use crate::serve::Life;
pub use failure::Failure;
use output::Output;

/// The gate between AI agents and their tools.
#[derive(Debug, Parser)]
#[command(name = "portreeve", version, about, propagate_version = true, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Everything at once, without configuration: tools, agents, keys, and a client snippet to try them with
    Demo(DemoArgs),
    /// The gateway
    Serve(ServeArgs),
    /// Loads everything that `serve` would load and says what is wrong with it
    Check(check::CheckArgs),
    /// Looks at everything the gateway stands on, asks every upstream, and says what to do
    Doctor(doctor::DoctorArgs),
    /// Tenants: who the gateway works for
    #[command(subcommand)]
    Tenant(tenant::TenantVerb),
    /// Agents: who calls tools
    #[command(subcommand)]
    Agent(agent::AgentVerb),
    /// The keys that agents show
    #[command(subcommand)]
    Key(key::KeyVerb),
    /// What tools may do: which were seen, and which are classified
    #[command(subcommand)]
    Manifest(manifest::ManifestVerb),
    /// The guards alone, over lines of JSON on standard input
    #[command(subcommand)]
    Guard(guard::GuardVerb),
    /// Policies: what agents must keep to, and who may use what
    #[command(subcommand)]
    Policy(policy::PolicyVerb),
    /// What a tenant looks for in content beyond what everybody does, and does about it
    #[command(subcommand)]
    Dlp(dlp::DlpVerb),
    /// Shows that the policies in force keep their promises, or the shortest way in which they do not
    Prove(prove::ProveArgs),
    /// Why a call was decided as it was, or what another one would come to
    Explain(explain::ExplainArgs),
    /// What other policies would have said of the calls that were made
    Replay(replay::ReplayArgs),
    /// Approvals: what waits for a human, and the answer
    #[command(subcommand)]
    Approval(approval::ApprovalVerb),
    /// Scenarios whose stages open on evidence, and their runs
    #[command(subcommand)]
    Gate(gate::GateVerb),
    /// Exported runs
    #[command(subcommand)]
    Runpack(runpack::RunpackVerb),
    /// The chain of what was decided
    #[command(subcommand)]
    Audit(audit::AuditVerb),
    /// Tool agents: what runs by configuration, and what it made
    #[command(subcommand)]
    ToolAgent(tool_agent::ToolAgentVerb),
    /// Stops an agent, a tool, an upstream or a tenant on every node, at once
    Kill(kill::KillArgs),
    /// Lets what was stopped go on
    Restore(kill::RestoreArgs),
    /// A stdio MCP server in front of a running gateway, for clients that speak only stdio
    Stdio(stdio::StdioArgs),
}

#[derive(Debug, Clone, Args)]
pub struct DemoArgs {
    /// Keep the demo's data here; without it, a temporary directory that is removed at the end
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Walk through the demo's story once, then end
    #[arg(long)]
    pub tour: bool,
    /// Where MCP clients connect
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8080")]
    pub mcp: SocketAddr,
    /// Where people connect
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8081")]
    pub console: SocketAddr,
}

#[derive(Debug, Args)]
struct ServeArgs {
    #[command(flatten)]
    place: Place,
    /// Take the listening sockets over from the running gateway, so that no connection is refused in between
    #[arg(long)]
    upgrade: bool,
}

/// Which gateway is meant.
#[derive(Debug, Args)]
struct Place {
    /// The configuration; without it ./portreeve.yaml, and without that the built-in default
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl Place {
    fn config(&self) -> Result<Config, Failure> {
        Ok(Config::load(self.config.as_deref())?)
    }

    async fn store(&self) -> Result<Store, Failure> {
        Ok(Store::open(self.config()?.store.reveal()).await?)
    }
}

/// Which gateway is meant, and in which form it answers.
#[derive(Debug, Args)]
struct Common {
    #[command(flatten)]
    place: Place,
    /// Answer with one JSON document
    #[arg(long)]
    json: bool,
}

impl Common {
    fn output(&self) -> Output {
        Output::new(self.json)
    }

    async fn store(&self) -> Result<Store, Failure> {
        self.place.store().await
    }
}

/// The tenant a flag names, by name or id.
async fn tenant_named(store: &Store, name: &str) -> Result<Tenant, Failure> {
    let found = store.tenants().tenant(name).await;
    found.map_err(|error| Failure::from(error).with_hint("`portreeve tenant list` names them all"))
}

pub fn run() -> ExitCode {
    match dispatch(Cli::parse().verb) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.print();
            ExitCode::FAILURE
        }
    }
}

fn dispatch(verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::Demo(args) => {
            logging::start("info", false);
            crate::demo::run(&args)
        }
        Verb::Serve(args) => serve(&args),
        Verb::Check(args) => check::run(&args),
        Verb::Doctor(args) => wait_for(doctor::run(&args)),
        Verb::Tenant(verb) => wait_for(tenant::run(verb)),
        Verb::Agent(verb) => wait_for(agent::run(verb)),
        Verb::Key(verb) => wait_for(key::run(verb)),
        Verb::Manifest(verb) => wait_for(manifest::run(verb)),
        Verb::Guard(verb) => guard::run(&verb),
        Verb::Policy(verb) => wait_for(policy::run(verb)),
        Verb::Dlp(verb) => wait_for(dlp::run(verb)),
        Verb::Prove(args) => wait_for(prove::run(args)),
        Verb::Explain(args) => wait_for(explain::run(args)),
        Verb::Replay(args) => wait_for(replay::run(args)),
        Verb::Approval(verb) => wait_for(approval::run(verb)),
        Verb::Gate(verb) => wait_for(gate::run(verb)),
        Verb::Runpack(verb) => runpack::run(&verb),
        Verb::Audit(verb) => wait_for(audit::run(verb)),
        Verb::ToolAgent(verb) => wait_for(tool_agent::run(verb)),
        Verb::Kill(args) => wait_for(kill::kill(args)),
        Verb::Restore(args) => wait_for(kill::restore(args)),
        Verb::Stdio(args) => wait_for(stdio::run(args)),
    }
}

fn serve(args: &ServeArgs) -> Result<(), Failure> {
    let config = args.place.config()?;
    let missing = config.missing_files();
    if !missing.is_empty() {
        return Err(missing.into());
    }
    logging::start(&config.log.level, config.log.json);
    let life = Life { upgrade: args.upgrade, ..Life::default() };
    crate::serve::run(&config, life).map_err(|error| Failure::of(&error))
}

/// For the verbs that ask the store or an upstream and are done. They only speak up when something is odd.
fn wait_for(verb: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    logging::start("warn", false);
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(verb)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    // Wrong values are named with their flag and with what would be right; wrong usage ends with 2.
    #[test]
    fn wrong_usage_says_what_is_allowed() {
        for (line, parts) in [
            ("agent add a --tenant t --autonomy A9", ["--autonomy", "A1, A2, A3, A4, A5"]),
            ("agent add a --tenant t --autonomy A1 --max-risk R9", ["--max-risk", "R1, R2, R3, R4"]),
            ("agent add a --tenant t --autonomy A1 --allowed-types D1,X", ["--allowed-types", "D1, D2, D3, D4"]),
            ("agent add a\tb --tenant t --autonomy A1", ["AGENT_ID", "without spaces"]),
            ("agent add a --autonomy A1", ["--tenant", "required"]),
            ("key add --tenant t", ["AGENT_ID", "required"]),
            ("key add --tenant t --admin", ["--name", "required"]),
            ("key add a --tenant t --scopes notes/*", ["AGENT_ID", "--scopes"]),
            ("key add --tenant t --scopes notes/* --admin --name n", ["--scopes", "--admin"]),
            ("manifest suggest a/b", ["NAMESPACE", "letters, digits"]),
            ("policy mode p loud --tenant t", ["MODE", "shadow, advisory, enforce"]),
            ("prove --mode LOUD", ["--mode", "SHADOW, ADVISORY, PARTIAL_AUTO, FULL_AUTO"]),
            ("explain --tool crm/find", ["--agent", "--tenant"]),
            ("approval list --status lost", ["--status", "pending, approved, rejected, expired, used"]),
            ("approval approve x", ["ID", "invalid"]),
            ("tool-agent run demo", ["ORG/SLUG", "demo/supabase-agent"]),
            ("kill planet x", ["KIND", "agent, tool, upstream, tenant"]),
            ("kill agent", ["SUBJECT", "required"]),
            ("gate next --run r --tenant t", ["--scenario", "--trigger-id"]),
            ("gate export r --scenario s --out d --at noon --tenant t", ["--at", "logical:N"]),
            ("demo --mcp here", ["--mcp", "invalid"]),
            ("serv", ["serv", "serve"]),
        ] {
            let error = Cli::try_parse_from(std::iter::once("portreeve").chain(line.split(' '))).unwrap_err();
            let told = error.to_string();
            assert!(parts.iter().all(|part| told.contains(part)), "{line}: {told}");
            assert_eq!(error.exit_code(), 2, "{line}");
        }
    }

    #[test]
    fn the_verbs_take_what_scripts_give_them() {
        for line in [
            "demo --data d --tour --mcp 127.0.0.1:1 --console 127.0.0.1:2",
            "serve --config f --upgrade",
            "check --config f",
            "doctor --json --config f",
            "tenant add t --json --config f",
            "tenant list --json",
            "agent add a --tenant t --autonomy A3 --name N --allowed-types D1,D2 --max-risk R2 --description d --owner-name o --owner-email e --json",
            "agent list --tenant t --json",
            "agent suspend a --tenant t",
            "key add a --tenant t --json",
            "key add --tenant t --scopes notes/*,crm/get_* --name n --role viewer --role editor --json",
            "key add --tenant t --scopes notes/*",
            "key add --tenant t --admin --name grace@example.com --json",
            "key list a --tenant t",
            "key list --tenant t --json",
            "key revoke adp_sk_1",
            "audit verify --agent a --tenant t --json",
            "manifest list --tenant t --json",
            "manifest suggest notes --config f",
            "manifest suggest notes --out policies/manifests/notes.yaml",
            "guard tools",
            "guard sql --dialect sqlite --allow-tables a,b --config f",
            "manifest diff notes/search --json",
            "manifest accept notes/search --also --hash sha256:1 --yes",
            "policy list --tenant t --json",
            "policy add f.yaml --tenant t --json",
            "policy mode POL-1 enforce --tenant t --yes --json",
            "policy remove POL-1 --tenant t",
            "policy check policies --json",
            "dlp list --tenant t --json",
            "dlp add f.yaml --tenant t --json --config f",
            "dlp remove codes --tenant t",
            "agent role a --tenant t viewer clerk",
            "agent role a --tenant t --none",
            "agent add a --tenant t --autonomy A3 --role viewer --role clerk",
            "prove --mode SHADOW --tenant t --json",
            "explain trc_1 --json",
            "explain --agent a --tenant t --tool crm/find --arguments {} --autonomy A3 --role r",
            "explain --batch",
            "replay --policies d --since 2026-11-16T00:00:00Z --tenant t --rules none --fail-on-flips --json",
            "replay --live",
            "agent history a --tenant t --json",
            "agent promote a --tenant t --to A3 --json",
            "approval list --status pending --tenant t --json",
            "approval approve 01980000-0000-7000-8000-000000000001 --by grace --note n --json",
            "approval reject 01980000-0000-7000-8000-000000000001 --config f",
            "tool-agent apply f.json --as a --config f --json",
            "tool-agent run demo/s --payload f --metadata f --conversation c --deliverable 01980000-0000-7000-8000-000000000001 --key k --json",
            "tool-agent list --tenant t --json",
            "tool-agent show demo/s --json",
            "tool-agent task demo/s 01980000-0000-7000-8000-000000000001 --json",
            "tool-agent deliverable 01980000-0000-7000-8000-000000000001 --tenant t --version 2 --json",
            "kill agent a --tenant t --reason r --json",
            "kill --list --json --config f",
            "restore tool crm/write --json",
            "gate define f.json --tenant t --json",
            "gate start - --tenant t",
            "gate status run-1 --scenario s --tenant t --json",
            "gate next f.json --tenant t",
            "gate next --run r --scenario s --trigger-id t-1 --agent a --time logical:2 --tenant t",
            "gate submit f.json --tenant t",
            "gate trigger f.json --tenant t",
            "gate export run-1 --scenario s --out run-1 --at 1710000000000 --verification --tenant t",
            "gate verify run-1 --manifest index.json --tenant t",
            "gate list --scenario s --tenant t --json",
            "runpack verify d --manifest index.json --json",
            "stdio --url http://127.0.0.1:8080/mcp --key k",
        ] {
            let parsed = Cli::try_parse_from(std::iter::once("portreeve").chain(line.split(' ')));
            assert!(parsed.is_ok(), "{line}: {:?}", parsed.err().map(|error| error.to_string()));
        }
    }
}

//! What the demo prints when it starts: where to go, who to be, and what to paste.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use gateway_core::Autonomy;
use serde_json::json;

use super::agent::TASKS;
use super::directory::Directory;
use super::residents::{Residents, TENANT};
use super::{Addresses, config_file};

/// What a client is told to be: may read, may write a little, must not do the rest.
const SUGGESTED: Autonomy = Autonomy::A3;

pub(super) fn written(residents: &Residents, addresses: &Addresses, directory: &Directory) -> String {
    let Addresses { mcp, console } = addresses;
    let mut sheet = String::new();
    // Writing to a string cannot fail.
    let mut line = |text: String| {
        let _ = writeln!(sheet, "{text}");
    };
    line("Portreeve demo: a gateway, three upstreams and five agents. Ctrl-C ends it.\n".into());
    line(format!(
        "  MCP      http://{mcp}/mcp (all tools), or one upstream: /database/mcp, /crm/mcp, /mail/mcp, /adp/mcp"
    ));
    line(format!("  console  http://{console}/"));
    let fate = if directory.is_temporary() { " (removed at the end; keep it with --data DIR)" } else { "" };
    line(format!("  data     {}{fate}\n", directory.path().display()));

    line(format!("Tenant `{TENANT}`. Keys are shown this once:\n"));
    for agent in &residents.agents {
        let key = agent.key.as_ref().map_or("(shown when it was made)", |key| key.reveal());
        line(format!("  {:<10}  {}  {:<12}  {key}", agent.id.as_str(), agent.autonomy, agent.mode().as_str()));
    }
    if let Some(key) = &residents.admin_key {
        line(format!("  {:<10}      {:<12}  {}", "admin", "administrator", key.reveal()));
    }
    match residents.of(SUGGESTED).and_then(|agent| Some((agent, agent.key.as_ref()?))) {
        Some((agent, key)) => {
            let (id, key) = (&agent.id, key.reveal());
            line(format!("\nFor your MCP client's mcp.json, as {id}:\n\n{}", client_file(addresses, key)));
            line(format!("\nOr by hand:\n\n{}", curl(addresses, key)));
            line(format!("\nThe tool agent `supabase-agent`, run as {id}:\n\n{}", build(addresses, key)));
        }
        None => {
            let config = config_file(directory.path());
            line("\nAnother key for an agent of an earlier run:\n".into());
            line(format!("  portreeve key add demo-a3 --tenant {TENANT} --config {}", config.display()));
        }
    }
    sheet
}

fn client_file(addresses: &Addresses, key: &str) -> String {
    let server = json!({
        "type": "http",
        "url": format!("http://{}/mcp", addresses.mcp),
        "headers": { "x-api-key": key },
    });
    format!("{:#}", json!({ "mcpServers": { "portreeve": server } }))
}

fn curl(addresses: &Addresses, key: &str) -> String {
    let call = json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": { "name": "list_tables", "arguments": {} },
    });
    format!(
        "curl -s http://{}/database/mcp -H 'x-api-key: {key}' -H 'content-type: application/json' \\\n  \
         -H 'accept: application/json, text/event-stream' -H 'mcp-protocol-version: 2025-11-25' \\\n  -d '{call}'",
        addresses.mcp
    )
}

fn build(addresses: &Addresses, key: &str) -> String {
    let question = json!({ "supabase/generate-sql": { "query": "top 10 conversations by date" } });
    let request = json!({ "mode": "build", "payload": { "toolParams": question } });
    format!(
        "curl -s http://{}{TASKS} -H 'x-api-key: {key}' \\\n  -H 'content-type: application/json' -d '{request}'",
        addresses.console
    )
}

/// A reader that went away is no reason to stop serving.
pub(super) fn print(text: &str) {
    let mut out = io::stdout().lock();
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use gateway_core::TenantId;
    use gateway_core::keys::{AGENT_KEY, ApiKey};

    use super::super::residents::Resident;
    use super::*;

    fn residents(shown: bool) -> Residents {
        let resident = |autonomy: &Autonomy| Resident {
            id: format!("demo-{}", autonomy.as_str().to_lowercase()).parse().unwrap(),
            autonomy: *autonomy,
            key: shown.then(|| ApiKey::from_random(AGENT_KEY, [*autonomy as u8; 32])),
        };
        let agents = Autonomy::ALL.iter().map(resident).collect();
        Residents { tenant: TenantId(uuid::Uuid::nil()), agents, admin_key: None }
    }

    #[test]
    fn a_first_run_shows_every_key_and_a_snippet_that_parses() {
        let addresses = Addresses { mcp: "127.0.0.1:1".parse().unwrap(), console: "127.0.0.1:2".parse().unwrap() };
        let directory = Directory::open(None).unwrap();
        let sheet = written(&residents(true), &addresses, &directory);
        for part in ["demo-a1", "demo-a5", "FULL_AUTO", "http://127.0.0.1:2/", "removed at the end", "curl -s"] {
            assert!(sheet.contains(part), "{part} is missing:\n{sheet}");
        }
        let snippet = client_file(&addresses, "adp_sk_x");
        let parsed: serde_json::Value = serde_json::from_str(&snippet).unwrap();
        assert_eq!(parsed.pointer("/mcpServers/portreeve/headers/x-api-key"), Some(&json!("adp_sk_x")));
        assert_eq!(parsed.pointer("/mcpServers/portreeve/url"), Some(&json!("http://127.0.0.1:1/mcp")));
    }

    #[test]
    fn a_later_run_has_no_keys_to_show_and_says_how_to_get_one() {
        let addresses = Addresses { mcp: "127.0.0.1:1".parse().unwrap(), console: "127.0.0.1:2".parse().unwrap() };
        let directory = Directory::open(None).unwrap();
        let sheet = written(&residents(false), &addresses, &directory);
        assert!(!sheet.contains("adp_sk_"), "{sheet}");
        assert!(sheet.contains("portreeve key add demo-a3 --tenant demo --config"), "{sheet}");
    }
}

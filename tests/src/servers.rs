//! Real servers of others, with made-up credentials and on loopback only: how each is started.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::environment::{free_port, installed, node, root};
use crate::process::Process;

/// The token that Notion's server wants from its clients; the gateway is one.
pub const NOTION_KEY: &str = "between-us";

pub fn module(path: &str) -> PathBuf {
    installed("node/node_modules").join(path)
}

fn started(command: &mut Command, log: &Path, port: u16) -> (Process, u16) {
    let mut server = Process::start(command, log);
    server.wait_for_port(port);
    (server, port)
}

/// Written in Go, whose JSON does not mind the case of a key.
pub fn slack(directory: &Path) -> (Process, u16) {
    let port = free_port();
    let mut command = Command::new(module("slack-mcp-server-linux-amd64/bin/slack-mcp-server-linux-amd64"));
    command.args(["--transport", "http", "--no-cache"]);
    command.env("SLACK_MCP_XOXP_TOKEN", "demo").env("SLACK_MCP_PORT", port.to_string());
    started(&mut command, &directory.join("slack.log"), port)
}

pub fn notion(directory: &Path) -> (Process, u16) {
    let port = free_port();
    let mut command = Command::new(node());
    command.arg(module("@notionhq/notion-mcp-server/bin/cli.mjs"));
    command.args(["--transport", "http", "--host", "127.0.0.1", "--auth-token", NOTION_KEY, "--port"]);
    command.arg(port.to_string()).env("NOTION_TOKEN", "ntn_made_up");
    started(&mut command, &directory.join("notion.log"), port)
}

/// Supabase's server and the mock of the API behind it. What the mock executed is in `executed.log`, one statement a line. Over
/// HTTP the server reads its features from each request's URL; the default ones would ask the internet.
pub fn supabase(directory: &Path) -> (Process, Process, u16) {
    let (mock, api) = management_api(directory);
    let port = free_port();
    let mut command = Command::new(node());
    command.arg(module("@supabase/mcp-server-supabase/dist/cli.js")).args(["--http", "--port"]);
    command.args([port.to_string(), "--api-url".into(), format!("http://127.0.0.1:{api}")]);
    command.args(["--secret-url-template".into(), format!("http://127.0.0.1:{api}/secret/{{ref}}/{{name}}")]);
    let (server, port) = started(&mut command, &directory.join("supabase.log"), port);
    (mock, server, port)
}

/// The mock of Supabase's own API, and of where its documentation is looked up (`/content`).
pub fn management_api(directory: &Path) -> (Process, u16) {
    let api = free_port();
    let mut command = Command::new(installed("python/mcp/bin/python"));
    command.arg(root().join("tests/servers/mock_management_api.py")).args(["--port", &api.to_string()]);
    command.arg("--log").arg(directory.join("executed.log"));
    started(&mut command, &directory.join("management.log"), api)
}

/// The archived server on stdio, as an upstream of the gateway.
pub fn archived_slack() -> Value {
    json!({
        "command": node(), "args": [module("@modelcontextprotocol/server-slack/dist/index.js")],
        "env": { "SLACK_BOT_TOKEN": "xoxb-made-up", "SLACK_TEAM_ID": "T0" },
    })
}

/// A repository with one commit, and the server for it on stdio.
pub fn git(directory: &Path) -> Value {
    let repository = directory.join("repository");
    let run = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=story", "-c", "user.email=story@example.com"]).args(arguments);
        command.current_dir(&repository).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
        assert!(command.status().expect("git").success(), "git {arguments:?}");
    };
    std::fs::create_dir(&repository).expect("a directory");
    run(&["init", "--quiet", "--initial-branch", "main"]);
    run(&["commit", "--quiet", "--allow-empty", "--message", "a teapot"]);
    json!({ "command": installed("python/mcp/bin/mcp-server-git"), "args": ["--repository", repository] })
}

/// The key of the project behind [`supabase_rest`].
pub const SUPABASE_KEY: &str = "sb_made_up";

/// The one call of Supabase's REST API that the gateway makes, over a real database which has the shipped function.
pub fn supabase_rest(directory: &Path, database: &str) -> (Process, u16) {
    let port = free_port();
    let mut command = Command::new("python3");
    command.arg(root().join("tests/servers/mock_supabase_rest.py")).args(["--port", &port.to_string()]);
    command.args(["--database", database, "--key", SUPABASE_KEY]);
    started(&mut command, &directory.join("rest.log"), port)
}

/// An endpoint for chat completions that answers what it is told to; what it was asked is in `asked.log`.
pub fn model(directory: &Path) -> (Process, u16) {
    let port = free_port();
    let mut command = Command::new("python3");
    command.arg(root().join("tests/servers/mock_model.py")).args(["--port", &port.to_string()]);
    command.arg("--log").arg(directory.join("asked.log"));
    started(&mut command, &directory.join("model.log"), port)
}

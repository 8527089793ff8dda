//! One gateway with its store and upstreams, and the people and agents around it.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::environment::{free_port, portreeve};
use crate::http::{Answer, Client};
use crate::process::Process;
use crate::store::Database;
pub use crate::store::Kind;
use crate::stub::Stub;

pub struct WorldBuilder {
    kind: Kind,
    config: Value,
    manifests: Vec<(String, Value)>,
    files: Vec<(String, String)>,
    environment: Vec<(String, String)>,
}

pub struct World {
    pub directory: TempDir,
    pub database: Database,
    pub client: Client,
    pub port: u16,
    pub console_port: u16,
    gateway: Option<Process>,
    environment: Vec<(String, String)>,
    /// The tenant `acme` and its administrator's key.
    pub admin_key: String,
}

/// Another gateway on the same store.
pub struct Node {
    pub process: Process,
    pub port: u16,
    pub console_port: u16,
}

/// One registered agent.
#[derive(Clone)]
pub struct Agent {
    pub id: String,
    pub key: String,
    pub client: Client,
    pub base: String,
    /// Speaks the stateless era.
    modern: bool,
}

impl World {
    pub fn on(kind: Kind) -> WorldBuilder {
        WorldBuilder {
            kind,
            config: json!({ "limits": { "agent_per_minute": 0 }, "upstreams": {}, "policies": "policies" }),
            manifests: Vec::new(),
            files: Vec::new(),
            environment: Vec::new(),
        }
    }

    pub fn config_path(&self) -> PathBuf {
        self.directory.path().join("portreeve.yaml")
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// Runs the command line against this world's configuration.
    pub fn cli(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(portreeve());
        command.args(arguments).arg("--config").arg(self.config_path()).envs(self.environment.iter().cloned());
        command.output().expect("the command line")
    }

    /// The same with something to read; what it says.
    pub fn cli_with_input(&self, arguments: &[&str], input: &str) -> String {
        let mut command = Command::new(portreeve());
        command.args(arguments).arg("--config").arg(self.config_path()).envs(self.environment.iter().cloned());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the command line");
        let mut stdin = child.stdin.take().expect("its input");
        std::io::Write::write_all(&mut stdin, input.as_bytes()).expect("its input");
        drop(stdin);
        let output = child.wait_with_output().expect("its output");
        String::from_utf8(output.stdout).expect("a text")
    }

    /// One JSON document from the command line.
    pub fn cli_json(&self, arguments: &[&str]) -> Value {
        let output = self.cli(&[arguments, &["--json"]].concat());
        let said = String::from_utf8_lossy(&output.stderr);
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{arguments:?}: {said}"))
    }

    /// An agent of the tenant `acme`.
    pub fn agent(&self, id: &str, autonomy: &str) -> Agent {
        // The generous risk limit leaves the matrix alone to judge; stories about the limit set their own.
        self.agent_with(id, &["--autonomy", autonomy, "--max-risk", "R4"])
    }

    pub fn agent_with(&self, id: &str, options: &[&str]) -> Agent {
        let added = self.cli_json(&[&["agent", "add", id, "--tenant", "acme"], options].concat());
        self.agent_with_key(id, added["api_key"].as_str().expect("a key"))
    }

    pub fn agent_with_key(&self, id: &str, key: &str) -> Agent {
        Agent { id: id.into(), key: key.into(), client: self.client.clone(), base: self.url(""), modern: false }
    }

    pub fn admin(&self) -> Agent {
        self.agent_with_key("administrator", &self.admin_key)
    }

    pub fn gateway(&mut self) -> &mut Process {
        self.gateway.as_mut().expect("the gateway runs")
    }

    /// Starts the gateway (again) on the same ports and store.
    pub fn start_gateway(&mut self) {
        let mut command = Command::new(portreeve());
        command.arg("serve").arg("--config").arg(self.config_path()).current_dir(self.directory.path());
        command.envs(self.environment.iter().cloned());
        let mut process = Process::start(&mut command, &self.directory.path().join("gateway.log"));
        process.wait_for_port(self.port);
        process.wait_for_port(self.console_port);
        self.gateway = Some(process);
    }

    /// A second node with the same configuration and store, on other ports and with its own spool.
    pub fn second_node(&self) -> Node {
        self.second_node_with(|_| {})
    }

    /// The same with a change of its configuration.
    pub fn second_node_with(&self, change: impl FnOnce(&mut Value)) -> Node {
        let text = std::fs::read_to_string(self.config_path()).expect("the configuration");
        let mut config: Value = serde_json::from_str(&text).expect("written as JSON");
        let (port, console) = (free_port(), free_port());
        config["listen"]["mcp"] = json!(format!("127.0.0.1:{port}"));
        config["listen"]["console"] = json!(format!("127.0.0.1:{console}"));
        config["audit"] = json!({ "spool": format!("spool-{port}") });
        change(&mut config);
        let file = self.directory.path().join(format!("node-{port}.yaml"));
        std::fs::write(&file, config.to_string()).expect("the second configuration");
        let mut command = Command::new(portreeve());
        command.arg("serve").arg("--config").arg(&file).current_dir(self.directory.path());
        command.envs(self.environment.iter().cloned());
        let mut process = Process::start(&mut command, &self.directory.path().join(format!("node-{port}.log")));
        process.wait_for_port(port);
        process.wait_for_port(console);
        Node { process, port, console_port: console }
    }

    pub fn stop_gateway(&mut self) {
        self.gateway = None;
    }

    /// `audit verify`: the exit code and the document.
    pub fn verify(&self) -> (i32, Value) {
        let output = self.cli(&["audit", "verify", "--json"]);
        let said = String::from_utf8_lossy(&output.stderr);
        let document = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("audit verify: {said}"));
        (output.status.code().unwrap_or(-1), document)
    }

    /// A request to the administration API; `key` may be empty.
    pub async fn api(&self, method: &str, path: &str, key: &str, body: Option<Value>) -> Answer {
        self.api_at(self.console_port, method, path, key, body).await
    }

    /// The same at another node's console.
    pub async fn api_at(&self, port: u16, method: &str, path: &str, key: &str, body: Option<Value>) -> Answer {
        let headers = [("content-type", "application/json"), ("x-api-key", key)];
        let headers = if key.is_empty() { &headers[..1] } else { &headers[..] };
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        self.client.send(method, &format!("http://127.0.0.1:{port}{path}"), headers, body).await
    }

    /// SQL as somebody else, in one session: what Postgres printed, or why it refused.
    pub fn psql_as(&self, role: &str, sql: &str) -> Result<String, String> {
        self.database.sql_as(role, sql)
    }

    /// Waits until the gateway has read what stands in the rows now.
    pub async fn live(&self) {
        self.live_at(self.console_port).await;
    }

    /// The same for another node.
    pub async fn live_at(&self, console_port: u16) {
        let wanted = self.database.count("SELECT revision FROM live_revisions WHERE name = 'live'");
        let mut seen = Value::Null;
        for _ in 0..400 {
            let answer = self.api_at(console_port, "GET", "/api/live", &self.admin_key, None).await;
            seen = answer.message();
            if seen["revision"].as_i64().is_some_and(|revision| revision >= wanted) {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(25)).await;
        }
        panic!("revision {wanted} was not read: {seen}");
    }

    /// Waits until a query has this answer: what nobody waits for is written within moments.
    pub async fn eventually(&self, query: &str, expected: i64) {
        for _ in 0..200 {
            if self.database.count(query) == expected {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(25)).await;
        }
        assert_eq!(self.database.count(query), expected, "{query}");
    }
}

impl WorldBuilder {
    pub fn upstream(mut self, namespace: &str, upstream: Value) -> Self {
        self.config["upstreams"][namespace] = upstream;
        self
    }

    pub fn set(mut self, key: &str, value: Value) -> Self {
        self.config[key] = value;
        self
    }

    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// `("search", "READ_ONLY")`: a tool with every mode its risk allows.
    pub fn manifests(mut self, namespace: &str, tools: &[(&str, &str)]) -> Self {
        let list: Vec<Value> = tools.iter().map(|(tool, level)| manifest(namespace, tool, level)).collect();
        self.manifests.push((namespace.into(), json!({ "manifests": list })));
        self
    }

    pub fn manifest_file(mut self, namespace: &str, file: Value) -> Self {
        self.manifests.push((namespace.into(), file));
        self
    }

    /// `rules/own.yaml` or `access/own.rego` of the policies' directory.
    pub fn policy_file(mut self, inside: &str, text: &str) -> Self {
        self.files.push((format!("policies/{inside}"), text.into()));
        self
    }

    /// Anything else beside the configuration.
    pub fn file(mut self, path: &str, text: &str) -> Self {
        self.files.push((path.into(), text.into()));
        self
    }

    /// Writes configuration and policies, creates the tenant, starts the gateway.
    pub fn start(self) -> World {
        let mut world = self.prepare();
        let added = world.cli_json(&["tenant", "add", "acme"]);
        world.admin_key = added["admin_key"].as_str().expect("an administrator's key").into();
        world.start_gateway();
        world
    }

    /// The same for a configuration whose anonymous agent must exist before the gateway starts.
    pub fn start_with_anonymous(mut self, agent: &str, autonomy: &str) -> World {
        self.config["identity"] = json!({ "anonymous": agent });
        let mut world = self.prepare();
        let added = world.cli_json(&["tenant", "add", "acme"]);
        world.admin_key = added["admin_key"].as_str().expect("an administrator's key").into();
        world.agent(agent, autonomy);
        world.start_gateway();
        world
    }

    fn prepare(mut self) -> World {
        let directory = tempfile::tempdir().expect("a directory");
        let database = Database::create(self.kind, directory.path());
        let (port, console_port) = (free_port(), free_port());
        self.config["listen"] =
            json!({ "mcp": format!("127.0.0.1:{port}"), "console": format!("127.0.0.1:{console_port}") });
        // Stories name the ports' TLS before there are ports.
        if let Some(tls) = self.config.as_object_mut().and_then(|config| config.remove("listen_tls")) {
            self.config["listen"]["tls"] = tls;
        }
        self.config["store"] = json!({ "url": database.url() });
        let manifests = directory.path().join("policies/manifests");
        std::fs::create_dir_all(&manifests).expect("the policies' directory");
        for (namespace, file) in &self.manifests {
            // JSON is YAML.
            std::fs::write(manifests.join(format!("{namespace}.yaml")), file.to_string()).expect("a manifest file");
            let tools = file["manifests"].as_array().into_iter().flatten().filter_map(|tool| tool["id"].as_str());
            let tools: Vec<_> = tools.filter_map(|id| id.split_once('/')).map(|(_, tool)| tool.to_owned()).collect();
            Stub::lists(self.config["upstreams"][namespace]["url"].as_str().unwrap_or_default(), &tools);
        }
        for (inside, text) in &self.files {
            let path = directory.path().join(inside);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("its directory");
            std::fs::write(path, text).expect("a file");
        }
        std::fs::write(directory.path().join("portreeve.yaml"), self.config.to_string()).expect("the configuration");
        World {
            directory,
            database,
            client: Client::default(),
            port,
            console_port,
            gateway: None,
            environment: self.environment,
            admin_key: String::new(),
        }
    }
}

pub fn manifest(namespace: &str, tool: &str, level: &str) -> Value {
    let (side_effects, modes): (bool, &[&str]) = match level {
        "LOW_WRITE" => (true, &["PARTIAL_AUTO", "FULL_AUTO"]),
        "HIGH_WRITE" => (true, &["FULL_AUTO"]),
        _ => (false, &["SHADOW", "ADVISORY", "PARTIAL_AUTO", "FULL_AUTO"]),
    };
    json!({ "id": format!("{namespace}/{tool}"), "domain": namespace, "risk_level": level, "side_effects": side_effects, "allowed_modes": modes })
}

impl Agent {
    /// The same agent, who now speaks the stateless era: what it sends describes itself in headers and `_meta`.
    pub fn modern(&self) -> Self {
        Self { modern: true, ..self.clone() }
    }

    /// The same agent at another node.
    pub fn at(&self, node: &Node) -> Self {
        Self { base: format!("http://127.0.0.1:{}", node.port), ..self.clone() }
    }

    /// Any message to any door.
    pub async fn post(&self, path: &str, message: &Value) -> Answer {
        if self.modern {
            return self.post_modern(path, message.clone()).await;
        }
        let headers = [("x-api-key", self.key.as_str()), ("mcp-protocol-version", "2025-11-25")];
        self.client.post(&format!("{}{path}", self.base), &headers, message).await
    }

    async fn post_modern(&self, path: &str, mut message: Value) -> Answer {
        const VERSION: &str = "2026-07-28";
        if message.get("id").is_some() && message.get("method").is_some() {
            let meta = &mut message["params"]["_meta"];
            meta["io.modelcontextprotocol/protocolVersion"] = json!(VERSION);
            // A story may declare more.
            if meta.get("io.modelcontextprotocol/clientCapabilities").is_none() {
                meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
            }
        }
        let method = message["method"].as_str().unwrap_or_default().to_owned();
        let named = ["name", "uri", "taskId"].into_iter().find_map(|key| message["params"][key].as_str());
        let name = named.map(str::to_owned);
        let mut headers = vec![("x-api-key", self.key.as_str()), ("mcp-protocol-version", VERSION)];
        headers.push(("mcp-method", &method));
        headers.extend(name.as_deref().map(|name| ("mcp-name", name)));
        self.client.post(&format!("{}{path}", self.base), &headers, &message).await
    }

    /// `crm/update`: the tool at its own door.
    pub async fn call(&self, tool: &str, arguments: Value) -> Answer {
        let (namespace, name) = tool.split_once('/').expect("namespace/tool");
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": name, "arguments": arguments } });
        self.post(&format!("/{namespace}/mcp"), &message).await
    }

    pub async fn tools(&self, path: &str) -> Vec<String> {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
        let answer = self.post(path, &message).await.message();
        let tools = answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("no tools in {answer}")).clone();
        tools.iter().filter_map(|tool| Some(tool["name"].as_str()?.to_owned())).collect()
    }
}

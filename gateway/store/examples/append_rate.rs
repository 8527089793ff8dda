//! What a record costs: appends pairs of trace and row through the writer into SQLite, and prints the CPU time of each.
//!
//!     cargo run --release -p gateway-store --example append_rate [pairs] [pairs a second] [url]

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use gateway_core::canonical::Canonical;
use gateway_core::outcome::{AuditRow, JsonText, Status};
use gateway_core::ports::{AuditBuffer, LedgerError};
use gateway_core::trace::{EventType, TraceDraft};
use gateway_core::{RiskLevel, TraceId};
use gateway_store::{AuditWriter, Store, WriterOptions, verify_chain};
use serde_json::json;
use uuid::Uuid;

/// As in the server.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let pairs: u32 = arguments.next().map_or(Ok(200_000), |text| text.parse())?;
    // As fast as it goes, or as a server under a steady load would.
    let pace: u32 = arguments.next().map_or(Ok(0), |text| text.parse())?;
    let folder = tempfile::tempdir()?;
    let url = arguments.next().unwrap_or_else(|| format!("sqlite://{}", folder.path().join("rate.db").display()));
    let store = Store::open(&url).await?;
    let tenant = store.tenants().add_tenant(&format!("rate {}", Uuid::now_v7())).await?.id;
    let writer = AuditWriter::start(store.ledger(), WriterOptions::new(folder.path().join("spool")))?;
    let agents: Vec<_> = (0..10).map(|n| format!("agent-{n}").parse()).collect::<Result<_, _>>()?;
    let tool: gateway_core::ToolName = "notes/search".parse()?;
    let part = RiskLevel::ReadOnly.classification();
    let digest = format!("sha256:{}", "5efe256c39fd6070".repeat(4));
    // As the gateway writes them, but made once: what is measured is the way into the store.
    let authorization =
        Canonical::of(&json!({"required": false, "matrix_result": "A3 x D1 = AUTHORIZED", "overrides": []}))?;
    let plugins = ["manifest", "matrix", "quota", "sql", "dlp"];
    let verdicts: Vec<_> = plugins.iter().map(|plugin| json!({"plugin": plugin, "verdict": "pass"})).collect();
    let context = Canonical::of(&json!({
        "args_hash": digest, "decision": "allow", "policies": digest, "tool": "notes/search", "verdicts": verdicts,
    }))?;
    let input = JsonText::from_checked(Bytes::from_static(br#"{"query":"quarterly budget","limit":10}"#));
    let output = json!({"content": [{"type": "text", "text": "12 notes found; ".repeat(10)}], "isError": false});
    let output = JsonText::from_checked(output.to_string().into());

    let (began, cpu) = (Instant::now(), cpu_time()?);
    for n in 0..pairs {
        let agent: &gateway_core::AgentId = agents.get(n as usize % agents.len()).ok_or("no agent")?;
        while let Err(LedgerError::Full) = writer.reserve() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        let (trace_id, timestamp) = (TraceId::from_uuid(Uuid::now_v7()), "2026-11-16T08:00:00.123Z".parse()?);
        let draft = TraceDraft {
            tenant: Some(tenant),
            agent: agent.clone(),
            trace_id: trace_id.clone(),
            event_type: EventType::Decision,
            classification: Some(part),
            description: Some("notes/search allowed".into()),
            reasoning: None,
            authorization: authorization.clone(),
            context: context.clone(),
            timestamp,
        };
        writer.append(draft, false).await?;
        writer.settle(AuditRow {
            trace_id,
            tenant: Some(tenant),
            agent: agent.clone(),
            tool: Some(tool.clone()),
            input: Some(input.clone()),
            output: Some(output.clone()),
            classification: Some(part),
            execution_time_ms: 3,
            status: Status::Ok,
            timestamp,
        });
        let due = if pace > 0 { Duration::from_secs(1) * (n + 1) / pace } else { Duration::ZERO };
        if let Some(early) = due.checked_sub(began.elapsed()).filter(|early| *early > Duration::from_millis(1)) {
            tokio::time::sleep(early).await;
        } else if n % 100 == 99 {
            tokio::task::yield_now().await;
        }
    }
    let made = began.elapsed();
    writer.shutdown().await;
    let (taken, used) = (began.elapsed(), cpu_time()? - cpu);
    println!(
        "{pairs} pairs in {taken:.1?} (given in {made:.1?}), {:.2} µs CPU each, {}",
        used.as_secs_f64() * 1e6 / f64::from(pairs),
        resident()?
    );
    threads(pairs)?;
    for agent in &agents {
        let report = verify_chain(store.ledger().as_ref(), Some(tenant), agent, Some(1_000)).await?;
        if !report.valid {
            return Err(format!("{agent}: the chain is broken at {:?}", report.broken_at).into());
        }
    }
    drop(Arc::clone(&writer));
    store.close().await;
    Ok(())
}

/// What the process holds in memory now.
fn resident() -> Result<String, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    Ok(status
        .lines()
        .filter(|line| line.starts_with("VmRSS") || line.starts_with("VmHWM"))
        .collect::<Vec<_>>()
        .join(" "))
}

/// What each thread used, to the nanosecond.
fn threads(pairs: u32) -> Result<(), Box<dyn Error>> {
    for task in std::fs::read_dir("/proc/self/task")? {
        let task = task?.path();
        let name = std::fs::read_to_string(task.join("comm"))?;
        let on_cpu = std::fs::read_to_string(task.join("schedstat"))?;
        let nanos: f64 = on_cpu.split_whitespace().next().ok_or("no time")?.parse()?;
        println!("  {:16} {:.2} µs", name.trim(), nanos / 1e3 / f64::from(pairs));
    }
    Ok(())
}

/// User and system time of this process so far, in the kernel's hundredths of a second.
fn cpu_time() -> Result<Duration, Box<dyn Error>> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields: Vec<&str> = stat.rsplit_once(')').ok_or("no command")?.1.split_whitespace().collect();
    let ticks = |field: usize| fields.get(field).ok_or("short")?.parse::<u64>().map_err(|_| "not a number");
    Ok(Duration::from_millis(10 * (ticks(11)? + ticks(12)?)))
}

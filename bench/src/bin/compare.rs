//! `compare`: direct, nginx and Portreeve side by side. Exit 0 measured, 1 a wrong answer or a failure, 2 wrong usage.

use std::process::ExitCode;

use clap::Parser;
use portreeve_bench::cli::{Cli, Hidden, Options};
use portreeve_bench::error::{Context, Result, watch_signals};
use portreeve_bench::rounds::{Measured, measure};
use portreeve_bench::stage::Stage;
use portreeve_bench::{report, upstream, verdict};
use serde_json::json;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match cli.hidden {
        Some(Hidden::Upstream { port, era }) => upstream::run(port, era).map(|()| true),
        None => compare(&cli.options),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("compare: {error}");
            ExitCode::FAILURE
        }
    }
}

/// True if every answer was right.
fn compare(options: &Options) -> Result<bool> {
    options.check()?;
    watch_signals()?;
    let stage = Stage::set(options)?;
    let measured = measure(&stage, options)?;
    let goals = verdict::goals(&measured);
    print!("{}{}", report::tables(&stage, &measured), verdict::show(&goals));
    if options.quick {
        println!("  (a quick run: rough figures)");
    }
    if cfg!(debug_assertions) {
        println!("  (a debug build of the load generator and the upstream: the figures mean nothing)");
    }
    println!("\n{} answers checked, {} wrong or missing", measured.requests + measured.errors, measured.errors);
    for complaint in &measured.complaints {
        println!("  {complaint}");
    }
    if let Some(path) = &options.json {
        let text = document(options, &stage, &measured, &goals)?;
        std::fs::write(path, text).context(|| format!("write {}", path.display()))?;
    }
    Ok(measured.errors == 0)
}

fn document(options: &Options, stage: &Stage, measured: &Measured, goals: &[verdict::Goal]) -> Result<String> {
    let value = json!({
        "rounds": options.rounds(),
        "seconds": options.time().as_secs_f64(),
        "connections": options.connections,
        "era": options.era.version(),
        "events_per_write": options.burst,
        "quick": options.quick,
        "cores": std::thread::available_parallelism().map_or(0, usize::from),
        "notes": stage.notes,
        "not_measured": stage.not_measured,
        "measured": measured,
        "targets": goals,
    });
    serde_json::to_string_pretty(&value).context(|| "write the report as JSON".into())
}

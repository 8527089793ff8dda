//! `portreeve`: the gate between agents and their tools. One binary; its verbs are in `cli.rs`.

mod aside;
mod cli;
mod clock;
mod compose;
mod config;
mod demo;
mod desk;
mod edge;
mod limits;
mod live;
mod notices;
mod policy_files;
mod seal;
mod serve;
mod sweep;
mod tls;
mod tool_agents;
mod watch;

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    cli::run()
}

//! `portreeve stdio`: for clients that can only start a program and talk to it.

use std::os::fd::AsFd;

use clap::Args;
use gateway_upstream::shim::{self, ShimOptions};

use tokio::fs::File;

use super::Failure;

#[derive(Debug, Args)]
pub struct StdioArgs {
    /// The gateway's door: http://HOST:PORT/mcp, or /NAMESPACE/mcp for one upstream
    #[arg(long, value_name = "URL")]
    url: String,
    /// The agent's key
    #[arg(long, value_name = "KEY", env = "PORTREEVE_KEY", hide_env_values = true)]
    key: Option<String>,
}

pub async fn run(args: StdioArgs) -> Result<(), Failure> {
    let options = ShimOptions { url: args.url, key: args.key };
    let (input, output) = (unbuffered(std::io::stdin())?, unbuffered(std::io::stdout())?);
    shim::run(options, input, output).await.map_err(|error| Failure::of(&error))
}

/// A message is on its way when it is written, and not when a buffer is full.
fn unbuffered(stream: impl AsFd) -> std::io::Result<File> {
    Ok(File::from_std(stream.as_fd().try_clone_to_owned()?.into()))
}

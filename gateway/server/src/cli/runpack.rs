//! `runpack verify`: checks an exported run wherever it lies, with nothing but its files.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use gateway_store::verify_runpack;
use serde_json::json;

use super::gate::{checked, passed};
use super::{Common, Failure};

#[derive(Debug, Subcommand)]
pub enum RunpackVerb {
    /// Checks the files of a run against their manifest and against each other
    Verify(VerifyArgs),
}

#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// The directory that the pack lies in
    dir: PathBuf,
    /// The manifest, from there
    #[arg(long, default_value = "manifest.json")]
    manifest: String,
    #[command(flatten)]
    common: Common,
}

pub fn run(verb: &RunpackVerb) -> Result<(), Failure> {
    let RunpackVerb::Verify(args) = verb;
    let report = verify_runpack(&args.dir, &args.manifest)
        .map_err(|error| Failure::new(format!("{}: {error}", args.dir.display())))?;
    let report = json!(report);
    args.common.output().answer(&report, || checked(&report))?;
    passed(&report)
}

//! `runpack verify`: checks an exported run wherever it lies, with nothing but its files.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use gateway_core::gate::Digest;
use gateway_core::gate::verify::Expected;
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
    /// The root hash that the pack must have, 64 hex digits
    #[arg(long, value_name = "HASH", value_parser = digest)]
    root: Option<Digest>,
    /// The SHA-256 that the manifest itself must have: its time of making stands nowhere else
    #[arg(long, value_name = "HASH", value_parser = digest)]
    manifest_sha256: Option<Digest>,
    #[command(flatten)]
    common: Common,
}

pub fn run(verb: &RunpackVerb) -> Result<(), Failure> {
    let RunpackVerb::Verify(args) = verb;
    let expected = Expected { root: args.root, manifest: args.manifest_sha256 };
    let report = verify_runpack(&args.dir, &args.manifest, expected)
        .map_err(|error| Failure::new(format!("{}: {error}", args.dir.display())))?;
    let report = json!(report);
    args.common.output().answer(&report, || checked(&report))?;
    passed(&report)
}

fn digest(text: &str) -> Result<Digest, String> {
    let bare = text.strip_prefix("sha256:").unwrap_or(text).to_ascii_lowercase();
    Digest::from_hex(&bare).ok_or_else(|| "is no SHA-256: expected 64 hex digits".into())
}

//! Reading content with every detector of `policies/dlp`: documents with nothing to find, and documents full of it.
//!
//! What is promised: 100 MB/s of a core where nothing is found, 25 MB/s where every line holds something.

use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::hint::black_box;
use std::path::Path;

use bytes::Bytes;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use gateway_dlp::{Action, Actions, Counts, Detectors, Paths, Redaction, WrittenDetector};
use serde::Deserialize;
use smallvec::smallvec;

/// As the server has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Deserialize)]
struct File {
    detectors: Vec<WrittenDetector>,
}

fn shipped() -> Result<Detectors, Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../policies/dlp");
    let mut files: Vec<_> = fs::read_dir(folder)?.flatten().map(|entry| entry.path()).collect();
    files.sort();
    let mut written = Vec::new();
    for file in files.into_iter().filter(|file| file.extension().is_some_and(|extension| extension == "yaml")) {
        written.extend(serde_saphyr::from_str::<File>(&fs::read_to_string(file)?)?.detectors);
    }
    Detectors::compile(written).map_err(|problems| format!("{problems:?}").into())
}

fn rows(count: usize, row: impl Fn(usize) -> String) -> Bytes {
    let mut text = String::from(r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":""#);
    text.push_str(
        &"A plain paragraph of prose, as a tool would answer it, and nothing in it is anybody's. ".repeat(count / 4),
    );
    text.push_str(r#""}],"structuredContent":{"rows":["#);
    for index in 0..count {
        let comma = if index == 0 { "" } else { "," };
        let _ = write!(text, "{comma}{}", row(index));
    }
    text.push_str("]}}}");
    text.into()
}

/// Identifiers, times, hashes, amounts: what answers are made of.
fn clean(count: usize) -> Bytes {
    rows(count, |index| {
        format!(
            r#"{{"id":"{:08x}-3c1f-4b7a-9d2e-{:012x}","created_at":"2026-11-16T13:{:02}:07.123Z","status":"open","title":"Quarterly report number {index}","commit":"{:040x}","amount":{}.25,"tags":["alpha","beta","release-notes"],"url":"https://docs.example.com/a/b?page={index}"}}"#,
            index * 7919,
            index * 104_729,
            index % 60,
            (index as u128 + 1) * 0x9e37_79b9_7f4a_7c15_f39c,
            index * 13
        )
    })
}

/// Prose and words alone.
fn prose(count: usize) -> Bytes {
    rows(count, |index| {
        format!(
            r#"{{"name":"entry","text":"The committee met, discussed the matter of the bridge, and adjourned until spring.","n":{}}}"#,
            index % 100
        )
    })
}

fn dense(count: usize) -> Bytes {
    rows(count, |index| {
        format!(
            r#"{{"name":"Jo Doe","mail":"jo.doe{index}@example.org","card":"4111 1111 1111 1111","note":"call +41 44 668 18 00 or write to al{index}@example.com, host 10.1.2.{}"}}"#,
            index % 250
        )
    })
}

fn redaction(criterion: &mut Criterion) {
    let set = match shipped() {
        Ok(set) => set,
        Err(error) => {
            eprintln!("no detectors: {error}");
            return;
        }
    };
    let actions = Actions::all(Action::Mask);
    let redaction = Redaction { sets: smallvec![&set], actions: &actions, key: &[0; 32], paths: &Paths::none() };
    let mut group = criterion.benchmark_group("Redaction::json");
    for (name, raw) in [("prose", prose(400)), ("clean", clean(250)), ("clean, small", clean(3)), ("dense", dense(400))]
    {
        group.throughput(Throughput::Bytes(raw.len() as u64));
        let mut counts = Counts::default();
        let found = redaction.json(&raw, &mut counts).map(|edited| edited.is_some());
        eprintln!(
            "{name}: {} bytes, {found:?}, {:?}",
            raw.len(),
            counts.iter().map(|one| (&one.rule, one.count)).collect::<Vec<_>>()
        );
        group.bench_with_input(BenchmarkId::from_parameter(name), &raw, |bencher, raw| {
            bencher.iter(|| redaction.json(black_box(raw), &mut Counts::default()));
        });
    }
    group.finish();
}

criterion_group!(benches, redaction);
criterion_main!(benches);

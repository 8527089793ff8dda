//! Reading JSON-RPC: the client's request strictly (`message::parse`), the upstream's reply in one pass (`Reply::scan`).
//!
//! Inputs are the ones `compare` sends, so a figure here is a share of a figure there. Hash chain and traces get their own benches.

use std::hint::black_box;

use bytes::Bytes;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use gateway_protocol::{Reply, message};
use portreeve_bench::content::{Payload, echo_text};
use portreeve_bench::request::{Endpoint, Era};

const MAX_DEPTH: usize = 64;

fn requests(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("message::parse");
    for (name, era) in [("legacy", Era::Legacy), ("modern", Era::Modern)] {
        let mut template = Endpoint::new(1, "/mcp", era).tool_call(Payload::Json(200));
        let request = String::from_utf8_lossy(template.fill(1_000_000_001, 7)).into_owned();
        let Some((_, body)) = request.split_once("\r\n\r\n") else {
            continue;
        };
        group.throughput(Throughput::Bytes(body.len() as u64));
        group.bench_function(name, |bencher| bencher.iter(|| message::parse(black_box(body.as_bytes()), MAX_DEPTH)));
    }
    group.finish();
}

fn replies(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("Reply::scan");
    for size in [200, 4096, 65536] {
        let raw = reply(size);
        group.throughput(Throughput::Bytes(raw.len() as u64));
        group.bench_with_input(BenchmarkId::from_parameter(size), &raw, |bencher, raw| {
            bencher.iter(|| Reply::scan(black_box(raw.clone()), MAX_DEPTH));
        });
    }
    group.finish();
}

fn reply(size: usize) -> Bytes {
    let mut out = br#"{"jsonrpc":"2.0","id":1000000001,"result":{"content":[{"type":"text","text":""#.to_vec();
    echo_text(7, size).write(&mut out);
    out.extend_from_slice(br#""}],"isError":false}}"#);
    out.into()
}

criterion_group!(benches, requests, replies);
criterion_main!(benches);

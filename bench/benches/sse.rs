//! The SSE codec: a stream of the comparison's events through the decoder, cut at different places, and written again.

use std::hint::black_box;

use bytes::{Bytes, BytesMut};
use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use gateway_protocol::sse::{Decoder, Event, encode};
use portreeve_bench::content::{EVENT_TEXT, event_text};

const EVENTS: u32 = 500;
const MAX_EVENT: usize = 1024 * 1024;

/// One event a read is a live stream; large reads are one that has run ahead of its reader.
fn decode(criterion: &mut Criterion) {
    let stream = stream();
    let mut group = criterion.benchmark_group("sse::decode");
    group.throughput(Throughput::Elements(u64::from(EVENTS)));
    let event = stream.len() / EVENTS as usize;
    for (name, size) in [("one event a read", event), ("torn events", event * 2 / 3), ("16 KiB reads", 16 * 1024)] {
        let chunks: Vec<Bytes> = stream.chunks(size).map(Bytes::copy_from_slice).collect();
        group.bench_with_input(BenchmarkId::from_parameter(name), &chunks, |bencher, chunks| {
            bencher.iter_batched(|| chunks.clone(), |chunks| frames(black_box(chunks)), BatchSize::SmallInput);
        });
    }
    group.finish();
}

fn frames(chunks: Vec<Bytes>) -> usize {
    let mut decoder = Decoder::new(MAX_EVENT);
    let mut seen = 0;
    for chunk in chunks {
        decoder.push(chunk);
        while let Ok(Some(frame)) = decoder.next_frame() {
            black_box(frame);
            seen += 1;
        }
    }
    seen
}

fn write(criterion: &mut Criterion) {
    let events: Vec<Event> = (0..EVENTS).map(|index| Event::message(notification(index))).collect();
    let mut group = criterion.benchmark_group("sse::encode");
    group.throughput(Throughput::Elements(u64::from(EVENTS)));
    group.bench_function("500 events", |bencher| {
        let mut out = BytesMut::with_capacity(256 * 1024);
        bencher.iter(|| {
            out.clear();
            for event in &events {
                encode(black_box(event), &mut out);
            }
            out.len()
        });
    });
    group.finish();
}

fn notification(index: u32) -> Vec<u8> {
    let mut out =
        br#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","logger":"bench","data":""#
            .to_vec();
    event_text(7, index, EVENT_TEXT).write(&mut out);
    out.extend_from_slice(b"\"}}");
    out
}

fn stream() -> Vec<u8> {
    let mut out = Vec::new();
    for index in 0..EVENTS {
        out.extend_from_slice(b"event: message\ndata: ");
        out.extend_from_slice(&notification(index));
        out.extend_from_slice(b"\n\n");
    }
    out
}

criterion_group!(benches, decode, write);
criterion_main!(benches);

//! The SSE codec: however the network cuts a stream, it says the same.

use bytes::{Bytes, BytesMut};
use gateway_protocol::sse::{Decoder, Frame};

use super::{Outcome, cut, ensure, number, taken, two_parts};
use crate::random::Random;

/// The first line is a number that decides the limit and the cuts; the rest is the stream.
pub fn sse(input: &[u8]) -> Outcome {
    let (first, stream) = two_parts(input);
    let mut random = Random::new(number(first));
    let limit = if random.one_in(2) { 1 << 20 } else { 4 + random.below(60) };

    let whole = frames(&[stream], limit);
    let bytes: Vec<&[u8]> = stream.chunks(1).collect();
    ensure(frames(&bytes, limit) == whole, || {
        format!("byte by byte it is {:?}, not {whole:?}", frames(&bytes, limit))
    })?;
    let chunks = cut(stream, &mut random);
    ensure(frames(&chunks, limit) == whole, || format!("in {} chunks it is not {whole:?}", chunks.len()))?;
    for frame in &whole.0 {
        let size = match frame {
            Frame::Event(event) => event.data.len(),
            Frame::Comment(comment) => comment.len(),
        };
        ensure(size <= limit, || format!("{size} bytes within a limit of {limit}"))?;
    }
    let mut out = BytesMut::new();
    whole.0.iter().for_each(|frame| frame.encode(&mut out));
    let again = frames(&[&out], 1 << 22);
    ensure(again == (whole.0.clone(), false), || format!("written and read again it is {again:?}, not {whole:?}"))?;

    let kinds: Vec<_> = whole.0.iter().take(4).map(kind).collect();
    Ok(taken((kinds, whole.0.len().min(8), whole.1)))
}

fn kind(frame: &Frame) -> (bool, bool, bool, bool) {
    match frame {
        Frame::Event(event) => (event.id.is_some(), event.event.is_some(), event.retry.is_some(), event.dataless),
        Frame::Comment(_) => (false, false, false, false),
    }
}

fn frames(chunks: &[&[u8]], limit: usize) -> (Vec<Frame>, bool) {
    let mut decoder = Decoder::new(limit);
    let mut frames = Vec::new();
    for chunk in chunks {
        decoder.push(Bytes::copy_from_slice(chunk));
        for frame in decoder.frames() {
            let Ok(frame) = frame else { return (frames, true) };
            frames.push(frame);
        }
    }
    (frames, false)
}

//! An event stream as it arrives: decoded frame by frame, checked message by message, never collected.
//!
//! Written by hand because it runs for every event of every call: frames that are already here are given out without
//! touching the socket, and nothing is allocated beside the event itself.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures::Stream;
use gateway_core::Namespace;
use gateway_core::ports::{StreamItem, UpstreamError};
use gateway_protocol::Reply;
use gateway_protocol::sse::{Decoder, Frame};
use hyper::body::Body;

use super::answer::Limits;
use super::lines::Received;

pub(super) struct EventStream<B = Received> {
    namespace: Namespace,
    /// Gone once the stream has ended or failed.
    body: Option<B>,
    decoder: Decoder,
    max_depth: usize,
}

impl<B> EventStream<B> {
    pub(super) fn new(namespace: Namespace, limits: Limits, body: B) -> Self {
        Self { namespace, body: Some(body), decoder: Decoder::new(limits.max_event_bytes), max_depth: limits.max_depth }
    }

    fn item(&self, frame: Frame) -> Result<StreamItem, UpstreamError> {
        let event = match frame {
            Frame::Comment(text) => return Ok(StreamItem::Comment(text)),
            Frame::Event(event) => event,
        };
        let reply = if event.data.is_empty() {
            None
        } else {
            let scanned = Reply::scan(event.data.clone(), self.max_depth);
            Some(scanned.map_err(|refusal| self.not_mcp(refusal.message))?)
        };
        Ok(StreamItem::Event { frame: event, reply })
    }

    fn not_mcp(&self, what: String) -> UpstreamError {
        UpstreamError::NotMcp { namespace: self.namespace.clone(), what }
    }

    /// The last thing that is said.
    fn end_with(&mut self, error: UpstreamError) -> Poll<Option<Result<StreamItem, UpstreamError>>> {
        self.body = None;
        Poll::Ready(Some(Err(error)))
    }
}

impl<B> Stream for EventStream<B>
where
    B: Body<Data = bytes::Bytes> + Unpin,
    B::Error: Into<gateway_core::BoxError>,
{
    type Item = Result<StreamItem, UpstreamError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            let Some(body) = &mut this.body else { return Poll::Ready(None) };
            match this.decoder.next_frame() {
                Ok(Some(frame)) => {
                    return match this.item(frame) {
                        Ok(item) => Poll::Ready(Some(Ok(item))),
                        Err(error) => this.end_with(error),
                    };
                }
                Ok(None) => {}
                Err(error) => {
                    let error = this.not_mcp(error.to_string());
                    return this.end_with(error);
                }
            }
            match ready!(Pin::new(body).poll_frame(context)) {
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        this.decoder.push(data);
                    }
                }
                Some(Err(error)) => {
                    let error = UpstreamError::Unreachable(this.namespace.clone(), error.into());
                    return this.end_with(error);
                }
                // An event without its blank line was never sent whole, and is not passed on.
                None => {
                    this.body = None;
                    return Poll::Ready(None);
                }
            }
        }
    }
}

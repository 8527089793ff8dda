//! Plain requests to one address, for whoever speaks MCP over HTTP by other rules than `HttpUpstream`: the stdio command, the
//! HTTP+SSE transport, and nodes among themselves.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use gateway_core::BoxError;
use gateway_protocol::sse::{Decoder, Frame};
use http::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use http::uri::PathAndQuery;
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full};

use super::client::{Authorities, Client, HttpUpstreamError};
use super::lines::Received;
use super::request::Outgoing;

/// The largest event or answer that is read.
const LARGEST: usize = 16 * 1024 * 1024;

pub(crate) struct Carrier {
    client: Client,
    outgoing: Outgoing,
}

/// One answer, its body still unread.
pub(crate) struct Carried {
    response: Response<Received>,
}

impl Carrier {
    /// `headers` go with every request.
    pub(crate) fn new(
        url: &str,
        headers: &[(String, String)],
        connect_timeout: Duration,
    ) -> Result<Self, HttpUpstreamError> {
        Self::trusting(&Authorities::OfTheSystem, url, headers, connect_timeout)
    }

    /// The same, with certificates checked against these authorities.
    pub(crate) fn trusting(
        authorities: &Authorities,
        url: &str,
        headers: &[(String, String)],
        connect_timeout: Duration,
    ) -> Result<Self, HttpUpstreamError> {
        let outgoing = Outgoing::new(url, headers)?;
        let client = Client::trusting(authorities, outgoing.url(), connect_timeout)?;
        Ok(Self { client, outgoing })
    }

    pub(crate) fn outgoing(&self) -> &Outgoing {
        &self.outgoing
    }

    /// `target` is another path at the same address.
    pub(crate) async fn send(
        &self,
        method: Method,
        target: Option<&PathAndQuery>,
        headers: &[(&str, &str)],
        body: Bytes,
    ) -> Result<Carried, BoxError> {
        let mut request: Request<Full<Bytes>> = self.outgoing.bare(method, target);
        let map = request.headers_mut();
        if !body.is_empty() {
            map.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        map.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        for (name, value) in headers {
            if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(value)) {
                map.insert(name, value);
            }
        }
        *request.body_mut() = Full::new(body);
        Ok(Carried { response: self.client.send(request).await? })
    }
}

impl Carried {
    pub(crate) fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.response.headers().get(name)?.to_str().ok()
    }

    pub(crate) fn is_stream(&self) -> bool {
        let kind = self.header("content-type").and_then(|kind| kind.split(';').next());
        self.response.status().is_success() && kind.is_some_and(|kind| kind.trim() == "text/event-stream")
    }

    /// The whole of it; too much is an error.
    pub(crate) async fn whole(self) -> Result<Bytes, BoxError> {
        let mut body = self.response.into_body();
        let mut whole = BytesMut::new();
        while let Some(frame) = body.frame().await {
            if let Ok(data) = frame?.into_data() {
                if whole.len() + data.len() > LARGEST {
                    return Err(format!("an answer of more than {LARGEST} bytes").into());
                }
                whole.extend_from_slice(&data);
            }
        }
        Ok(whole.freeze())
    }

    /// Frame by frame, as they arrive.
    pub(crate) fn events(self) -> BoxStream<'static, Result<Frame, BoxError>> {
        let state = (self.response.into_body(), Decoder::new(LARGEST));
        let frames = stream::try_unfold(state, |(mut body, mut decoder)| async move {
            loop {
                if let Some(frame) = decoder.next_frame()? {
                    return Ok::<_, BoxError>(Some((frame, (body, decoder))));
                }
                match body.frame().await.transpose()? {
                    Some(more) => {
                        if let Ok(data) = more.into_data() {
                            decoder.push(data);
                        }
                    }
                    None => return Ok(None),
                }
            }
        });
        frames.into_stream().boxed()
    }
}

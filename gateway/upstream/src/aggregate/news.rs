//! What members announce by themselves, on one stream: the GET stream of a session, or a subscription of the stateless era.
//!
//! A member whose stream ends is listened to again after a while; one that has no such stream is left alone.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use gateway_core::Permit;
use gateway_core::ports::{Answered, Content, StreamItem, UpstreamError};
use gateway_protocol::era::{Filter, Greeting, acknowledged, tagged};
use gateway_protocol::sse::Event;
use gateway_protocol::{Id, Message, Reply, Request, Revision, RpcError, code};
use serde_json::{Map, Value};

use super::listing::described;
use super::sessions::AggregateSession;
use super::{Aggregate, Member, Standing, answers, relay};
use crate::ask;

type Items = BoxStream<'static, Result<StreamItem, UpstreamError>>;

const KEEP_ALIVE: Duration = Duration::from_secs(15);
const SOON: Duration = Duration::from_secs(1);
const LATER: Duration = Duration::from_secs(60);

impl Aggregate {
    /// The GET stream of a session.
    pub(super) fn news(&self, permit: &Permit, session: &Arc<AggregateSession>) -> Answered {
        let each = self.members.iter().enumerate().map(|(place, member)| {
            let (member, whose) = (member.clone(), member.speaker());
            let (session, permit) = (Arc::clone(session), Arc::new(permit.in_session(None)));
            let open = move || {
                let (member, session, permit) = (member.clone(), Arc::clone(&session), Arc::clone(&permit));
                async move { listen_in(&session, place, &member, &permit).await }
            };
            again_and_again(open).filter_map(move |item| {
                let item = item.map(|item| announced(relay::event(&whose, item))).transpose();
                std::future::ready(item)
            })
        });
        streamed(each.map(StreamExt::boxed).collect())
    }

    /// `subscriptions/listen`.
    pub(super) async fn subscribe(&self, permit: &Permit, request: &Request) -> Answered {
        let Some(wanted) = request.params.as_ref().and_then(Filter::of) else {
            let what = "`params.notifications` must say what to listen to";
            return answers::refused(request, 400, RpcError::new(code::INVALID_PARAMS, what));
        };
        let capabilities = self.capabilities(permit, &Standing::Modern).await;
        let wanted = wanted.within(&greeting(capabilities));
        let first = event(&Message::Notification(acknowledged(&wanted, &request.id)));
        let mut streams = vec![stream::once(async { Ok(first) }).boxed()];
        for member in &self.members {
            let part = of_member(member, &wanted);
            if part == Filter::default() {
                continue;
            }
            let (whose, id) = (member.speaker(), request.id.clone());
            let (member, permit) = (member.clone(), Arc::new(permit.in_session(None)));
            let open = move || {
                let question = subscription(&permit, &part);
                let (upstream, namespace) = (Arc::clone(&member.upstream), member.namespace.clone());
                async move {
                    let question =
                        question.ok_or_else(|| ask::not_mcp(&namespace, "a question that may not be asked"))?;
                    upstream.call(&question).await
                }
            };
            let told = again_and_again(open).filter_map(move |item| {
                let item = item.map(|item| subscribed(relay::event(&whose, item), &id)).transpose();
                std::future::ready(item)
            });
            streams.push(told.boxed());
        }
        streamed(streams)
    }
}

async fn listen_in(
    session: &AggregateSession,
    place: usize,
    member: &Member,
    permit: &Permit,
) -> Result<Answered, UpstreamError> {
    let inside = session.member(place, member, permit).await?;
    let answered = member.upstream.call(&permit.own_stream(inside.clone())).await;
    if matches!(answered, Err(UpstreamError::SessionGone(_))) {
        session.close(place, &inside).await;
    }
    answered
}

/// One member's news, for as long as somebody reads them.
fn again_and_again<F>(open: impl Fn() -> F + Send + 'static) -> Items
where
    F: Future<Output = Result<Answered, UpstreamError>> + Send,
{
    let items = async_stream::stream! {
        let mut pause = SOON;
        loop {
            match open().await {
                Ok(Answered { content: Content::Stream(mut items), .. }) => {
                    while let Some(Ok(item)) = items.next().await {
                        pause = SOON;
                        yield Ok(item);
                    }
                }
                Ok(_) => return,
                Err(error) => tracing::debug!("a member is not listened to: {error}"),
            }
            tokio::time::sleep(pause).await;
            pause = LATER.min(pause * 2);
        }
    };
    items.boxed()
}

/// Event ids are one member's own and mean nothing on a stream of many.
fn announced(item: StreamItem) -> Option<StreamItem> {
    match item {
        StreamItem::Event { frame, reply: Some(reply) } => {
            Some(StreamItem::Event { frame: Event { id: None, retry: None, ..frame }, reply: Some(reply) })
        }
        StreamItem::Event { reply: None, .. } | StreamItem::Comment(_) => None,
    }
}

/// A member's notification as one of the client's subscription.
fn subscribed(item: StreamItem, id: &Id) -> Option<StreamItem> {
    let StreamItem::Event { reply: Some(reply), .. } = item else { return None };
    match reply.message() {
        Ok(Message::Notification(news)) if news.method != "notifications/subscriptions/acknowledged" => {
            Some(event(&Message::Notification(tagged(news, id))))
        }
        _ => None,
    }
}

fn of_member(member: &Member, wanted: &Filter) -> Filter {
    let whose = member.speaker();
    let own = |uri: &String| whose.inward(uri).map(str::to_owned);
    Filter { uris: wanted.uris.iter().filter_map(own).collect(), ..wanted.clone() }
}

fn subscription(permit: &Permit, part: &Filter) -> Option<Permit> {
    let mut params = Map::from_iter([("notifications".to_owned(), part.to_value())]);
    params.extend(described(permit).map(|meta| ("_meta".to_owned(), Value::Object(meta))));
    permit.for_own(Message::request(ask::own_id(), "subscriptions/listen", Some(params)), None)
}

fn greeting(capabilities: Map<String, Value>) -> Greeting {
    Greeting {
        revision: Revision::LATEST,
        supported: Vec::new(),
        capabilities,
        server_info: Value::Null,
        instructions: None,
    }
}

fn event(message: &Message) -> StreamItem {
    let reply = Reply::from_message(message);
    StreamItem::Event { frame: Event::message(reply.raw().clone()), reply: Some(reply) }
}

/// All of them together, open until the client goes, with a sign of life when nobody has anything to say.
fn streamed(mut streams: Vec<Items>) -> Answered {
    let quiet = stream::unfold((), |()| async {
        tokio::time::sleep(KEEP_ALIVE).await;
        Some((Ok(StreamItem::Comment(Bytes::from_static(b" keep-alive"))), ()))
    });
    streams.push(quiet.boxed());
    Answered { status: 200, session: None, content: Content::Stream(stream::select_all(streams).boxed()) }
}

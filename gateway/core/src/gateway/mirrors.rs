//! `Mcp-Param-*`: copies of a tool's arguments in headers, compared with the arguments before anybody judges them.

use std::sync::Arc;

use gateway_protocol::headers::{self, Mirrored};
use gateway_protocol::{Malformed, Message};

use super::{Caller, Wire};
use crate::exchange::Exchange;
use crate::ports::Upstream;

/// What the called tool wants mirrored, once the caller's copies have been found to agree. The upstream is asked what the
/// tool looks like only where there are copies; a call without any is held against what is known already.
pub(super) async fn checked(
    caller: &Caller,
    exchange: &Exchange,
    upstream: &dyn Upstream,
) -> Result<Arc<[Mirrored]>, Malformed> {
    if caller.wire != Wire::Http || !exchange.is_modern() {
        return Ok(Arc::default());
    }
    let Some(tool) = exchange.tool().map(|tool| tool.name.tool()) else {
        return Ok(Arc::default());
    };
    let mirrored = match upstream.known_mirrors(exchange, tool) {
        Some(known) => known,
        None if caller.headers.params.is_empty() => return Ok(Arc::default()),
        None => match upstream.definition(exchange, tool).await {
            Ok(Some(definition)) => headers::mirrored(&definition).into(),
            // A list that cannot be read is spoken of where the call would be made.
            Ok(None) | Err(_) => return Ok(Arc::default()),
        },
    };
    let id = exchange.message().and_then(Message::id);
    headers::check_mirrored(&caller.headers, &mirrored, exchange.arguments()).map_err(|error| error.answering(id))?;
    Ok(mirrored)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use std::sync::Arc;

    use serde_json::json;

    use crate::gateway::{Verb, Wire};
    use crate::testing::bench::{Bench, body, inbound, modern, one, tool_call};

    fn bench() -> Bench {
        let bench = Bench::new();
        let region = json!({ "type": "string", "x-mcp-header": "Region" });
        let definition =
            json!({ "name": "read", "inputSchema": { "type": "object", "properties": { "region": region } } });
        *bench.world.definition.lock().unwrap() = Some(Arc::new(definition));
        bench
    }

    #[test]
    fn copies_must_say_what_the_arguments_say() {
        for (header, argument, passes) in
            [("eu", json!("eu"), true), ("us", json!("eu"), false), ("eu", json!(null), false)]
        {
            let bench = bench();
            let mut call = modern("tools/call", json!({ "name": "read", "arguments": { "region": argument } }));
            call.headers.params = vec![("region".into(), header.into()), ("vendor".into(), "x".into())];
            let answer = bench.handle(call);
            assert_eq!(answer.status, if passes { 200 } else { 400 }, "{header} {argument}");
            assert_eq!(bench.calls(), usize::from(passes));
            if passes {
                let carried = bench.world.calls.lock().unwrap()[0].carried.clone();
                let expected = [("mcp-param-vendor", "x"), ("mcp-param-region", "eu")];
                assert_eq!(carried, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
            } else {
                assert_eq!(one(answer)["error"]["code"], -32020);
            }
        }
    }

    #[test]
    fn a_wire_without_headers_has_nothing_to_compare_but_must_describe_itself() {
        let bench = bench();
        let version = "io.modelcontextprotocol/protocolVersion";
        let call = |meta| {
            let message = tool_call(json!({ "name": "read", "arguments": { "region": "eu" }, "_meta": meta }));
            let mut inbound = inbound(Verb::Post(body(&message)));
            inbound.wire = Wire::Messages;
            bench.handle(inbound)
        };
        let undescribed = call(json!({ version: "2026-07-28" }));
        assert_eq!((undescribed.status, one(undescribed)["error"]["code"].clone()), (400, json!(-32602)));
        let described = json!({ version: "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {} });
        assert_eq!(call(described).status, 200);
        assert_eq!(bench.calls(), 1);
    }
}

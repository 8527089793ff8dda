//! Which members of a message are nobody's words: ids, cursors, states and names pass as they came, whatever they look like.
//!
//! Every place is anchored at the envelope of its method. A tool's own field that happens to be called `cursor` is read.

use gateway_dlp::{Care, Paths};

/// For each way that a message may go.
#[derive(Debug, Clone)]
pub(super) struct Places {
    /// Below `params` of what a client asks or tells.
    pub request: Paths,
    /// Below `result` of what a client answers.
    pub answer: Paths,
    /// The whole of a message to a client.
    pub reply: Paths,
    /// The same where it lists what there is.
    pub list: Paths,
    /// The same where it opens a conversation.
    pub opening: Paths,
    /// Any message, where it is kept: there nothing is left unread.
    pub record: Paths,
}

/// What the protocol itself writes into `_meta` (facts of a handshake, and ids) is no server's word; all else there is.
const REQUEST: &[(&str, Care)] = &[
    ("/_meta/progressToken", Care::Opaque),
    ("/_meta/traceparent", Care::Opaque),
    ("/_meta/tracestate", Care::Opaque),
    ("/_meta/io.modelcontextprotocol~1*/**", Care::Critical),
    ("/name", Care::Opaque),
    ("/uri", Care::Critical),
    ("/cursor", Care::Opaque),
    ("/taskId", Care::Opaque),
    ("/requestState", Care::Opaque),
    ("/requestId", Care::Opaque),
    ("/progressToken", Care::Opaque),
    ("/level", Care::Opaque),
    ("/ref/**", Care::Opaque),
    ("/task/**", Care::Opaque),
];

/// What stands around every message to a client.
const ENVELOPE: &[(&str, Care)] = &[
    ("/jsonrpc", Care::Opaque),
    ("/id", Care::Opaque),
    ("/method", Care::Opaque),
    ("/error/code", Care::Opaque),
    ("/params/_meta/progressToken", Care::Opaque),
    ("/params/_meta/io.modelcontextprotocol~1*/**", Care::Critical),
    ("/params/progressToken", Care::Opaque),
    ("/params/requestId", Care::Opaque),
    ("/params/taskId", Care::Opaque),
    ("/params/elicitationId", Care::Opaque),
    ("/params/level", Care::Opaque),
    ("/params/uri", Care::Critical),
    ("/params/url", Care::Critical),
    ("/params/requestedSchema/**", Care::Schema),
    ("/result/_meta/io.modelcontextprotocol~1*/**", Care::Critical),
    ("/result/resultType", Care::Opaque),
    ("/result/requestState", Care::Opaque),
    ("/result/nextCursor", Care::Opaque),
    ("/result/taskId", Care::Opaque),
    ("/result/task/taskId", Care::Opaque),
    ("/result/tasks/*/taskId", Care::Opaque),
    ("/result/inputRequests/*/method", Care::Opaque),
    ("/result/inputRequests/*/params/requestedSchema/**", Care::Schema),
    ("/result/inputRequests/*/params/url", Care::Critical),
];

/// One block of content, wherever blocks stand.
const BLOCK: &[(&str, Care)] = &[
    ("/data", Care::Binary),
    ("/uri", Care::Critical),
    ("/resource/uri", Care::Critical),
    ("/resource/blob", Care::Binary),
];

const BLOCKS: [&str; 6] = [
    "/result/content/*",
    "/result/messages/*/content",
    // A task's result, where it is fetched and where it is told.
    "/result/result/content/*",
    "/params/result/content/*",
    // What a server asks a client's model.
    "/params/messages/*/content",
    "/result/inputRequests/*/params/messages/*/content",
];

const CONTENTS: &[(&str, Care)] =
    &[("/result/contents/*/uri", Care::Critical), ("/result/contents/*/blob", Care::Binary)];

/// A value may begin in one block and end in the next.
const PIECES: &[(&str, Care)] = &[
    ("/result/content/*/text", Care::Pieces),
    ("/result/result/content/*/text", Care::Pieces),
    ("/params/result/content/*/text", Care::Pieces),
];

/// So many places an operator may add: the engine hears 64 in all.
pub(super) const MOST_OPAQUE: usize = 8;

const LIST: &[(&str, Care)] = &[
    ("/result/tools/*/name", Care::Opaque),
    ("/result/tools/*/inputSchema/**", Care::Schema),
    ("/result/tools/*/outputSchema/**", Care::Schema),
    ("/result/tools/*/execution/**", Care::Opaque),
    ("/result/tools/*/icons/**", Care::Critical),
    ("/result/prompts/*/name", Care::Opaque),
    ("/result/prompts/*/arguments/*/name", Care::Opaque),
    ("/result/prompts/*/icons/**", Care::Critical),
    ("/result/resources/*/name", Care::Opaque),
    ("/result/resources/*/uri", Care::Critical),
    ("/result/resources/*/mimeType", Care::Opaque),
    ("/result/resources/*/icons/**", Care::Critical),
    ("/result/resourceTemplates/*/name", Care::Opaque),
    ("/result/resourceTemplates/*/uriTemplate", Care::Critical),
    ("/result/resourceTemplates/*/mimeType", Care::Opaque),
    ("/result/resourceTemplates/*/icons/**", Care::Critical),
    ("/result/ttlMs", Care::Opaque),
    ("/result/cacheScope", Care::Opaque),
];

/// Of an opening only what a model is told is read.
const OPENING: &[(&str, Care)] = &[
    ("/result/protocolVersion", Care::Opaque),
    ("/result/supportedVersions/**", Care::Opaque),
    ("/result/capabilities/**", Care::Opaque),
    ("/result/serverInfo/**", Care::Opaque),
    ("/result/ttlMs", Care::Opaque),
    ("/result/cacheScope", Care::Opaque),
];

impl Places {
    /// `opaque` are further places in messages to clients that an operator knows to be nobody's words.
    pub(super) fn new(opaque: &[String]) -> Self {
        let own = || opaque.iter().map(|path| (path.as_str(), Care::Opaque));
        let blocks: Vec<(String, Care)> = BLOCKS
            .iter()
            .flat_map(|at| BLOCK.iter().map(move |(below, care)| (format!("{at}{below}"), *care)))
            .collect();
        let block = || blocks.iter().map(|(path, care)| (path.as_str(), *care));
        let of = |places: &'static [(&'static str, Care)]| places.iter().copied();
        Self {
            request: Paths::new(of(REQUEST)),
            answer: Paths::new([
                ("/_meta/io.modelcontextprotocol~1*/**", Care::Critical),
                ("/content/data", Care::Binary),
                ("/role", Care::Opaque),
            ]),
            reply: Paths::new(own().chain(of(PIECES)).chain(of(ENVELOPE)).chain(block()).chain(of(CONTENTS))),
            list: Paths::new(own().chain(of(LIST)).chain(of(ENVELOPE))),
            opening: Paths::new(own().chain(of(OPENING)).chain(of(ENVELOPE))),
            record: Paths::new(of(PIECES)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_heard() {
        let reply = PIECES.len() + ENVELOPE.len() + BLOCK.len() * BLOCKS.len() + CONTENTS.len();
        for places in [REQUEST.len(), reply, LIST.len() + ENVELOPE.len(), OPENING.len() + ENVELOPE.len()] {
            assert!(places + MOST_OPAQUE <= 64, "{places}");
        }
    }
}

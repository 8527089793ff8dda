//! Sessions that began in another process.

use gateway_core::exchange::Subject;
use gateway_core::home::Home;
use gateway_core::names::TraceId;
use gateway_core::session::Session;
use gateway_protocol::Revision;
use gateway_protocol::era::Handshake;
use uuid::Uuid;

use super::*;
use crate::testing::admit;

fn inside(client: &Client, id: &str, handshake: Option<Handshake>, ask: Ask) -> Permit {
    let home = Home { node: Uuid::nil(), at: None };
    let session = Session::pinned(&client.principal, &client.route, client.revision, id.into(), home, handshake);
    let trace = TraceId::from_uuid(Uuid::now_v7());
    let plain = Exchange::new(trace, Arc::clone(&client.principal), client.route.clone(), ask, Subject::Plain);
    admit(Exchange { revision: client.revision, session: Some(session), ..plain })
}

fn handshake() -> Handshake {
    let capabilities = json!({ "roots": {} }).as_object().cloned().unwrap();
    let client_info = json!({ "name": "wanderer", "version": "1" });
    Handshake { revision: Revision::V2025_06_18, capabilities, client_info }
}

#[tokio::test]
async fn a_session_from_elsewhere_goes_on_with_a_child_greeted_alike() {
    let stage = Stage::new(|_| {});
    let client = Client::legacy(notes());
    let seen = || Ask::Message(Message::request(5, "tools/call", json!({ "name": "seen" }).as_object().cloned()));
    let permit = inside(&client, "there", Some(handshake()), seen());
    let greeted = one(&stage.upstream.call(&permit).await.unwrap())["result"]["seen"][0].clone();
    assert_eq!(greeted["params"]["protocolVersion"], "2025-06-18");
    assert_eq!(greeted["params"]["capabilities"], json!({ "roots": {} }));
    assert_eq!(greeted["params"]["clientInfo"]["name"], "wanderer");
    // The next request finds the same child, also without being told again how it began.
    let again = one(&stage.upstream.call(&inside(&client, "there", None, seen())).await.unwrap());
    assert_eq!(again["result"]["seen"].as_array().unwrap().len(), 4, "{again}");
    let stranger = stage.upstream.call(&inside(&client.clone().of("other"), "there", Some(handshake()), seen())).await;
    assert!(matches!(stranger, Err(UpstreamError::SessionGone(_))), "it is another's");

    let ended = stage.upstream.call(&inside(&client, "there", None, Ask::EndSession)).await.unwrap();
    assert_eq!(ended.status, 204);
    for (id, handshake) in [("there", Some(handshake())), ("nowhere", None)] {
        let gone = stage.upstream.call(&inside(&client, id, handshake, seen())).await;
        assert!(matches!(gone, Err(UpstreamError::SessionGone(_))), "{id}");
    }
}

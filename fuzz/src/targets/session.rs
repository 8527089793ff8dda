//! What a session id says once opened. Sealing itself needs the server's key; here the seal hides nothing, so that the bytes
//! inside are the fuzzer's.

use gateway_core::exchange::Route;
use gateway_core::identity::{Principal, PrincipalKind};
use gateway_core::ports::Seal;
use gateway_core::session::Session;

use super::{Outcome, ensure, taken};

struct Glass;

impl Seal for Glass {
    fn seal(&self, plain: &[u8]) -> String {
        String::from_utf8_lossy(plain).into_owned()
    }

    fn open(&self, sealed: &str) -> Option<Vec<u8>> {
        Some(sealed.as_bytes().to_vec())
    }

    fn derive(&self, _label: &str) -> [u8; 32] {
        [0; 32]
    }
}

pub fn open(input: &[u8]) -> Outcome {
    let token = String::from_utf8_lossy(input);
    let principal = Principal::anonymous();
    let Some(session) = Session::open(&token, &Glass, &principal, &Route::All) else {
        return Ok(0);
    };
    let other = Principal { kind: PrincipalKind::Admin, ..principal.clone() };
    ensure(Session::open(&token, &Glass, &other, &Route::All).is_none(), || {
        "another principal's session opens".into()
    })?;
    let sealed = session.seal(&Glass);
    if let Some(handshake) = session.handshake() {
        let _ = handshake.to_params();
    }
    let again = Session::open(&sealed, &Glass, &principal, &Route::All);
    ensure(again.as_ref() == Some(&session) || sealed.len() > 8 * 1024, || format!("`{sealed}` is another session"))?;
    ensure(again.is_none_or(|again| again.key() == session.key()), || "the same session has two keys".into())?;
    Ok(taken((session.revision(), session.home().is_some(), session.handshake().is_some())))
}

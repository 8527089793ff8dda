#![allow(clippy::unwrap_used, clippy::panic)]
#[test]
fn builds() {}

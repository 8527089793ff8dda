//! Whether the called tool is still what was accepted, found out before anybody judges the call.

use super::Gateway;
use crate::exchange::Exchange;
use crate::ports::Upstream;

impl Gateway {
    /// Asks nobody yet: what the rows say of the tool was put into the exchange when it was described.
    #[expect(clippy::unused_async, reason = "an upstream will be asked here")]
    pub(super) async fn known(&self, _exchange: &mut Exchange, _upstream: &dyn Upstream) {}
}

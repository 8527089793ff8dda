//! What needs a human's yes. Nobody can give one yet, so that it is recorded and refused.

use std::sync::Arc;

use super::Gateway;
use super::carry_out::Errand;
use crate::chain::Ruling;
use crate::exchange::Exchange;
use crate::refusal::Answer;

impl Gateway {
    pub(super) async fn approve(self: &Arc<Self>, errand: Errand, exchange: Exchange, ruling: Ruling) -> Answer {
        self.turn_down(errand, &exchange, &ruling, None).await
    }
}

//! Answers in many messages: a plugin may keep a little of a stream back until it knows what comes next.

use std::time::Duration;

use gateway_protocol::Reply;
use smallvec::SmallVec;

use crate::content::Found;
use crate::verdict::Objection;

/// What messages become, one by one and in their order: none is added, and `None` stands for one that may not pass.
pub type Passed = SmallVec<[Option<Passing>; 1]>;

/// A message as it goes on. Messages that are given together keep apart where each of them was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passing {
    pub reply: Reply,
    /// The places of this message whose values are no longer its author's, and nothing besides.
    pub edited: Found,
}

impl From<Reply> for Passing {
    fn from(reply: Reply) -> Self {
        Self { reply, edited: Found::default() }
    }
}

pub enum Step {
    /// Everything that was held, and the message itself.
    Give(Passed),
    /// Held until the next message, or until its time is over.
    Hold,
}

/// One stream's memory.
pub trait Follow: Send {
    /// An objection is to this message; what was held before it is still held. What was found is counted in `found`, and where
    /// is told with each message.
    fn next(&mut self, reply: Reply, found: &mut Found) -> Result<Step, Objection>;
    /// Everything that is held: nothing more comes, or not soon enough.
    fn end(&mut self, found: &mut Found) -> Passed;
    /// How many bytes are held.
    fn held(&self) -> usize;
    /// How long and how much may be held.
    fn bounds(&self) -> (Duration, usize) {
        (Duration::from_millis(150), 4096)
    }
}

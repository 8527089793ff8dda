//! Tools as people decide about them: accepting a definition.

use serde_json::json;

use super::{Desk, DeskError, Note, Who};
use crate::ports::{PinRow, PinState};
use crate::trace::EventType;

impl Desk {
    /// Accepts a definition for everybody. Definitions are the upstream's and not a tenant's, so only an operator may.
    pub async fn accept_definition(&self, who: &Who, row: &PinRow, also: bool) -> Result<(), DeskError> {
        if who.tenant().is_some() {
            return Err(DeskError::Forbidden("definitions are accepted by the gateway's operator".into()));
        }
        let before: Vec<_> = self.pins.pins().await?.into_iter().filter(|other| other.tool == row.tool).collect();
        if !before.iter().any(|other| other.hash == row.hash) {
            return Err(DeskError::NotFound(format!("a definition of {} with the hash {}", row.tool, row.hash)));
        }
        self.pins.accept(&row.tool, &row.hash, &row.definition, who.name(), also).await?;
        let accepted: Vec<_> =
            before.iter().filter(|other| other.state == PinState::Accepted).map(|other| &other.hash).collect();
        let note = Note {
            event_type: EventType::Approval,
            ..Note::new(None, format!("the definition of {} was accepted", row.tool))
        };
        let context =
            json!({"tool": row.tool, "before": accepted, "accepted": row.hash, "also": also, "by": who.written()});
        self.write_down(note, &context).await?;
        Ok(())
    }
}

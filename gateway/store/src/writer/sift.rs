//! Appends a batch of which a few records may be unacceptable, without letting those stop the others.

use bytes::Bytes;
use gateway_core::outcome::JsonText;
use gateway_core::ports::{Ledger, LedgerError, Receipt, Record};

use crate::failure::is_refusal;

/// What became of one record.
pub(super) enum Placed {
    Stored(Option<Receipt>),
    /// The store will never take it.
    Refused(LedgerError),
}

/// One answer per record, in order. A batch with a refused record in it is halved until that record stands alone; an
/// error means that the store is away, and that some of the batch may be stored nevertheless.
pub(super) async fn append_sifted(ledger: &dyn Ledger, records: &[Record]) -> Result<Vec<Placed>, LedgerError> {
    let mut placed = Vec::with_capacity(records.len());
    let mut waiting = vec![records];
    while let Some(part) = waiting.pop() {
        match ledger.append_batch(part).await {
            Ok(receipts) => matched(&mut placed, part, receipts),
            Err(error) if !is_refusal(&error) => return Err(error),
            Err(error) => match part {
                [] => {}
                [Record::Trace(_)] => placed.push(Placed::Refused(error)),
                [record @ Record::Row(_)] => placed.push(without_payloads(ledger, record, error).await?),
                _ => {
                    let (first, second) = part.split_at(part.len() / 2);
                    waiting.extend([second, first]);
                }
            },
        }
    }
    Ok(placed)
}

fn matched(placed: &mut Vec<Placed>, part: &[Record], receipts: Vec<Receipt>) {
    let mut receipts = receipts.into_iter();
    placed.extend(part.iter().map(|record| match record {
        Record::Trace(_) => Placed::Stored(receipts.next()),
        Record::Row(_) => Placed::Stored(None),
    }));
}

/// A payload may hold what a database cannot: half of a surrogate pair, say. Then the row is worth more than its payload.
async fn without_payloads(ledger: &dyn Ledger, record: &Record, error: LedgerError) -> Result<Placed, LedgerError> {
    let mut plain = record.clone();
    if let Record::Row(row) = &mut plain {
        let omitted =
            || JsonText::from_checked(Bytes::from_static(br#"{"omitted":"the store cannot hold this payload"}"#));
        row.input = row.input.as_ref().map(|_| omitted());
        row.output = row.output.as_ref().map(|_| omitted());
    }
    match ledger.append_batch(&[plain]).await {
        Ok(_) => Ok(Placed::Stored(None)),
        Err(again) if is_refusal(&again) => Ok(Placed::Refused(error)),
        Err(away) => Err(away),
    }
}

//! Appends a batch of which a few records may be unacceptable, without letting those stop the others.

use std::sync::Arc;

use bytes::Bytes;
use gateway_core::outcome::JsonText;
use gateway_core::ports::{Ledger, LedgerError, Receipt, Record};

use crate::failure::is_refusal;

/// What became of a batch, by places that ascend: all of it is stored but for what the store will never take.
#[derive(Default)]
pub(super) struct Sifted {
    /// Of the awaited traces at least.
    pub receipts: Vec<(usize, Receipt)>,
    pub refused: Vec<(usize, LedgerError)>,
}

/// A batch with a refused record in it is halved until that record stands alone; an error means that the store is away, and
/// that some of the batch may be stored nevertheless.
pub(super) async fn append_sifted(
    ledger: &dyn Ledger,
    records: &Arc<Vec<Record>>,
    awaited: Vec<usize>,
) -> Result<Sifted, LedgerError> {
    match ledger.append_shared(records, awaited).await {
        Ok(receipts) => Ok(Sifted { receipts, refused: Vec::new() }),
        Err(error) if is_refusal(&error) => sift(ledger, records, error).await,
        Err(error) => Err(error),
    }
}

/// `whole` is why all of them together were refused.
async fn sift(ledger: &dyn Ledger, records: &[Record], whole: LedgerError) -> Result<Sifted, LedgerError> {
    let mut sifted = Sifted::default();
    let mut waiting = vec![(0, records)];
    let mut known = Some(whole);
    while let Some((first, part)) = waiting.pop() {
        let appended = match known.take() {
            Some(error) => Err(error),
            None => ledger.append_batch(part).await,
        };
        match appended {
            Ok(receipts) => {
                let traces = part.iter().enumerate().filter(|(_, record)| matches!(record, Record::Trace(_)));
                sifted.receipts.extend(traces.map(|(place, _)| first + place).zip(receipts));
            }
            Err(error) if !is_refusal(&error) => return Err(error),
            Err(error) => match part {
                [] => {}
                [Record::Trace(_)] => sifted.refused.push((first, error)),
                [record @ Record::Row(_)] => {
                    let refused = without_payloads(ledger, record, error).await?;
                    sifted.refused.extend(refused.map(|error| (first, error)));
                }
                _ => {
                    let (one, other) = part.split_at(part.len() / 2);
                    waiting.extend([(first + one.len(), other), (first, one)]);
                }
            },
        }
    }
    Ok(sifted)
}

/// A payload may hold what a database cannot: half of a surrogate pair, say. Then the row is worth more than its payload.
async fn without_payloads(
    ledger: &dyn Ledger,
    record: &Record,
    error: LedgerError,
) -> Result<Option<LedgerError>, LedgerError> {
    let mut plain = record.clone();
    if let Record::Row(row) = &mut plain {
        let omitted =
            || JsonText::from_checked(Bytes::from_static(br#"{"omitted":"the store cannot hold this payload"}"#));
        row.input = row.input.as_ref().map(|_| omitted());
        row.output = row.output.as_ref().map(|_| omitted());
    }
    match ledger.append_batch(&[plain]).await {
        Ok(_) => Ok(None),
        Err(again) if is_refusal(&again) => Ok(Some(error)),
        Err(away) => Err(away),
    }
}

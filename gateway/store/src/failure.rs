//! What a database's refusal means for the caller.

use gateway_core::BoxError;
use gateway_core::ports::{LedgerError, StoreError};
use gateway_core::trace::Unhashable;
use sqlx::error::ErrorKind;

/// The store works, but will never take this record: repeating it is pointless, and it must not block the others.
/// Found as the source of a [`LedgerError::Unavailable`].
#[derive(Debug, thiserror::Error)]
#[error("the store refuses the record")]
pub struct Refused(#[source] pub BoxError);

/// Why a batch was not appended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// A row with this key is there already, or one it needs is not: a replay, or something remembered that has gone.
    #[error("the batch does not fit what is stored")]
    Conflict(#[source] BoxError),
    #[error(transparent)]
    Refused(#[from] Refused),
    #[error("the database cannot be used")]
    Away(#[source] BoxError),
}

impl From<sqlx::Error> for Failure {
    fn from(error: sqlx::Error) -> Self {
        let Some(database) = error.as_database_error() else {
            return match error {
                sqlx::Error::Encode(_) => Self::Refused(Refused(error.into())),
                error => Self::Away(error.into()),
            };
        };
        match database.kind() {
            ErrorKind::UniqueViolation | ErrorKind::ForeignKeyViolation => Self::Conflict(error.into()),
            ErrorKind::NotNullViolation | ErrorKind::CheckViolation | ErrorKind::ExclusionViolation => {
                Self::Refused(Refused(error.into()))
            }
            // Postgres: class 22 is data that cannot be what the column wants, 54 a limit of the program itself.
            _ if database
                .code()
                .is_some_and(|code| code.len() == 5 && (code.starts_with("22") || code.starts_with("54"))) =>
            {
                Self::Refused(Refused(error.into()))
            }
            _ => Self::Away(error.into()),
        }
    }
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ffi;
        match error.sqlite_error().map(|error| error.extended_code) {
            Some(
                ffi::SQLITE_CONSTRAINT_UNIQUE | ffi::SQLITE_CONSTRAINT_PRIMARYKEY | ffi::SQLITE_CONSTRAINT_FOREIGNKEY,
            ) => Self::Conflict(error.into()),
            Some(
                ffi::SQLITE_CONSTRAINT_NOTNULL
                | ffi::SQLITE_CONSTRAINT_CHECK
                | ffi::SQLITE_CONSTRAINT_DATATYPE
                | ffi::SQLITE_TOOBIG
                | ffi::SQLITE_MISMATCH,
            ) => Self::Refused(Refused(error.into())),
            _ => Self::Away(error.into()),
        }
    }
}

impl From<Unhashable> for Failure {
    fn from(error: Unhashable) -> Self {
        Self::Refused(Refused(error.into()))
    }
}

impl From<Failure> for LedgerError {
    fn from(failure: Failure) -> Self {
        Self::Unavailable(match failure {
            Failure::Conflict(error) => Refused(error).into(),
            Failure::Refused(refused) => refused.into(),
            Failure::Away(error) => error,
        })
    }
}

/// For questions, where every failure means the same.
pub(crate) fn unreadable(error: impl Into<BoxError>) -> LedgerError {
    LedgerError::Unavailable(error.into())
}

/// For the stores of tenants and tools.
pub(crate) fn unavailable(error: impl Into<BoxError>) -> StoreError {
    StoreError::Unavailable(error.into())
}

/// A row that was to be new; `what` names it in the user's words.
pub(crate) fn not_added(error: sqlx::Error, what: impl FnOnce() -> String) -> StoreError {
    match error.as_database_error().map(|database| database.kind()) {
        Some(ErrorKind::UniqueViolation) => StoreError::Exists(what()),
        Some(ErrorKind::ForeignKeyViolation) => StoreError::NotFound("the tenant".into()),
        Some(ErrorKind::CheckViolation | ErrorKind::NotNullViolation) => {
            StoreError::Invalid(format!("{} cannot be stored: {error}", what()))
        }
        _ => unavailable(error),
    }
}

/// The record is at fault, not the store.
pub(crate) fn is_refusal(error: &LedgerError) -> bool {
    match error {
        LedgerError::Unavailable(source) => source.is::<Refused>(),
        LedgerError::Full => false,
    }
}

//! Databases that tools may read: somebody's own, opened so that nothing can be written, whatever a statement says.
//!
//! Nothing is connected before it is asked for: a database that is away when the gateway starts is an answer to whoever asks
//! for its rows, and no reason not to start.

mod at_home;
mod demo_content;
mod postgres;
mod sqlite;

pub use at_home::AtHome;
pub use demo_content::create_demo_database;
pub use postgres::{PostgresReader, PostgresReading};
pub use sqlite::SqliteReader;

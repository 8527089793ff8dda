//! The stage on which the stories play: a real gateway process, real stores, real clients, and one stub upstream that counts.
//!
//! Everything lives in a temporary directory, on loopback, on free ports, and ends with the story.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a story that cannot go on should stop where it is"
)]

pub mod environment;
pub mod http;
pub mod messages;
pub mod process;
pub mod servers;
pub mod store;
pub mod stub;
pub mod tap;
pub mod wires;
pub mod world;

pub use http::{Answer, Client};
pub use store::Database;
pub use stub::{Piece, Step, Stub};
pub use tap::Tap;
pub use wires::{EventStream, Socket};
pub use world::{Agent, Kind, Node, World, WorldBuilder, manifest};

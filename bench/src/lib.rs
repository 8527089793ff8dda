//! The side-by-side comparison: the same MCP calls straight to a server, through nginx, and through Portreeve.
//!
//! `content` says what is sent and what must come back; `upstream` answers it; `wire` and `check` read an answer, `load` drives many of
//! them; `stage` starts everybody on loopback and `proc` reads what they used; `rounds` is the measurement, `report` the tables.
//! Nothing of the gateway is linked here: it is measured as users run it, as a process.

pub mod check;
pub mod cli;
pub mod content;
pub mod error;
pub mod handshake;
pub mod load;
pub mod plan;
pub mod proc;
pub mod report;
pub mod request;
pub mod rounds;
pub mod stage;
pub mod stats;
pub mod upstream;
pub mod verdict;
pub mod wire;

//! Statements labelled by a real server, if there are any.

//! stub
pub struct Gateway;

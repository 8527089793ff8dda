//! Questions to a database: a sentence becomes SQL (`grammar`), rows become a paragraph (`analysis`).
//!
//! Both are computed, never guessed: the same words give the same answer, and what is not understood is refused.

pub mod analysis;
pub mod grammar;

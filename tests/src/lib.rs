//! portreeve-tests

//! Showing that the rules in force keep their promises.

//! Documents that a generator wrote, with what is in them known.

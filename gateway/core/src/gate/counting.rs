//! How long a record will be as canonical JSON, without writing it.

use std::io;

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

/// Never too little: the order of keys does not matter for a length, and no number is longer than a float is counted as.
pub fn most_bytes(value: &impl Serialize) -> u64 {
    let mut count = Count(0);
    // Counting cannot fail, and our records have texts for keys.
    let _written = value.serialize(&mut Serializer::with_formatter(&mut count, Widest));
    count.0
}

struct Count(u64);

impl io::Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Widest;

impl Formatter for Widest {
    fn write_f64<W: ?Sized + io::Write>(&mut self, writer: &mut W, _value: f64) -> io::Result<()> {
        // `-1.2345678901234567e-123`, and one to spare.
        writer.write_all(&[b'0'; 25])
    }
}

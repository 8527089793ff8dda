//! Steps over parts of a document without reading them.

use std::ops::Range;

pub(super) fn end_of_string(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    loop {
        let sign = at + memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes.get(sign) == Some(&b'"') {
            return Some(sign);
        }
        at = sign + 2;
    }
}

/// A reader that only steps over things.
pub(super) struct Look<'t> {
    pub text: &'t [u8],
    pub at: usize,
}

impl Look<'_> {
    pub fn value(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            match self.text.get(self.at)? {
                b'"' => self.at = end_of_string(self.text, self.at + 1)? + 1,
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                    continue;
                }
                b'}' | b']' => {
                    depth = depth.checked_sub(1)?;
                    self.at += 1;
                }
                b',' | b':' | b' ' | b'\n' | b'\r' | b'\t' => {
                    self.at += 1;
                    continue;
                }
                _ => {
                    let plain = |byte: &u8| !matches!(byte, b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t');
                    self.at += self.text.get(self.at..)?.iter().take_while(|byte| plain(byte)).count();
                }
            }
            if depth == 0 {
                return Some(());
            }
        }
    }

    /// The members of the object that begins here, each as its name and its value lie, until one is taken.
    pub fn member<T>(&mut self, mut take: impl FnMut(Range<usize>, Range<usize>) -> Option<T>) -> Option<T> {
        self.at += 1;
        loop {
            self.blank();
            if self.text.get(self.at) != Some(&b'"') {
                return None;
            }
            let start = self.at + 1;
            let end = end_of_string(self.text, start)?;
            self.at = end + 1;
            self.blank();
            self.at += 1;
            self.blank();
            let value = self.at;
            self.value()?;
            if let Some(taken) = take(start..end, value..self.at) {
                return Some(taken);
            }
            self.blank();
            if self.text.get(self.at) != Some(&b',') {
                return None;
            }
            self.at += 1;
        }
    }

    pub fn blank(&mut self) {
        while matches!(self.text.get(self.at), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }
}

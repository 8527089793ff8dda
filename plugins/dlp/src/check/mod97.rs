//! ISO 7064 mod 97-10, the checksum of an IBAN.

/// The first four characters go to the end, letters count from 10, blanks do not count.
pub fn passes(value: &str) -> bool {
    let letters: smallvec::SmallVec<[u8; 40]> = value.bytes().filter(u8::is_ascii_alphanumeric).collect();
    let Some((head, rest)) = letters.split_at_checked(4) else {
        return false;
    };
    let mut remainder: u32 = 0;
    for letter in rest.iter().chain(head) {
        remainder = match letter {
            digit @ b'0'..=b'9' => remainder * 10 + u32::from(digit - b'0'),
            letter => remainder * 100 + u32::from(letter.to_ascii_uppercase() - b'A') + 10,
        } % 97;
    }
    remainder == 1
}

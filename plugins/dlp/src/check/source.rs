//! What stands where a password would, in source code and in sentences: a name, a call, an explanation.

/// Types and states: what a declaration or a message says of a password, never one.
const STATES: [&str; 20] = [
    "string",
    "boolean",
    "required",
    "optional",
    "hidden",
    "secret",
    "password",
    "disabled",
    "enabled",
    "incorrect",
    "expired",
    "unknown",
    "invalid",
    "missing",
    "none",
    "null",
    "true",
    "false",
    "text",
    "input",
];

pub fn is_state(value: &str) -> bool {
    let value = value.trim_end_matches([';', ',', '.', '|', '?']);
    STATES.iter().any(|state| value.eq_ignore_ascii_case(state))
}

/// `r.password`, `config.db.secret`, `process.env.KEY`, `self.token`: names with dots between them and no digit.
pub fn is_code(value: &str) -> bool {
    let name = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'$'))
    };
    let value = value.trim_end_matches(['.', ':', ',', ';', '?', '|', '&']);
    let dotted = value.contains('.') && value.split('.').all(name);
    let arrow = value.contains("->") || value.contains("::") || value.contains("=>") || value.contains("||");
    dotted
        || (arrow
            && value.bytes().all(|byte| {
                byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'>' | b':' | b'=' | b'|' | b'.')
            }))
        || value.contains("()")
}

/// Words that a sentence has and a passphrase of drawn words has not.
const SPOKEN: [&str; 30] = [
    "is", "are", "be", "must", "should", "the", "a", "an", "your", "you", "not", "at", "of", "for", "with", "please",
    "cannot", "can", "may", "to", "and", "or", "in", "this", "that", "has", "was", "will", "required", "invalid",
];

/// Three words and more, one of which only sentences have.
pub fn is_prose(value: &str) -> bool {
    let words: Vec<_> = value.split_whitespace().collect();
    let spoken = |word: &&str| {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        SPOKEN.iter().any(|known| bare.eq_ignore_ascii_case(known))
    };
    words.len() >= 3 && words.iter().any(spoken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_sentences_are_no_passwords() {
        assert!(is_state("string;") && is_state("Required"));
        for (value, code, prose) in [
            ("r.password", true, false),
            ("getpass.getpass", true, false),
            ("self->password", true, false),
            ("hunter2.example", false, false),
            ("c0rrect-horse", false, false),
            ("correct horse battery staple", false, false),
            ("must be at least 8 characters", false, true),
            ("Password is required", false, true),
            ("p4ss w0rd", false, false),
        ] {
            assert!(!is_state(value), "{value}");
            assert_eq!((is_code(value), is_prose(value)), (code, prose), "{value}");
        }
    }
}

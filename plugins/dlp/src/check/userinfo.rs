//! `scheme://user:password@host`, and not `scheme://host:port/path,somebody@elsewhere`.

pub fn holds(value: &str) -> bool {
    let Some((_, rest)) = value.split_once("://") else { return true };
    let Some((userinfo, _)) = rest.rsplit_once('@') else { return true };
    let Some((_, password)) = userinfo.split_once(':') else { return true };
    let port = password.bytes().take_while(u8::is_ascii_digit).count();
    // A port ends where a path, a list or a query begins.
    !((1..=5).contains(&port)
        && password.as_bytes().get(port).is_some_and(|next| matches!(next, b'/' | b',' | b';' | b'?' | b'|')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_no_password() {
        for (value, expected) in [
            ("postgres://app:s3cr3t@db/x", true),
            ("redis://h:6379/0,jane@example.org", false),
            ("redis://:6379abc@h/0", true),
            ("postgres://app:12345@db/x", true),
            ("https://h:8443,jane@example.org", false),
        ] {
            assert_eq!(holds(value), expected, "{value}");
        }
    }
}

//! Addresses of machines that mean somebody: IPv4, IPv6 and hardware addresses, without those that mean nobody.

use std::net::{Ipv4Addr, Ipv6Addr};

/// Loopback, unspecified, multicast beyond use and masks name no machine; whether it is a version is for its surroundings to say.
pub fn ipv4(text: &str) -> bool {
    let Ok(address) = text.parse::<Ipv4Addr>() else { return false };
    let [first, second, third, fourth] = address.octets();
    // 0.x is nobody, 255.x is a mask, `1.0.0.0` and `1.2.3.4` stand in every text on versions.
    let written_down =
        matches!([first, second, third, fourth], [1, 2, 3, 4]) || (first < 10 && [second, third, fourth] == [0; 3]);
    !address.is_loopback() && first != 0 && first != 255 && !written_down
}

pub fn ipv6(text: &str) -> bool {
    // `%eth0` names the interface of a link's own address.
    let (written, zone) = text.split_once('%').map_or((text, false), |(written, _)| (written, true));
    let Ok(address) = written.parse::<Ipv6Addr>() else { return false };
    let groups = written.split(':').filter(|group| !group.is_empty()).count()
        + usize::from(zone)
        + usize::from(written.contains('.'));
    // Eight pairs are a part of a fingerprint.
    if !text.contains("::") && text.split(':').all(|group| group.len() == 2) {
        return false;
    }
    // `::1` and `::` are nobody; `a::b` is a path in many a language.
    !address.is_loopback() && !address.is_unspecified() && groups >= 3
}

/// Six pairs with one kind of separator, or three groups of four with dots. Not all alike.
pub fn mac(text: &str) -> bool {
    let pairs = |separator: char| {
        let parts: Vec<_> = text.split(separator).collect();
        parts.len() == 6 && parts.iter().all(|part| part.len() == 2 && hex(part))
    };
    let dotted = {
        let parts: Vec<_> = text.split('.').collect();
        parts.len() == 3 && parts.iter().all(|part| part.len() == 4 && hex(part))
    };
    let digits: Vec<_> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let alike = digits.windows(2).all(|pair| pair.first() == pair.last());
    // `12:34:56:78:90:12` is somebody counting.
    let counted = digits.windows(2).all(|pair| matches!(pair, [one, next] if *next == one + 1 || (*one, *next) == (b'9', b'0') || (*one, *next) == (b'0', b'1')));
    ([':', '-', '_', ' '].into_iter().any(pairs) || dotted) && !alike && !counted
}

fn hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_masks_and_nobody_do_not_count() {
        for (text, expected) in [
            ("192.168.1.20", true),
            ("203.0.113.7", true),
            ("10.0.0.5", true),
            ("3.206.134.0", true),
            ("8.8.8.8", true),
            ("12.3.4.5", true),
            ("4.0.0.0", false),
            ("1.2.3.4", false),
            ("127.0.0.1", false),
            ("0.0.0.0", false),
            ("255.255.255.0", false),
            ("300.1.1.1", false),
            ("203.0.113", false),
        ] {
            assert_eq!(ipv4(text), expected, "{text}");
        }
        for (text, expected) in [
            ("2001:db8:85a3::8a2e:370:7334", true),
            ("fe80::1ff:fe23:4567:890a", true),
            ("::ffff:192.0.2.1", true),
            ("fe80::1%eth0", true),
            ("::1", false),
            ("::", false),
            ("std::io", false),
            ("12:30:45", false),
            ("ab:cd:ef:01:23:45:67:89", false),
        ] {
            assert_eq!(ipv6(text), expected, "{text}");
        }
        for (text, expected) in [
            ("00:1b:44:11:3a:b7", true),
            ("00-1B-44-11-3A-B7", true),
            ("001b.4411.3ab7", true),
            ("00:00:00:00:00:00", false),
            ("ff:ff:ff:ff:ff:ff", false),
            ("00:1b-44:11:3a:b7", false),
            ("12:34:56:78:90:12", false),
            ("12:30:45", false),
        ] {
            assert_eq!(mac(text), expected, "{text}");
        }
    }
}

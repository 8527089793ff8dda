//! Values that something cuts, or that signs and letters of others were put into; and texts that only look so.

use super::shipped::{ALL, masked, masked_json, told};
use super::template::expanded;

/// `|` stands where a value is cut; the samples have no other.
#[test]
fn a_value_is_found_whole_behind_the_end_of_a_line() {
    let mut missed = Vec::new();
    for sample in [
        "ghp_{alnum:14}|{alnum:22}",
        "AKIA{base32:8}|{base32:8}",
        "glpat-{alnum:6}|{alnum:14}",
        "xoxb-123456789012-1234567890123-{alnum:10}|{alnum:14}",
        "sk_live_{alnum:12}|{alnum:12}",
        "dop_v1_{hex:20}|{hex:20}|{hex:24}",
        "SE45|5000 0000 0583 9825 7466",
        "aws_secret_access_key: {base64:20}|{base64:20}",
    ] {
        for cut in ["\n", "\r\n", "\n    ", "\n\t", "\n> ", "\\\n", "<br>\n"] {
            let text = format!("the key {}, as agreed\n- and more", expanded(sample).replace('|', cut));
            let last = expanded(sample).rsplit('|').next().unwrap_or_default().to_owned();
            for shown in [masked(&text), masked_json(&text)] {
                if shown.contains(&last) {
                    missed.push(format!("{shown:?}"));
                }
            }
        }
    }
    assert!(missed.is_empty(), "{}:\n{}", missed.len(), missed.join("\n"));
}

#[test]
fn a_value_is_found_in_strings_that_are_joined() {
    for joined in ["' + '", "' . '", "' || '", "'  '", "' & '", "' ..  '"] {
        let text = format!("key = '{}'", expanded("ghp_{alnum:14}|{alnum:22}").replace('|', joined));
        assert_eq!(told(&ALL, &text).len(), 1, "{text}");
        assert_eq!(masked(&text), "key = '[GITHUB_TOKEN]'", "{text}");
    }
    let list = expanded("['AKIA{base32:6}|{base32:10}']").replace('|', "', '");
    assert_eq!(told(&ALL, &format!("''.join({list})")).len(), 1);
    assert_eq!(told(&ALL, &format!("names = {list}")), []);
    // Each a value, or a column, of its own.
    let (slack, github) = (expanded("xoxb-123456789012-1234567890123-{alnum:24}"), expanded("ghp_{alnum:36}"));
    assert_eq!(masked(&format!("\"{slack}\" \"{github}\"")), "\"[SLACK_TOKEN]\" \"[GITHUB_TOKEN]\"");
    assert_eq!(masked(&format!("\"{github}\"\t\"orchard7Bridge\"")), "\"[GITHUB_TOKEN]\"\t\"orchard7Bridge\"");
}

#[test]
fn letters_and_signs_that_were_put_into_a_value_hide_nothing() {
    for sample in [
        "\u{410}KIA{base32:16}",
        "\u{455}k-\u{430}nt-api03-{alnum:93}AA",
        "g\u{4bb}\u{440}_{alnum:36}",
        "\u{391}T611904300234573201",
        "1\u{fe0f}\u{20e3}2\u{fe0f}\u{20e3}3\u{fe0f}\u{20e3}-4\u{fe0f}\u{20e3}5\u{fe0f}\u{20e3}-6\u{fe0f}\u{20e3}7\u{fe0f}\u{20e3}8\u{fe0f}\u{20e3}9\u{fe0f}\u{20e3}",
        "ntn_6**2381{digits:7}{alnum:14}**{alnum:21}",
        "lla`rsen@corp`.example.org",
        "client ip 203[.]0[.]113[.]77",
        "rk\\_live\\_{alnum:24}",
        "email = String.fromCharCode(106, 97, 110, 101, 64, 101, 120, 97, 109, 112, 108, 101, 46, 111, 114, 103)",
        "0000  6a 61 6e 65 2e 64 6f 65 40 65 78 61 6d 70 6c 65\n0010  2e 6f 72 67\n",
        "-----BEGIN PRIV\u{410}TE KEY-----\nMII{base64:61}\n-----END PRIVATE KEY-----",
    ] {
        let text = expanded(sample);
        assert!(!told(&ALL, &text).is_empty(), "{text}");
    }
}

/// Lines, lists and words of everyday.
#[test]
fn what_only_looks_cut_stays() {
    for text in [
        "tokens that begin with sk_live_\nmust never be committed",
        "the prefix is ghp_\nand 36 letters follow",
        "password\nusername\nhost",
        "[\"passwd:gid\", \"passwd:name\", \"passwd:shell\"]",
        "let a*b = c*d; if x[0] (y) {z}",
        "use `token`s and `secret`s, *not* **passwords**",
        "\u{41a}\u{442}\u{43e}-\u{442}\u{43e} \u{43e} COVID-19, API-\u{441}\u{435}\u{440}\u{432}\u{435}\u{440}, 5-\u{435}",
        "9f2c41d0a7b3e5f6\n0718293a4b5c6d7e",
        "fill([0, 1, 2, 3]) bytes([1, 2, 3, 4, 5, 6, 7, 8])",
    ] {
        assert_eq!(told(&ALL, text), [], "{text}");
    }
}

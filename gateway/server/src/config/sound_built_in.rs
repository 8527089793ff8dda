//! The built-in servers' sections, checked, with what the environment adds.

use std::path::Path;
use std::time::Duration;

use super::Secret;
use super::built_in::{Backend, Llm, Supabase, SupabaseConfig};
use super::environment::Lookup;
use super::numbers::Count;
use super::problem::Problems;
use super::sound::is_loopback;
use super::written::{WrittenLlm, WrittenSupabase};

const URL: &str = "SUPABASE_URL";
/// The first that is set counts.
const KEYS: [&str; 4] = ["SUPABASE_KEY", "SUPABASE_SERVICE_ROLE_KEY", "SUPABASE_SECRET_KEY", "SUPABASE_ANON_KEY"];
const SECTION: &str = "built_in.supabase";

/// `replaced`: an upstream has its namespace, so that nothing in the environment is about it.
pub fn supabase(
    written: WrittenSupabase,
    replaced: bool,
    base: &Path,
    lookup: Lookup<'_>,
    problems: &mut Problems,
) -> Supabase {
    let set = |name: &str| lookup(name).filter(|value| !replaced && !value.trim().is_empty());
    let allowed_tables = names(written.allowed_tables, "allowed_tables", problems);
    let schemas = names(written.schemas, "schemas", problems).unwrap_or_else(|| vec!["public".into()]);
    let max_rows = within(written.max_rows, "max_rows", 1_000, 10_000, problems);
    let timeout = Duration::from_secs(within(written.timeout_seconds, "timeout_seconds", 30, 60, problems));
    let role = written.role.filter(|role| {
        let plain = is_word(role) && role.chars().all(|c| !c.is_ascii_uppercase());
        if !plain {
            problems.say(format!("{SECTION}.role"), "must be small letters, digits and `_`");
        }
        plain
    });
    let mut word = |value: Option<String>, key: &str, usual: &str| {
        let value = value.unwrap_or_else(|| usual.to_owned());
        if !is_word(&value) {
            problems.say(format!("{SECTION}.rpc.{key}"), "must be letters, digits and `_`");
        }
        value
    };
    let function = word(written.rpc.function, "function", "exec_sql");
    let argument = word(written.rpc.argument, "argument", "query");
    let Some(url) = written.url.or_else(|| set(URL)) else {
        return Supabase::Lacks(vec![URL.into()]);
    };
    let backend = match url.split_once(':').map(|(scheme, _)| scheme) {
        Some("postgres" | "postgresql") => Backend::Postgres { url: Secret::new(url), role, schemas },
        Some("sqlite") => {
            let file = url.trim_start_matches("sqlite:").trim_start_matches("//");
            if file.is_empty() || file.contains('?') || file == ":memory:" {
                problems.say(format!("{SECTION}.url"), "names no file: expected `sqlite://FILE`");
            }
            Backend::Sqlite(base.join(file))
        }
        Some("http" | "https") if !is_safe(&url) => {
            problems.say(format!("{SECTION}.url"), PLAIN_TEXT);
            return Supabase::Lacks(Vec::new());
        }
        Some("http" | "https") => {
            let Some(key) = written.key.or_else(|| KEYS.into_iter().find_map(set)) else {
                return Supabase::Lacks(vec![KEYS[0].into()]);
            };
            let url = url.trim_end_matches('/').to_owned();
            Backend::Rest { url, key: Secret::new(key), function, argument, schemas }
        }
        _ => {
            let expected =
                "expected `postgres://user:password@host/db`, `https://PROJECT.supabase.co` or `sqlite://FILE`";
            problems.say(format!("{SECTION}.url"), expected);
            return Supabase::Lacks(Vec::new());
        }
    };
    let max_rows = usize::try_from(max_rows).unwrap_or(usize::MAX);
    Supabase::Complete(Box::new(SupabaseConfig { backend, allowed_tables, max_rows, timeout }))
}

pub const PLAIN_TEXT: &str = "must be an `https://` URL without a login in it, or `http://` on this machine";

pub fn llm(written: Option<WrittenLlm>, problems: &mut Problems) -> Option<Llm> {
    let WrittenLlm { endpoint, model, key, timeout_seconds } = written?;
    // The text itself is not repeated: it may hold a token.
    if !is_safe(&endpoint) {
        problems.say("llm.endpoint", PLAIN_TEXT);
    }
    if model.trim().is_empty() {
        problems.say("llm.model", "must not be empty");
    }
    let seconds = timeout_seconds.map_or(30, |count| count.0);
    if !(1..=600).contains(&seconds) {
        problems.say("llm.timeout_seconds", format!("is {seconds}, must be between 1 and 600"));
    }
    Some(Llm { endpoint, model, key: key.map(Secret::new), timeout: Duration::from_secs(seconds.clamp(1, 600)) })
}

/// A key goes there, so nobody on the way may read it.
pub fn is_safe(url: &str) -> bool {
    let safe = |uri: &http::Uri| {
        let host = uri.host().unwrap_or_default();
        let plain = uri.authority().is_some_and(|authority| !authority.as_str().contains('@'));
        plain && !host.is_empty() && (uri.scheme_str() == Some("https") || is_loopback(host))
    };
    url.parse().is_ok_and(|uri| safe(&uri))
}

fn names(written: Option<Vec<String>>, key: &str, problems: &mut Problems) -> Option<Vec<String>> {
    let names = written?;
    for (place, _) in names.iter().enumerate().filter(|(_, name)| name.trim().is_empty()) {
        problems.say(format!("{SECTION}.{key}[{place}]"), "must not be empty");
    }
    Some(names)
}

fn is_word(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    (1..=63).contains(&text.len()) && text.chars().all(plain) && !text.starts_with(|c: char| c.is_ascii_digit())
}

fn within(value: Option<Count>, key: &str, usual: u64, most: u64, problems: &mut Problems) -> u64 {
    let value = value.map_or(usual, |count| count.0);
    if (1..=most).contains(&value) {
        return value;
    }
    problems.say(format!("{SECTION}.{key}"), format!("is {value}, must be between 1 and {most}"));
    usual
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use super::super::Config;
    use super::*;

    fn read(text: &str, environment: &[(&str, &str)]) -> Result<Config, String> {
        let lookup =
            |name: &str| environment.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        let told = |problems: Vec<super::super::Problem>| {
            problems.iter().map(|problem| format!("{}: {}", problem.path, problem.what)).collect::<Vec<_>>().join("\n")
        };
        Config::parse(text, Some(Path::new("/etc/portreeve/portreeve.yaml")), &lookup).map_err(told)
    }

    fn lacks(names: &[&str]) -> Supabase {
        Supabase::Lacks(names.iter().map(|&name| name.to_owned()).collect())
    }

    // acceptance 86: what is missing is known by its name.
    #[test]
    fn the_namespace_is_there_once_it_is_complete() {
        let rest = ("SUPABASE_URL", "https://p.supabase.co/");
        for (text, environment, expected) in [
            ("{}", vec![], lacks(&["SUPABASE_URL"])),
            ("{}", vec![("SUPABASE_URL", " ")], lacks(&["SUPABASE_URL"])),
            ("{}", vec![rest], lacks(&["SUPABASE_KEY"])),
            ("{ upstreams: { supabase: { url: http://127.0.0.1:1/mcp } } }", vec![rest], lacks(&["SUPABASE_URL"])),
        ] {
            assert_eq!(read(text, &environment).unwrap().supabase, expected, "{text} {environment:?}");
        }
        let backend = |text: &str, environment: &[(&str, &str)]| match read(text, environment).unwrap().supabase {
            Supabase::Complete(complete) => complete.backend,
            Supabase::Lacks(names) => panic!("lacks {names:?}"),
        };
        let found = backend("{}", &[rest, ("SUPABASE_ANON_KEY", "anon"), ("SUPABASE_SECRET_KEY", "secret")]);
        let (function, argument) = ("exec_sql".to_owned(), "query".to_owned());
        let url = "https://p.supabase.co".to_owned();
        let schemas = vec!["public".to_owned()];
        assert_eq!(found, Backend::Rest { url, key: Secret::new("secret"), function, argument, schemas });
        let file = backend("{ built_in: { supabase: { url: sqlite://demo.db } } }", &[rest]);
        assert_eq!(file, Backend::Sqlite("/etc/portreeve/demo.db".into()), "the file's own word comes first");
        let direct = backend(
            "{ built_in: { supabase: { schemas: [app], role: reader } } }",
            &[("SUPABASE_URL", "postgres://h/d")],
        );
        let (url, role) = (Secret::new("postgres://h/d"), Some("reader".to_owned()));
        assert_eq!(direct, Backend::Postgres { url, role, schemas: vec!["app".into()] });
    }

    #[test]
    fn what_is_wrong_is_named_and_secrets_are_not_repeated() {
        let text = "
built_in:
  supabase:
    url: http://key:s3cret@db.example.com
    role: \"a b\"
    schemas: [\"\"]
    max_rows: 0
    timeout_seconds: 61
    rpc: { function: \"f()\" }
llm: { endpoint: \"http://models.example.com/?k=s3cret\", model: \" \" }
";
        let said = read(text, &[]).unwrap_err();
        for path in [
            "built_in.supabase.url:",
            "built_in.supabase.role:",
            "built_in.supabase.schemas[0]:",
            "built_in.supabase.max_rows:",
            "built_in.supabase.timeout_seconds:",
            "built_in.supabase.rpc.function:",
            "llm.endpoint:",
            "llm.model:",
        ] {
            assert!(said.contains(path), "{path} in {said}");
        }
        assert!(!said.contains("s3cret"), "{said}");
        assert!(read("{ llm: { endpoint: https://m/v1 } }", &[]).unwrap_err().contains("model"));
        assert_eq!(read("{}", &[]).unwrap().llm, None, "nothing is assumed");
    }
}

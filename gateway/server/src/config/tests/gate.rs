//! What a configuration opens of the Decision Gate.

use super::*;

#[test]
fn without_a_word_nothing_is_opened() {
    let gate = load("").unwrap().gate;
    assert_eq!(gate.runpacks, [PathBuf::from("conf/data/runpacks")]);
    let names: Vec<&str> = gate.providers.iter().map(|provider| provider.name.as_str()).collect();
    assert_eq!(names, ["time", "env", "adp"]);
    assert!(gate.providers.iter().all(|provider| !provider.allow_raw && provider.keys.is_none()));
    assert!(!gate.disclosure.allow_raw_values && gate.disclosure.require_provider_opt_in);
    assert!(!gate.lexicographic && !gate.deep_equals);
    let environment = gate.providers.iter().find(|provider| provider.name == "env").unwrap();
    let EvidenceSource::Environment { allowlist, overrides, .. } = &environment.source else {
        panic!("{environment:?}")
    };
    assert_eq!((allowlist.iter().map(String::as_str).collect::<Vec<_>>(), overrides), (vec!["DEPLOY_ENV"], &None));
    let away = load("store: { url: 'postgres://db/p' }").unwrap().gate;
    assert_eq!(away.runpacks, [PathBuf::from("conf/data/runpacks")]);
}

#[test]
fn what_is_written_is_taken() {
    let text = "
        gate:
          runpacks: [/srv/packs, more]
          trust: { default_policy: { require_signature: { keys: { k: keys/k.pub } } } }
          policy: { engine: static, static: { default: deny, rules: [{ effect: permit, target_kinds: [agent] }] } }
          providers:
            - { name: time, trust: audit }
            - { name: ci, kind: json, allow_raw: true, config: { root: ev, max_bytes: 2MiB } }
            - { name: http, config: { allowed_hosts: [a.example.com], timeout_ms: 100 } }";
    let gate = load(text).unwrap().gate;
    assert_eq!(gate.runpacks, [PathBuf::from("/srv/packs"), PathBuf::from("conf/more")]);
    assert_eq!(gate.dispatch.rules.len(), 1);
    let [time, ci, http] = gate.providers.as_slice() else { panic!("{:?}", gate.providers) };
    assert_eq!((&time.keys, http.keys.as_ref().map(BTreeMap::len)), (&None, Some(1)));
    assert_eq!(ci.keys.as_ref().and_then(|keys| keys.get("k")), Some(&PathBuf::from("conf/keys/k.pub")));
    let EvidenceSource::Files { root, max_bytes, .. } = &ci.source else { panic!("{ci:?}") };
    assert_eq!((root, *max_bytes, ci.allow_raw), (&PathBuf::from("conf/ev"), 2 << 20, true));
}

#[test]
fn each_problem_is_told_at_its_path() {
    for (text, expected) in [
        ("gate: { policy: { engine: static } }", "gate.policy.static: is missing: `engine: static` needs its rules"),
        ("gate: { policy: { static: { default: permit } } }", "gate.policy.static: is only read with `engine: static`"),
        (
            "gate: { providers: [{ name: weather }] }",
            "gate.providers[0].kind: `weather` is none of time, env, json, http, adp: say which with `kind`",
        ),
        ("gate: { providers: [{ name: time }, { name: time }] }", "gate.providers[1].name: `time` is there twice"),
        (
            "gate: { providers: [{ name: json }] }",
            "gate.providers[0].config.root: is missing: files are only read below it",
        ),
        (
            "gate: { providers: [{ name: time, config: { root: x } }] }",
            "gate.providers[0].config.root: is not for this kind of provider",
        ),
        (
            "gate: { providers: [{ name: ci, type: mcp, url: 'https://ci.example.com/mcp' }] }",
            "gate.providers[0].capabilities: is missing: a file of what the server can be asked",
        ),
        (
            "gate: { providers: [{ name: time, url: 'https://ci.example.com/mcp' }] }",
            "gate.providers[0].url: only means something with `type: mcp`",
        ),
        (
            "gate: { providers: [{ name: http, config: { timeout_ms: 0 } }] }",
            "gate.providers[0].config.timeout_ms: is 0, must be between 1 and 60000",
        ),
    ] {
        assert_eq!(problems_of(text), [expected], "{text}");
    }
}

#[test]
fn a_file_of_its_own_says_what_would_stand_here() {
    let home = tempfile::tempdir().unwrap();
    let (main, own) = (home.path().join("p.yaml"), home.path().join("gate.yaml"));
    let load = |own_text: &str, text: &str| {
        std::fs::write(&own, own_text).unwrap();
        Config::parse(text, Some(&main), &environment)
    };
    let told = |own_text: &str, text: &str| {
        let found = load(own_text, text).err().unwrap_or_default();
        let home = format!("{}/", home.path().display());
        found.iter().map(|problem| problem.to_string().replace(&home, "")).collect::<Vec<_>>()
    };
    let split = "providers: [{ name: env, config: { overrides: { WHO: '${TOKEN}' } } }]";
    let config = load(split, "gate: { file: gate.yaml, runpacks: [packs] }").unwrap();
    let EvidenceSource::Environment { overrides, .. } = &config.gate.providers[0].source else {
        panic!("{:?}", config.gate)
    };
    assert_eq!(overrides.as_ref().and_then(|values| values.get("WHO")).map(String::as_str), Some("t0p-secret"));
    assert_eq!(config.gate.runpacks, [home.path().join("packs")]);
    assert!(config.watched().contains(&own), "a change of it is worth reloading for");
    let both = told("runpacks: [more]", "gate: { file: gate.yaml, runpacks: [packs] }");
    assert_eq!(both, ["p.yaml: gate.runpacks: stands in `gate.yaml` as well"]);
    let nested = told("file: more.yaml", "gate: { file: gate.yaml }");
    assert_eq!(nested, ["p.yaml: gate.file: stands in `gate.yaml` as well"]);
    assert_eq!(told("colour: red", "gate: { file: gate.yaml }").len(), 1, "what is unknown here is unknown there");
    assert_eq!(told("- a", "gate: { file: gate.yaml }"), ["p.yaml: gate.file: `gate.yaml`: expected keys with values"]);
    assert!(told("a: [", "gate: { file: gate.yaml }")[0].starts_with("p.yaml: gate.file: gate.yaml: "));
    let away = told("", "gate: { file: away.yaml }");
    assert!(away[0].starts_with("p.yaml: gate.file: `away.yaml`: cannot be read"), "{away:?}");
}

// acceptance 113 a: the example's configuration loads.
#[test]
fn the_example_loads() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/examples/gate/portreeve.yaml");
    let config = Config::parse(&std::fs::read_to_string(&file).unwrap(), Some(&file), &environment).unwrap();
    assert_eq!(config.gate.providers.len(), 4);
    assert!(config.gate.disclosure.allow_raw_values);
}

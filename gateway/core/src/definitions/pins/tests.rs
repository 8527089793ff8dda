#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
use async_trait::async_trait;
use serde_json::json;

use super::*;
use crate::definitions::{Finding, NoScanner};
use crate::live::{Live, Suspended};
use crate::ports::StoreError;

#[derive(Default)]
struct Noted(Mutex<Vec<PinNews>>);

#[async_trait]
impl PinStore for Noted {
    async fn pins(&self) -> Result<Vec<PinRow>, StoreError> {
        Ok(Vec::new())
    }

    fn note(&self, news: PinNews) {
        self.0.lock().unwrap().push(news);
    }

    async fn accept(&self, _: &ToolName, _: &str, _: &Value, _: &str, _: bool) -> Result<(), StoreError> {
        Ok(())
    }
}

struct Blocks;

impl Scanner for Blocks {
    fn scan(&self, _: &str, _: &Value, _: &[Accepted<'_>]) -> Vec<Finding> {
        vec![Finding { rule: "r".into(), path: String::new(), message: String::new(), action: ScanAction::Block }]
    }
}

struct Stage {
    live: Arc<LiveHandle>,
    noted: Arc<Noted>,
    definitions: Definitions,
}

impl Stage {
    fn new(scanner: Arc<dyn Scanner>) -> Self {
        let (live, noted) = (Arc::new(LiveHandle::default()), Arc::new(Noted::default()));
        let sink = Arc::clone(&noted) as _;
        let definitions = Definitions::new(Arc::clone(&live), scanner, sink, SignedDuration::from_mins(10));
        definitions.follow(|tool| tool.tool() != "unclassified");
        Self { live, noted, definitions }
    }

    fn saw(&self, rule: PinRule, tool: Value) -> Standing {
        let name = ToolName::listed(&"notes".parse().unwrap(), tool["name"].as_str().unwrap()).unwrap();
        self.definitions.saw(&"notes".parse().unwrap(), rule, &["title"], &[tool], Timestamp::UNIX_EPOCH);
        self.definitions.standing(&self.live.load().pins, &name).0
    }

    /// What was noted becomes rows.
    fn stored(&self) {
        let noted = self.noted.0.lock().unwrap();
        let rows = noted.iter().map(|news| PinRow {
            tool: news.tool.clone(),
            hash: news.hash.clone(),
            state: news.state,
            definition: news.definition.clone(),
            findings: Vec::new(),
            seen_from: None,
            by: None,
            at: String::new(),
        });
        let pins = PinSet::of(rows.collect());
        self.live.replace(Live::new(1, HashMap::new(), Arc::new(pins), Suspended::default()));
    }
}

fn tool(description: &str) -> Value {
    json!({"name": "search", "title": "Search", "description": description})
}

#[test]
fn the_first_definition_is_accepted_and_another_is_held_back_at_once() {
    for stored in [true, false] {
        let stage = Stage::new(Arc::new(NoScanner));
        assert_eq!(stage.saw(PinRule::FirstUse, tool("Finds notes.")), Standing::Pinned);
        if stored {
            stage.stored();
        }
        assert_eq!(stage.saw(PinRule::FirstUse, tool("Finds   notes.")), Standing::Pinned, "no change at all");
        assert_eq!(
            stage.saw(PinRule::FirstUse, json!({"name": "search", "description": "Finds notes."})),
            Standing::Pinned,
            "an older revision has no title"
        );
        assert_eq!(stage.saw(PinRule::FirstUse, tool("Finds all.")), Standing::Quarantined);
        let noted = stage.noted.0.lock().unwrap().clone();
        let states: Vec<_> = noted.iter().map(|news| (news.state, news.changes.clone())).collect();
        assert_eq!(states, [(PinState::Accepted, vec![]), (PinState::Quarantined, vec!["/description".to_owned()])]);
        assert_eq!(noted[1].accepted.as_deref(), Some(noted[0].hash.as_str()), "changed, and not merely new");
        drop(noted);
        if !stored {
            assert_eq!(
                stage.saw(PinRule::FirstUse, tool("Finds some.")),
                Standing::Quarantined,
                "nor is a third accepted"
            );
            continue;
        }
        stage.stored();
        assert_eq!(stage.saw(PinRule::FirstUse, tool("Finds all.")), Standing::Quarantined, "it stays so");
        assert_eq!(stage.noted.0.lock().unwrap().len(), 2, "and is told once");
    }
}

#[test]
fn what_is_blocked_or_must_be_accepted_by_somebody_is_held_back_from_the_start() {
    let stage = Stage::new(Arc::new(Blocks));
    assert_eq!(stage.saw(PinRule::FirstUse, tool("Finds notes.")), Standing::Quarantined);
    let stage = Stage::new(Arc::new(NoScanner));
    assert_eq!(stage.saw(PinRule::Explicit, tool("Finds notes.")), Standing::Quarantined);
    let stage = Stage::new(Arc::new(Blocks));
    assert_eq!(stage.saw(PinRule::Off, tool("Finds notes.")), Standing::Unpinned);
    let unclassified = json!({"name": "unclassified", "description": "d"});
    assert_eq!(stage.saw(PinRule::FirstUse, unclassified), Standing::Unpinned);
}

#[test]
fn what_was_seen_is_good_until_it_is_late_or_announced_to_have_changed() {
    let stage = Stage::new(Arc::new(NoScanner));
    let (name, now) = ("notes/search".parse().unwrap(), Timestamp::UNIX_EPOCH);
    assert!(!stage.definitions.fresh(&name, now));
    stage.saw(PinRule::FirstUse, tool("Finds notes."));
    assert!(stage.definitions.fresh(&name, now));
    assert!(!stage.definitions.fresh(&"notes/other".parse().unwrap(), now));
    assert!(!stage.definitions.fresh(&name, now + SignedDuration::from_mins(11)));
    stage.definitions.stale(&"notes".parse().unwrap());
    assert!(!stage.definitions.fresh(&name, now) && stage.definitions.lists(&name));
    assert!(Definitions::default().fresh(&name, now), "nobody watches");
}

//! What one tool of a run hands to the next: only one after the other, only inside a namespace, only where nothing was given.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

struct Link {
    from: &'static str,
    /// The first of these that the result has.
    take: &'static [&'static str],
    /// Whether a result that is a list is taken whole.
    lists: bool,
    to: &'static str,
    parameter: &'static str,
}

const LINKS: [Link; 2] = [
    Link { from: "generate-sql", take: &["sql"], lists: false, to: "execute-sql", parameter: "sql" },
    Link {
        from: "execute-sql",
        take: &["data", "rows", "results"],
        lists: true,
        to: "analyze-results",
        parameter: "data",
    },
];

/// Of earlier results, what a later tool may take: a run of many tools keeps no more than that.
#[derive(Debug, Default)]
pub struct Chained {
    kept: BTreeMap<(String, &'static str), Value>,
}

impl Chained {
    /// A tool that succeeded. The newest counts.
    pub fn remember(&mut self, tool: &str, result: &Value) {
        let Some((namespace, name)) = tool.split_once('/') else { return };
        for link in LINKS.iter().filter(|link| link.from == name) {
            let taken = match result {
                Value::Array(_) if link.lists => Some(result),
                other => link.take.iter().find_map(|key| other.get(key)),
            };
            if let Some(taken) = taken {
                self.kept.insert((namespace.to_owned(), link.from), taken.clone());
            }
        }
    }

    /// Fills what is absent.
    pub fn fill(&self, tool: &str, params: &mut Map<String, Value>) {
        let Some((namespace, name)) = tool.split_once('/') else { return };
        for link in LINKS.iter().filter(|link| link.to == name) {
            if params.contains_key(link.parameter) {
                continue;
            }
            if let Some(taken) = self.kept.get(&(namespace.to_owned(), link.from)) {
                params.insert(link.parameter.to_owned(), taken.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::needless_pass_by_value)]
    use serde_json::json;

    use super::*;

    fn filled(chained: &Chained, tool: &str, params: Value) -> Value {
        let mut params = params.as_object().cloned().unwrap();
        chained.fill(tool, &mut params);
        Value::Object(params)
    }

    // acceptance 87: sql to rows to analysis, and never over what was given.
    #[test]
    fn the_next_tool_takes_what_it_lacks() {
        let mut chained = Chained::default();
        assert_eq!(filled(&chained, "supabase/execute-sql", json!({})), json!({}));
        chained.remember("supabase/generate-sql", &json!({ "sql": "select 1", "explanation": "one" }));
        assert_eq!(
            filled(&chained, "supabase/execute-sql", json!({ "max_rows": 3 })),
            json!({ "max_rows": 3, "sql": "select 1" })
        );
        assert_eq!(filled(&chained, "supabase/execute-sql", json!({ "sql": "mine" })), json!({ "sql": "mine" }));
        assert_eq!(filled(&chained, "other/execute-sql", json!({})), json!({}), "another namespace");
        assert_eq!(filled(&chained, "supabase/analyze-results", json!({})), json!({}));
        for result in [json!({ "data": [1] }), json!({ "rows": [1] }), json!({ "results": [1] }), json!([1])] {
            chained.remember("supabase/execute-sql", &result);
            assert_eq!(filled(&chained, "supabase/analyze-results", json!({})), json!({ "data": [1] }), "{result}");
        }
        chained.remember("supabase/execute-sql", &json!({ "data": [2], "rows": [3] }));
        assert_eq!(filled(&chained, "supabase/analyze-results", json!({})), json!({ "data": [2] }), "the newest");
        chained.remember("supabase/get-schema", &json!({ "data": [9], "sql": "x" }));
        assert_eq!(chained.kept.len(), 2, "nothing else is kept");
    }
}

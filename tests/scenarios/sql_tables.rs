//! A tool that may touch some tables touches no others, wherever in a statement they stand.

use portreeve_tests::{Kind, Stub, World, manifest};
use serde_json::json;

// acceptance 101: joins, subqueries, CTEs, quoted and schema-qualified names, set operations, functions that read tables.
#[tokio::test(flavor = "multi_thread")]
async fn only_listed_tables_are_touched() {
    let definition = |name: &str| json!({ "name": name, "inputSchema": { "type": "object" } });
    let stub = Stub::with_definitions(["postgres", "sqlite", "mysql"].map(definition).to_vec()).await;
    let handling = |dialect: &str| json!({ "sql": { "argument": "sql", "dialect": dialect, "allowed_tables": ["notes", "app.tags"] } });
    let dialects = ["postgres", "sqlite", "mysql"];
    let world = World::on(Kind::Sqlite)
        .upstream("db", json!({ "url": stub.url() }))
        .manifest_file(
            "db",
            json!({
                "manifests": dialects.map(|dialect| manifest("db", dialect, "READ_ONLY")),
                "handling": dialects.map(|dialect| (format!("db/{dialect}"), handling(dialect))).into_iter().collect::<serde_json::Map<_, _>>(),
            }),
        )
        .start();
    let agent = world.agent("a-5", "A5");
    let everywhere = [
        ("select * from notes", true),
        ("select n.a from notes n join app.tags t on t.id = n.id", true),
        ("with secrets as (select * from notes) select * from secrets", true),
        ("select * from secrets", false),
        ("select * from notes n join secrets s on s.id = n.id", false),
        ("select * from notes where id in (select id from secrets)", false),
        ("select (select max(a) from secrets) from notes", false),
        ("with notes as (select * from secrets) select * from notes", false),
        ("select * from notes union all select * from secrets", false),
        ("select * from other.notes", false),
        ("select * from tags", false),
        ("select * from information_schema.tables", false),
    ];
    for dialect in dialects {
        let own: &[(&str, bool)] = match dialect {
            "postgres" => &[
                ("select * from public.notes", true),
                ("select * from \"notes\"", true),
                ("select * from \"Notes\"", false),
                ("select * from notes, lateral (select * from secrets) s", false),
                ("select table_to_xml('secrets', true, false, '')", false),
                ("table secrets", false),
                ("select * from pg_class", false),
            ],
            "sqlite" => &[
                ("select * from main.notes", true),
                ("select * from [notes], \"NOTES\"", true),
                ("select * from 'secrets'", false),
                ("select * from sqlite_master", false),
                ("select * from pragma_table_info('secrets')", false),
            ],
            _ => &[
                ("select * from `notes`", true),
                ("select * from `secrets`", false),
                ("select * from Notes", false),
                ("select * from mysql.user", false),
                ("show tables", false),
            ],
        };
        for (sql, allowed) in everywhere.iter().chain(own) {
            let answer = agent.call(&format!("db/{dialect}"), json!({ "sql": sql })).await;
            match allowed {
                true => assert_eq!(answer.decision(), "allow", "{dialect}: {sql}: {}", answer.text()),
                false => {
                    assert!(answer.denied_by().contains(&"sql_guard".to_owned()), "{dialect}: {sql}: {}", answer.text())
                }
            }
        }
    }
    let passed = 3 * everywhere.iter().filter(|(_, allowed)| *allowed).count() + 2 + 2 + 1;
    assert_eq!(stub.calls(), passed, "nothing else arrived");
}

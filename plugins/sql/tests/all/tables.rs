//! A list of tables holds wherever a table can be named.

use gateway_sql::{Ask, Dialect};

use super::{guard, rule};

// acceptance 101
#[test]
fn only_listed_tables_are_read() {
    let guard = guard();
    let tables = ["notes".to_owned(), "app.people".to_owned()];
    let ask = Ask { tables: Some(&tables), ..Ask::of(Dialect::Postgres) };
    for (sql, refused, found) in [
        ("select * from notes", "-", "notes"),
        ("select * from public.notes n join app.people using (id)", "-", "app.people public.notes"),
        ("select 1", "-", ""),
        ("with secrets as (select * from notes) select * from secrets", "-", "notes"),
        ("with recursive r as (select 1 union all select * from r) select * from r, notes", "-", "notes"),
        ("with a as (select 1), b as (select * from a) select * from b", "-", ""),
        ("select * from notes n where exists (select 1 from n2 where n2.id = n.id)", "table", "n2 notes"),
        ("select * from people", "table", "people"),
        ("select * from \"Notes\"", "table", "Notes"),
        ("select * from NOTES", "-", "notes"),
        ("select * from \"notes\"", "-", "notes"),
        ("select * from app.notes", "table", "app.notes"),
        ("select * from notes, secrets", "table", "notes secrets"),
        ("select * from notes cross join lateral (select * from secrets) s", "table", "notes secrets"),
        ("select (select max(a) from secrets) from notes", "table", "notes secrets"),
        ("select * from notes union select * from secrets", "table", "notes secrets"),
        ("with notes as (select * from secrets) select * from notes", "table", "secrets"),
        // A plain WITH does not see itself: this is the table.
        ("with secrets as (select * from secrets) select * from secrets", "table", "secrets"),
        ("with a as (select * from b), b as (select 1) select * from a", "table", "b"),
        // What an inner WITH names is not known outside of it.
        ("select * from (with secrets as (select 1) select * from secrets) s, secrets", "table", "secrets"),
        ("with secrets as (select 1) select * from public.secrets", "table", "public.secrets"),
        ("with secrets as (select 1) select * from notes where id in (table secrets)", "-", "notes"),
        ("table secrets", "table", "secrets"),
        ("select * from only (secrets)", "table", "secrets"),
        ("select * from secrets tablesample system (100)", "table", "secrets"),
        ("select notes from notes order by (select 1 from secrets)", "table", "notes secrets"),
        ("select * from notes limit (select count(*) from secrets)", "table", "notes secrets"),
        ("select count(*) filter (where exists (table secrets)) from notes", "table", "notes secrets"),
        ("values ((select a from secrets))", "table", "secrets"),
        ("select * from rows from (unnest(array(select a from secrets))) x", "table", "secrets"),
        ("select case when exists (select 1 from secrets) then 1 end", "table", "secrets"),
        ("explain select * from secrets", "table", "secrets"),
        ("explain delete from secrets", "table", "secrets"),
        ("explain with secrets as (select 1) delete from secrets", "table", "secrets"),
        ("select * from db.public.notes", "table", "public.notes"),
        ("select table_to_xml('notes', true, false, '')", "-", "notes"),
        ("select table_to_xml('secrets', true, false, '')", "table", "secrets"),
        ("select table_to_xml('sec' || 'rets', true, false, '')", "table", ""),
        ("select table_to_xml(16384, true, false, '')", "table", ""),
        ("select table_to_xml('16384', true, false, '')", "table", ""),
        ("select table_to_xml(nulls => true, tbl => 'secrets', tableforest => false, targetns => '')", "table", ""),
        ("select pg_relation_size('secrets')", "table", "secrets"),
        ("select 'secrets'::regclass", "table", "secrets"),
        ("select 'notes'::regclass", "catalogue", "notes"),
        (
            "select 'notes'::regclass::oid, pg_relation_size('notes'::regclass), to_regclass('notes') is null",
            "-",
            "notes",
        ),
        ("select 'notes'::varchar::regclass::text", "-", "notes"),
        ("select null::notes, (null::public.notes).*, 'a'::text, '{}'::int[], 1::numeric(5, 2)", "-", ""),
        ("select 'x'::citext, '[1]'::vector, 'a=>1'::hstore, null::uuid", "-", ""),
        ("select 'integer'::regtype, 'text[]'::regtype", "-", ""),
        ("select '16384'::regclass", "catalogue", ""),
        ("select 16384::regclass::text", "catalogue", ""),
        ("select cast(a as regclass) from notes", "catalogue", "notes"),
        ("select 'lower'::regproc", "catalogue", ""),
        ("select '1'::regtype", "catalogue", ""),
        ("select * from pg_class", "catalogue", "pg_class"),
        ("select * from pg_catalog.pg_class", "catalogue", "pg_catalog.pg_class"),
        ("select * from information_schema.tables", "catalogue", "information_schema.tables"),
        ("select * from pg_toast.pg_toast_1234", "catalogue", "pg_toast.pg_toast_1234"),
        ("select * from pg_temp.notes", "catalogue", "pg_temp.notes"),
        ("select has_table_privilege('secrets', 'select')", "catalogue", ""),
        ("select pg_get_viewdef('secrets'::regclass)", "table", "secrets"),
        ("show search_path", "catalogue", ""),
        ("insert into notes select * from secrets", "statement", "notes secrets"),
    ] {
        let read = guard.read(sql, &ask);
        assert_eq!((rule(&read), read.tables.join(" ").as_str()), (refused, found), "{sql}: {read:?}");
    }
}

#[test]
fn catalogues_may_be_listed_and_a_write_is_held_to_the_list() {
    let guard = guard();
    let tables = ["notes".to_owned(), "pg_class".to_owned(), "information_schema.tables".to_owned()];
    let ask = Ask { tables: Some(&tables), ..Ask::of(Dialect::Postgres) };
    for (sql, beyond) in [
        ("select * from pg_class, information_schema.tables", "-"),
        ("select * from pg_catalog.pg_class", "catalogue"),
        ("update notes set a = 1", "-"),
        ("update secrets set a = 1", "table"),
        ("with secrets as (select 1) update secrets set a = 1", "table"),
        ("drop table notes", "table"),
        ("select * into notes2 from notes", "table"),
        ("copy secrets from stdin", "table"),
    ] {
        let read = guard.read(sql, &ask);
        assert_eq!(read.beyond_writing.map_or("-", |refusal| refusal.rule.as_str()), beyond, "{sql}");
    }
    let none = Ask { tables: Some(&[]), ..Ask::of(Dialect::Postgres) };
    assert_eq!(rule(&guard.read("select * from notes", &none)), "table", "an empty list is not no list");
}

#[test]
fn without_a_list_tables_are_told_all_the_same() {
    let read =
        guard().read("select * from b, a.c where 'd'::regclass = pg_relation_size('e')", &Ask::of(Dialect::Postgres));
    assert!(read.allowed());
    assert_eq!(read.tables, ["a.c", "b", "e"]);
}

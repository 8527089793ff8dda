//! What PostgreSQL's statements are, one line each.

use gateway_sql::{Ask, Class, Dialect, Kind};

use super::{guard, read, rule};

// acceptance 100
#[test]
fn statements_are_what_they_do() {
    let guard = guard();
    for (sql, class, refused) in [
        ("select * from t", "read", "-"),
        ("SELECT updated_at, 'DROP' FROM \"delete\"", "read", "-"),
        ("with a as (select 1) select * from a;", "read", "-"),
        ("-- drop table t\nselect 1 /* delete /* nested */ */", "read", "-"),
        ("select $$drop table t$$, $1", "read", "-"),
        ("values (1), (2)", "read", "-"),
        ("table t", "read", "-"),
        ("select 1 union all select 2 order by 1 limit 3 offset 1", "read", "-"),
        ("select * from t tablesample bernoulli (10) repeatable (1)", "read", "-"),
        ("select * from xmltable('/a' passing xml '<a/>' columns b int path '@b')", "read", "-"),
        ("select json_value(j, '$.a' returning int default 0 on empty) from t", "read", "-"),
        (
            "select * from json_table('[1]'::jsonb, '$[*]' columns (a int path '$', nested '$.b' columns (c text)))",
            "read",
            "-",
        ),
        (
            "select sum(a) filter (where b > 0) over (partition by c order by d rows between 1 preceding and current row) from t",
            "read",
            "-",
        ),
        ("select percentile_cont(0.5) within group (order by a) from t", "read", "-"),
        ("select a[1:2], (b).c, array[1,2] @> array[1], row(1, 2), x at time zone 'utc' from t", "read", "-"),
        (
            "select extract(year from d), overlay('a' placing 'b' from 1), trim(both from x), position('a' in b) from t",
            "read",
            "-",
        ),
        ("select current_user, current_date, localtimestamp, session_user", "read", "-"),
        (
            "select * from t where (a, b) in (select 1, 2) and exists (select 1) and c = any (array[1]) and d > all (select 2)",
            "read",
            "-",
        ),
        ("select grouping(a), a from t group by grouping sets ((a), ()) having count(*) > 1", "read", "-"),
        (
            "with recursive r(n) as (select 1 union all select n + 1 from r where n < 5) cycle n set c using p select * from r",
            "read",
            "-",
        ),
        ("select pg_catalog.lower('A') operator(pg_catalog.||) 'b'", "read", "-"),
        ("show search_path", "read", "-"),
        ("explain select 1", "read", "-"),
        ("explain (analyze, buffers) select 1", "read", "-"),
        ("explain update t set a = 1", "read", "-"),
        ("explain (analyze off) delete from t", "read", "-"),
        ("select E'\\'; drop table t; --'", "read", "-"),
        ("select ts_rewrite('a'::tsquery, 'b'::tsquery, 'c'::tsquery)", "read", "-"),
        // The seed's five
        ("DROP TABLE t", "write", "statement"),
        ("truncate t", "write", "statement"),
        ("alter table t add b int", "write", "statement"),
        ("/* hi */ DeLeTe from t", "write", "statement"),
        ("update t set a = 1", "write", "statement"),
        ("with x as (delete from t returning *) select * from x", "write", "statement"),
        ("select 1; drop table t", "write", "statement"),
        // Every other write
        ("insert into t values (1)", "write", "statement"),
        ("insert into t values (1) on conflict (lower(a)) do update set b = 2 returning c", "write", "statement"),
        ("merge into t using u on t.a = u.a when matched then delete", "write", "statement"),
        ("with x as (insert into t values (1) returning *) select * from x", "write", "statement"),
        ("select * into u from t", "write", "statement"),
        ("explain (analyze) select * into u from t", "write", "statement"),
        ("explain select * into u from t", "write", "statement"),
        ("create table t (a int)", "write", "statement"),
        ("create table u as select 1", "write", "statement"),
        ("create view v as select 1", "write", "statement"),
        ("create function f() returns int language sql as 'select 1'", "write", "statement"),
        ("grant all on t to u", "write", "statement"),
        ("revoke all on t from u", "write", "statement"),
        ("refresh materialized view m", "write", "statement"),
        ("comment on table t is 'x'", "write", "statement"),
        ("vacuum t", "write", "statement"),
        ("analyze t", "write", "statement"),
        ("explain analyze update t set a = 1", "write", "statement"),
        ("explain (analyze false, analyze true) delete from t", "write", "statement"),
        ("explain (analyze) with x as (delete from t returning 1) select 1", "write", "statement"),
        // Neither
        ("copy t to stdout", "side_effect", "statement"),
        ("copy t from program 'id'", "side_effect", "statement"),
        ("do $$ begin end $$", "side_effect", "statement"),
        ("call p()", "side_effect", "statement"),
        ("set role postgres", "side_effect", "statement"),
        ("reset all", "side_effect", "statement"),
        ("begin", "side_effect", "statement"),
        ("commit", "side_effect", "statement"),
        ("prepare p as select 1", "side_effect", "statement"),
        ("execute p", "side_effect", "statement"),
        ("explain execute p", "side_effect", "statement"),
        ("declare c cursor for select 1", "side_effect", "statement"),
        ("fetch all from c", "side_effect", "statement"),
        ("lock t", "side_effect", "statement"),
        ("listen x", "side_effect", "statement"),
        ("notify x", "side_effect", "statement"),
        ("load 'x'", "side_effect", "statement"),
        ("checkpoint", "side_effect", "statement"),
        ("discard all", "side_effect", "statement"),
        ("select * from t for update", "side_effect", "locking"),
        ("select * from (select * from t for key share) s", "side_effect", "locking"),
        // Functions and operators
        ("select nextval ('s')", "side_effect", "function"),
        ("select U&\"\\006eextval\"('s')", "side_effect", "function"),
        ("select \"nextval\"('s')", "side_effect", "function"),
        ("select app.lower('A')", "side_effect", "function"),
        ("select db.app.lower('A')", "side_effect", "function"),
        ("select my_function(1)", "side_effect", "function"),
        ("select * from pg_ls_dir('.')", "side_effect", "function"),
        ("select query_to_xml('delete from t', true, false, '')", "side_effect", "function"),
        ("select ts_rewrite('a'::tsquery, 'select 1, 2')", "side_effect", "function"),
        ("select ts_rewrite(variadic array['a'])", "side_effect", "function"),
        ("select 1 operator(app.+) 2", "side_effect", "function"),
        ("select 1 <=>>> 2", "side_effect", "function"),
        ("select a from t order by a using operator(app.<)", "side_effect", "function"),
        ("select * from t where a operator(app.=) any (select 1)", "side_effect", "function"),
        ("select * from t tablesample app.mine (1)", "side_effect", "function"),
        ("explain select pg_sleep(10)", "side_effect", "function"),
        // A function written like a column
        ("select ('s'::regclass).nextval", "side_effect", "function"),
        ("select (10::float8).pg_sleep", "side_effect", "function"),
        ("select x.pg_sleep from generate_series(0.1, 0.1) x", "side_effect", "function"),
        ("select (array['s'::regclass])[1].nextval", "side_effect", "function"),
        ("select (1).my_function", "side_effect", "function"),
        ("select ('x'::text || 'y').my_function", "side_effect", "function"),
        ("select (c.address).city, (jsonb_each(j)).key, ('a'::text).upper, (row(1, 2)::pair).x from c", "read", "-"),
        // Not readable
        ("select 1; select 2", "read", "several"),
        ("select 'open", "invalid", "syntax"),
        ("select * frm t", "invalid", "syntax"),
        ("pragma writable_schema = 1", "invalid", "syntax"),
        ("", "invalid", "syntax"),
        (" ; ", "invalid", "syntax"),
        ("select 1 \0", "invalid", "syntax"),
        ("select '\\', '; drop table t; --'", "side_effect", "ambiguous"),
        ("select '\\'; drop table t; --'", "write", "statement"),
        // Only a text that is nothing to the other server passes, whatever a name in it says.
        ("select '\\', ' , \"unterminated quoted\"(1) --'", "side_effect", "ambiguous"),
        ("alter system set log_statement = 'none'", "side_effect", "statement"),
        // Columns of a table may have any name but those of functions that act.
        ("select t.pg_version, t.wipe, (t.a).wipe, (a[1]).b from t", "read", "-"),
        ("select t.dblink_exec from t", "side_effect", "function"),
        ("select (a).pg_new_function from t", "side_effect", "function"),
        ("select p.x, (p).y from jsonb_populate_record(null::pair, '{}') p", "read", "-"),
        ("select (x.b).city from json_to_record('{}') as x(a int, b address)", "read", "-"),
        ("select a <=> b, a <#> b, a <+> b, a <-> b from t", "read", "-"),
        (
            "select digest(a, 'sha256'), hmac(a, b, 'md5'), akeys(h), nlevel(p), subpath(p, 0, 1), earth_distance(x, y) from t",
            "read",
            "-",
        ),
        (
            "select st_distance(a, b), st_dwithin(a, b, 5), st_asgeojson(a), time_bucket('1 day', at) from t",
            "read",
            "-",
        ),
        ("select st_estimatedextent('t', 'a')", "side_effect", "function"),
        ("select xpath_table('id', 'a', 't', '/a', 'true')", "side_effect", "function"),
    ] {
        let read = guard.read(sql, &Ask::of(Dialect::Postgres));
        assert_eq!((read.class.as_str(), rule(&read)), (class, refused), "{sql}: {read:?}");
    }
}

#[test]
fn a_backslash_that_changes_nothing_passes() {
    for sql in [
        "select a ~ '^\\d+$' from t",
        "select a like '%\\_%' escape '\\' from t",
        "select E'a\\nb', 'c\\d'",
        "select * from t where h = '\\xdeadbeef' and i = '\\xff'::bytea",
        "select U&'d\\0061t' as U&\"d\\0061t\", '\"\\u0000\"'::json",
        "select split_part(p, '\\', 1) from t",
        "select regexp_replace(a, '\\s+', ' ', 'g') from t",
    ] {
        assert!(read(sql).allowed(), "{sql}: {:?}", read(sql));
    }
}

// acceptance 100
#[test]
fn the_five_operations_are_refused_in_the_origins_words() {
    for (sql, operation) in [
        ("drop table t", "DROP"),
        ("drop role r", "DROP"),
        ("truncate t, u", "TRUNCATE"),
        ("alter role r superuser", "ALTER"),
        ("alter table t rename to u", "ALTER"),
        ("delete from t", "DELETE"),
        ("update t set a = 1", "UPDATE"),
        ("select 1; update t set a = 1", "UPDATE"),
        ("insert into t select 1; drop table t", "DROP"),
        ("with x as (update t set a = 1 returning *) select nextval('s') from x", "UPDATE"),
    ] {
        let expected = format!(
            "Security violation: Operation '{operation}' is not allowed in read-only mode. Denied operations: DROP, TRUNCATE, ALTER, DELETE, UPDATE"
        );
        assert_eq!(read(sql).refused.unwrap().reason, expected, "{sql}");
    }
}

#[test]
fn a_write_says_what_else_is_wrong_with_it() {
    for (sql, class, kind, beyond) in [
        ("insert into t values (1)", Class::Write, Kind::Writes, "-"),
        ("delete from t where a = 1", Class::Write, Kind::Destroys, "-"),
        ("update t set a = nextval('s')", Class::SideEffect, Kind::Unknown, "function"),
        ("insert into t values (1); select 1", Class::Write, Kind::Writes, "several"),
        ("create table u as select pg_read_file('x')", Class::SideEffect, Kind::Unknown, "function"),
        ("create function f() returns int language sql as 'select 1'", Class::Write, Kind::Destroys, "-"),
        ("do $$ begin end $$", Class::SideEffect, Kind::Unknown, "statement"),
    ] {
        let read = read(sql);
        let told = read.beyond_writing.as_ref().map_or("-", |refusal| refusal.rule.as_str());
        assert_eq!((read.class, read.kind, told), (class, kind, beyond), "{sql}");
        assert!(!read.allowed(), "{sql}");
    }
}

#[test]
fn a_refusal_quotes_no_data() {
    for sql in ["select 'hunter2' 'x' frm", "select * from t where a = 'hunter2' 5 x", "select my_f('hunter2')"] {
        assert!(!read(sql).refused.unwrap().reason.contains("hunter2"), "{sql}");
    }
}

#[test]
fn several_reads_and_own_functions_have_switches() {
    let guard = guard();
    let functions = ["f".to_owned(), "app.g".to_owned()];
    // What somebody vouches for may give rows.
    let own = Ask { functions: &functions, ..Ask::of(Dialect::Postgres) };
    assert!(guard.read("select x.a, (f(1)).b, (app.g(2)).c from f(1) x", &own).allowed());
    assert!(!guard.read("select x.dblink_exec from f(1) x", &own).allowed());
    let ask = Ask { several: true, functions: &functions, ..Ask::of(Dialect::Postgres) };
    for (sql, allowed) in [
        ("select 1; select 2", true),
        ("select 1; select 2; delete from t", false),
        ("select f(1), public.f(2), app.g(3)", true),
        ("select g(1)", false),
        ("select other.f(1)", false),
    ] {
        assert_eq!(guard.read(sql, &ask).allowed(), allowed, "{sql}");
    }
}

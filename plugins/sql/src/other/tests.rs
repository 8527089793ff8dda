#![allow(clippy::unwrap_used, clippy::panic)]

mod doubt;
mod whole;

use crate::{Ask, Dialect, Guard, Kind, Lists, Read, WrittenList};
use Dialect::{Generic, Mysql, Sqlite};

fn guard() -> Guard {
    let list = |text: &str| serde_saphyr::from_str::<WrittenList>(text).unwrap().into();
    Guard::new(Lists {
        postgres: list(include_str!("../../../../policies/sql/postgres.yaml")),
        sqlite: list(include_str!("../../../../policies/sql/sqlite.yaml")),
        mysql: list(include_str!("../../../../policies/sql/mysql.yaml")),
        generic: list(include_str!("../../../../policies/sql/generic.yaml")),
    })
}

fn told(read: &Read) -> String {
    match &read.refused {
        None => format!("{} allow", read.class.as_str()),
        Some(refused) => format!("{} {}", read.class.as_str(), refused.rule.as_str()),
    }
}

fn holds(cases: &[(&str, Dialect, &str)]) {
    let guard = guard();
    let wrong: Vec<_> = cases
        .iter()
        .filter_map(|(sql, dialect, expected)| {
            let read = guard.read(sql, &Ask::of(*dialect));
            (told(&read) != *expected).then(|| format!("{dialect}: {sql}\n  expected {expected}, found {read:?}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn reads_pass_whatever_their_names_are() {
    let reads = [
        ("select * from t", Sqlite),
        ("SELECT updated_at, 'DROP TABLE t' FROM \"delete\"", Sqlite),
        ("select replace(a, 'x', 'y') from [drop]", Sqlite),
        ("values (1), (2)", Sqlite),
        ("with recursive n(i) as (select 1 union all select i + 1 from n where i < 9) select sum(i) from n", Sqlite),
        ("explain query plan select * from t", Sqlite),
        ("select count(*) filter (where a > 1) over (partition by b order by c rows 1 preceding) from t", Sqlite),
        ("select json_extract(a, '$.b'), a ->> 'b' from t, json_each(t.a) where json_each.value = 1", Sqlite),
        ("select * from t where a glob 'x*' or a match 'y' order by b collate nocase limit 3 offset 1;", Sqlite),
        ("pragma table_info(t)", Sqlite),
        ("PRAGMA main.index_list('t');", Sqlite),
        ("select name, sql from sqlite_master where type = 'table'", Sqlite),
        (
            "select strftime('%Y-%m', created_at) m, round(avg(total), 2) from orders group by m having count(*) > 1",
            Sqlite,
        ),
        ("select case when a is null then 'none' else cast(a as text) end from t -- the end", Sqlite),
        ("select * from a left join b using (id) cross join c natural join d", Sqlite),
        ("select `a`, \"b\" from `t` where c like '%it\\'s%' limit 2, 3", Mysql),
        ("select @@version, current_user(), database(), now()", Mysql),
        (
            "select date_add(a, interval 1 day), if(b, 1, 0), group_concat(distinct c order by d separator ', ') from t",
            Mysql,
        ),
        ("show tables", Mysql),
        ("SHOW FULL COLUMNS FROM t LIKE 'a%'", Mysql),
        ("show create table t", Mysql),
        ("describe t", Mysql),
        ("explain select * from t", Mysql),
        ("select * from t use index (i) where match (a) against ('x')", Mysql),
        ("select a from t where b regexp '^x' # the end", Mysql),
        ("select a div 2, a % 3, a <=> null, not b from t", Mysql),
        ("select convert(a, char), a collate utf8mb4_bin, _utf8mb4'x' from db.t", Mysql),
        ("select last_insert_id()", Mysql),
        ("select 0x1f, x'1f', 0x00", Sqlite),
        ("select top 5 a from t", Generic),
        ("select a, b from s.t where c in (select d from e) and exists (select 1 from f)", Generic),
        (
            "select coalesce(a, 0), extract(year from b), cast(c as integer), \"order\" from t fetch first 5 rows only",
            Generic,
        ),
        ("with a as (select 1 x), b as (select * from a) select * from b except select 2", Generic),
        (
            "select listagg(a, ',') within group (order by a), any_value(b), approx_count_distinct(c), corr(d, e) from t",
            Generic,
        ),
        (
            "select split_part(a, '-', 1), regexp_replace(a, 'x', 'y'), len(a), getdate(), decode(a, 1, 2), try_cast(a as int) from t",
            Generic,
        ),
        ("select * from a inner join b on a.id = b.id where x is 5 and y is not z and w is null", Sqlite),
    ];
    let cases: Vec<_> = reads.iter().map(|(sql, dialect)| (*sql, *dialect, "read allow")).collect();
    holds(&cases);
}

#[test]
fn what_acts_is_refused_as_what_it_is() {
    holds(&[
        ("create table t (a int)", Sqlite, "write statement"),
        ("replace into t values (1)", Sqlite, "write statement"),
        ("insert into t select * from u", Sqlite, "write statement"),
        ("insert into t values (1) on conflict do nothing returning a", Sqlite, "write statement"),
        ("with x as (select 1) delete from t where a in x", Sqlite, "invalid syntax"),
        ("with x as (select 1) delete from t where a in (select * from x)", Sqlite, "write statement"),
        ("with x as (select 1) insert into t select * from x", Sqlite, "write statement"),
        ("with x as (select 1) update t set a = 1", Sqlite, "write statement"),
        ("update t set a = 1", Generic, "write statement"),
        ("DELETE FROM t", Sqlite, "write statement"),
        ("drop table t", Mysql, "write statement"),
        ("truncate t", Mysql, "write statement"),
        ("alter table t add b int", Mysql, "write statement"),
        ("rename table a to b", Mysql, "write statement"),
        ("grant all on t to u", Generic, "write statement"),
        ("load data infile 'x' into table t", Mysql, "write syntax"),
        ("pragma writable_schema = 1", Sqlite, "side_effect statement"),
        ("pragma writable_schema(1)", Sqlite, "side_effect statement"),
        ("pragma journal_mode", Sqlite, "side_effect statement"),
        ("pragma table_info(t) ; delete from t", Sqlite, "side_effect several"),
        ("attach 'x' as y", Sqlite, "side_effect statement"),
        ("attach database 'x' as y", Sqlite, "side_effect statement"),
        ("detach y", Sqlite, "side_effect syntax"),
        ("alter system set a = 'b'", Generic, "side_effect syntax"),
        ("pragma user_version(5)", Sqlite, "side_effect statement"),
        ("vacuum", Sqlite, "write statement"),
        ("vacuum into 'x'", Sqlite, "write syntax"),
        ("begin", Sqlite, "side_effect statement"),
        ("commit", Sqlite, "side_effect statement"),
        ("set a = 1", Mysql, "side_effect statement"),
        ("set @a = 1", Mysql, "side_effect statement"),
        ("call p()", Mysql, "side_effect statement"),
        ("do sleep(1)", Mysql, "side_effect syntax"),
        ("handler t open", Mysql, "side_effect syntax"),
        ("lock tables t read", Mysql, "side_effect statement"),
        ("flush tables", Mysql, "side_effect statement"),
        ("kill 7", Mysql, "side_effect statement"),
        ("analyze table t", Mysql, "side_effect statement"),
        ("use other", Mysql, "side_effect statement"),
        ("explain analyze select 1", Mysql, "side_effect statement"),
        ("explain delete from t", Sqlite, "side_effect statement"),
        ("select * into u from t", Generic, "write statement"),
        ("select a into outfile '/tmp/x' from t", Mysql, "invalid syntax"),
        ("select a into @b from t", Mysql, "write statement"),
        ("select a from t into dumpfile 'x'", Mysql, "invalid syntax"),
        ("select * from t for update", Mysql, "side_effect locking"),
        ("select * from t for share", Mysql, "side_effect locking"),
        ("select * from t lock in share mode", Mysql, "invalid syntax"),
        ("select 1; insert into t values (1)", Sqlite, "write several"),
        ("select 1; select 2", Sqlite, "read several"),
        ("show tables; drop table t", Mysql, "write several"),
        ("show tables where sleep(1)", Mysql, "side_effect statement"),
        ("do $$ begin end $$", Generic, "invalid ambiguous"),
        ("", Sqlite, "invalid syntax"),
        (" ; ", Mysql, "invalid syntax"),
        ("gibberish", Generic, "invalid syntax"),
    ]);
}

#[test]
fn what_is_created_says_how_much_it_changes() {
    for (sql, dialect, kind) in [
        ("create table t (a int)", Sqlite, Kind::Writes),
        ("create unique index i on t (a)", Sqlite, Kind::Writes),
        ("create temp view v as select 1", Sqlite, Kind::Writes),
        ("create trigger a after insert on t begin delete from u; end", Sqlite, Kind::Destroys),
        ("create user 'a'@'b' identified by 'c'", Mysql, Kind::Destroys),
        ("create definer = 'a'@'b' trigger x before insert on t for each row set a = 1", Mysql, Kind::Destroys),
        ("create event e on schedule every 1 day do delete from t", Mysql, Kind::Destroys),
        ("create function f returns string soname 'x.so'", Mysql, Kind::Destroys),
        ("attach 'x' as y", Sqlite, Kind::Unknown),
        ("alter system set a = 'b'", Generic, Kind::Unknown),
    ] {
        let read = guard().read(sql, &Ask::of(dialect));
        assert_eq!(read.kind, kind, "{sql}: {read:?}");
    }
}

#[test]
fn functions_are_those_that_are_listed() {
    holds(&[
        ("select load_extension('x')", Sqlite, "side_effect function"),
        ("select \"load_extension\"('x')", Sqlite, "side_effect function"),
        ("select [load_extension]('x')", Sqlite, "side_effect function"),
        ("select LOAD_EXTENSION ('x')", Sqlite, "side_effect function"),
        ("select max(writefile('a', 'b'))", Sqlite, "side_effect function"),
        ("select a from t order by edit(a)", Sqlite, "side_effect function"),
        ("select a from t group by fts3_tokenizer('x', a)", Sqlite, "side_effect function"),
        ("select sum(a) over (order by readfile('x')) from t", Sqlite, "side_effect function"),
        ("select sum(a) over w from t window w as (partition by readfile('x'))", Sqlite, "side_effect function"),
        ("select count(*) filter (where readfile('x')) from t", Sqlite, "side_effect function"),
        ("select case readfile('x') when 1 then 2 end", Sqlite, "side_effect function"),
        ("select 1 limit readfile('x')", Sqlite, "side_effect function"),
        ("select * from t where a between 1 and readfile('x')", Sqlite, "side_effect function"),
        ("select * from t join u on readfile('x')", Sqlite, "side_effect function"),
        ("select * from fsdir('.')", Sqlite, "side_effect function"),
        ("select * from json_each(readfile('x'))", Sqlite, "side_effect function"),
        ("values (readfile('x'))", Sqlite, "side_effect function"),
        ("with a as (select readfile('x')) select 1", Sqlite, "side_effect function"),
        ("explain select readfile('x')", Sqlite, "side_effect function"),
        ("select sleep(10)", Mysql, "side_effect function"),
        ("select benchmark(1000000, md5('x'))", Mysql, "side_effect function"),
        ("select get_lock('a', 1)", Mysql, "side_effect function"),
        ("select release_lock('a')", Mysql, "side_effect function"),
        ("select load_file('/etc/passwd')", Mysql, "side_effect function"),
        ("select db.f(1)", Mysql, "side_effect function"),
        ("select `sleep`(1)", Mysql, "side_effect function"),
        ("select nextval(s)", Mysql, "side_effect function"),
        ("select last_insert_id(7)", Mysql, "side_effect function"),
        ("select next value for s", Mysql, "invalid syntax"),
        ("select * from t where a = (select sleep(1))", Mysql, "side_effect function"),
        ("select group_concat(a order by sleep(1)) from t", Mysql, "side_effect function"),
        ("select date_add(now(), interval sleep(1) day)", Mysql, "side_effect function"),
        ("select a from t group by a with rollup having sleep(1)", Mysql, "side_effect function"),
        ("select pg_sleep(1)", Generic, "side_effect function"),
        ("select * from t tablesample system (pg_sleep(1))", Generic, "side_effect function"),
        ("select * from t tablesample system (10)", Generic, "read allow"),
        ("select s.nextval from dual", Generic, "side_effect function"),
        ("select * from pragma_optimize", Sqlite, "side_effect function"),
        ("select * from pragma_optimize", Generic, "side_effect function"),
        ("select * from PRAGMA_optimize(1)", Sqlite, "side_effect function"),
        ("select * from temp.pragma_optimize", Sqlite, "side_effect function"),
        ("select 1 end from t where load_extension('x')", Sqlite, "invalid syntax"),
        ("select 1 end", Sqlite, "invalid syntax"),
        ("select app.lower('A')", Generic, "side_effect function"),
    ]);
    for sql in ["insert into t values (load_extension('x'))", "update t set a = readfile('x')"] {
        let read = guard().read(sql, &Ask::of(Sqlite));
        assert_eq!(told(&read), "write statement");
        assert_eq!(read.beyond_writing.unwrap().rule.as_str(), "function", "{sql}");
    }
    for sql in [
        "insert into t values (lower('x'))",
        "delete from t",
        "drop table t",
        "create trigger a after insert on t begin delete from u; end",
    ] {
        let read = guard().read(sql, &Ask::of(Sqlite));
        assert_eq!((told(&read).as_str(), read.beyond_writing), ("write statement", None), "{sql}");
    }
    // What the parser takes for a table, and what it does not show.
    for (sql, dialect) in [
        ("insert into t select * from fsdir('.')", Sqlite),
        ("insert into s.t (a) select readfile('x')", Sqlite),
        ("insert into t select a from u into outfile '/tmp/x'", Mysql),
    ] {
        let read = guard().read(sql, &Ask::of(dialect));
        assert!(read.beyond_writing.is_some(), "{sql}: {read:?}");
    }
    for (sql, dialect) in [
        ("insert into s.t (a, b) values (1, lower('x')) on conflict (a) do update set b = excluded.b", Sqlite),
        ("insert into db.t (a) values (1) on duplicate key update a = values(a)", Mysql),
        ("update t set a = replace(a, 'x', 'y') where b in (1, 2)", Mysql),
    ] {
        let read = guard().read(sql, &Ask::of(dialect));
        assert_eq!((told(&read).as_str(), read.beyond_writing), ("write statement", None), "{sql}");
    }
    let own = ["normalise".to_owned(), "app.total".to_owned()];
    let ask = Ask { functions: &own, ..Ask::of(Generic) };
    assert!(guard().read("select Normalise(a), app.total(b) from t", &ask).allowed());
    assert!(!guard().read("select total(b) from t", &ask).allowed());
}

// acceptance 101, for the dialects that have no parser of their own.
#[test]
fn a_table_list_holds_wherever_tables_stand() {
    let tables = ["notes".to_owned(), "app.logs".to_owned()];
    let guard = guard();
    for (sql, dialect, expected) in [
        ("select * from notes", Sqlite, "read allow"),
        ("select * from NOTES n join main.notes m using (id)", Sqlite, "read allow"),
        ("select * from [notes], \"notes\", `notes`, 'notes'", Sqlite, "read allow"),
        ("with secrets as (select * from notes) select * from secrets", Sqlite, "read allow"),
        ("with recursive s as (select 1 union select * from s) select * from s", Sqlite, "read allow"),
        ("select * from app.logs", Sqlite, "read allow"),
        ("select * from dual", Mysql, "read allow"),
        ("select * from logs", Sqlite, "read table"),
        ("select * from temp.notes", Sqlite, "read table"),
        ("select * from other.notes", Sqlite, "read table"),
        ("select * from a.b.notes", Generic, "read table"),
        ("with notes as (select * from secrets) select * from notes", Sqlite, "read table"),
        ("with s as (select * from s) select * from s", Mysql, "read table"),
        ("with s as (select 1) select * from main.s", Sqlite, "read table"),
        ("select * from (with s as (select 1) select * from s) x, s", Sqlite, "read table"),
        ("select (select a from secrets) from notes", Sqlite, "read table"),
        ("select * from notes where a in (select b from secrets)", Sqlite, "read table"),
        ("select * from notes where a in secrets", Sqlite, "invalid syntax"),
        ("select * from notes where exists (select 1 from secrets)", Sqlite, "read table"),
        ("select * from notes order by (select a from secrets)", Sqlite, "read table"),
        ("select * from notes limit (select a from secrets)", Sqlite, "read table"),
        ("select * from notes join (notes n join secrets) on 1", Sqlite, "read table"),
        ("select * from notes union all select * from secrets", Sqlite, "read table"),
        ("select * from notes, lateral (select * from secrets) x", Mysql, "read table"),
        ("select max(a) over (order by (select 1 from secrets)) from notes", Sqlite, "read table"),
        ("values ((select a from secrets))", Sqlite, "read table"),
        ("select * from 'secrets'", Sqlite, "read table"),
        ("select * from Notes", Mysql, "read table"),
        ("table secrets", Mysql, "read table"),
        ("table notes", Mysql, "read allow"),
        ("describe secrets a", Mysql, "read table"),
        ("select * from `app.logs`", Mysql, "read table"),
        ("select * from app.logs", Mysql, "read allow"),
        ("select * from \"app.logs\"", Sqlite, "read table"),
        ("select * from notes('cat')", Sqlite, "read allow"),
        ("select * from secrets('cat')", Sqlite, "side_effect function"),
        ("select * from secrets indexed by notes", Sqlite, "read table"),
        ("select * from notes where a is (select b from secrets)", Sqlite, "read table"),
        ("select interval 1 year_month + a from year_month", Mysql, "read table"),
        ("select 'x\\' from t union select pw from secrets # ' from notes #", Mysql, "invalid ambiguous"),
        ("describe secrets", Mysql, "read table"),
        ("show tables", Mysql, "read catalogue"),
        ("select * from sqlite_master", Sqlite, "read catalogue"),
        ("select * from main.sqlite_schema", Sqlite, "read catalogue"),
        ("select * from temp.sqlite_schema", Sqlite, "read catalogue"),
        ("select * from pragma_table_info('secrets')", Sqlite, "read catalogue"),
        ("pragma table_info(secrets)", Sqlite, "side_effect catalogue"),
        ("select * from mysql.user", Mysql, "read catalogue"),
        ("select * from INFORMATION_SCHEMA.tables", Mysql, "read catalogue"),
        ("explain select * from secrets", Sqlite, "read table"),
    ] {
        let read = guard.read(sql, &Ask { tables: Some(&tables), ..Ask::of(dialect) });
        assert_eq!(told(&read), expected, "{dialect}: {sql}\n{read:?}");
    }
    for (sql, expected) in [
        ("insert into secrets values (1)", Some("table")),
        ("insert into notes values (1)", None),
        ("insert into notes select * from secrets", Some("table")),
        ("create table notes (a)", Some("table")),
    ] {
        let read = guard.read(sql, &Ask { tables: Some(&tables), ..Ask::of(Sqlite) });
        assert_eq!(told(&read), "write statement", "{sql}");
        assert_eq!(read.beyond_writing.map(|refused| refused.rule.as_str()), expected, "{sql}");
    }
    let read = guard.read("select * from b, s.a, b where x in (select y from c)", &Ask::of(Sqlite));
    assert_eq!(read.tables, ["b", "c", "s.a"]);
}

#[test]
fn several_reads_pass_where_that_was_said() {
    let ask = Ask { several: true, ..Ask::of(Sqlite) };
    let guard = guard();
    assert!(guard.read("select 1; select 2;", &ask).allowed());
    assert!(!guard.read("select 1; delete from t", &ask).allowed());
}

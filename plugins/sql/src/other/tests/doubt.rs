//! Texts that one server reads in another way than the next.

use super::{guard, holds};
use crate::{Ask, Dialect};
use Dialect::{Generic, Mysql, Sqlite};

#[test]
fn what_servers_could_read_differently_is_refused() {
    holds(&[
        ("select 1 /*! ; drop table t */", Mysql, "invalid syntax"),
        ("select 1 /*!50000 + 1 */", Sqlite, "invalid syntax"),
        ("select 1 /*M! + 1 */", Mysql, "invalid syntax"),
        ("select /*+ set_var(sql_mode = '') */ 1", Mysql, "invalid syntax"),
        ("select 1 /* a /* b */ c */", Generic, "invalid ambiguous"),
        ("select 1 /* a", Sqlite, "invalid syntax"),
        ("select 1--2", Mysql, "invalid ambiguous"),
        ("select 'a\\'; drop table t; --'", Generic, "invalid ambiguous"),
        ("select 'a\\'; drop table t; -- '", Mysql, "invalid ambiguous"),
        ("select 'a\\\\', 'b'", Mysql, "read allow"),
        ("select 'O\\'Brien';", Mysql, "read allow"),
        ("select E'\\' ; delete from t; --'", Mysql, "invalid ambiguous"),
        ("select 'a\\'; delete from t; select '", Mysql, "invalid ambiguous"),
        ("select 'a\\' , sleep(1); select ' ;", Mysql, "invalid ambiguous"),
        // As many quotes and comments either way, and not in the same places.
        ("select 'x\\' , sleep(5) # ' , (1) # ", Mysql, "invalid ambiguous"),
        ("select 'x\\' into outfile \"/tmp/x\" # ' , \"a\" #", Mysql, "invalid ambiguous"),
        ("select 'x\\' /*! , sleep(5) */ -- '", Mysql, "invalid ambiguous"),
        // Where `\"` stands around names, a backslash is a letter in them.
        ("select \"x\\\" , sleep(5) # \" , (1) # ", Mysql, "invalid ambiguous"),
        ("select 'it\\'s', 'bob\\'s', \"a\\\"b\", 'c:\\\\'", Mysql, "read allow"),
        ("select X'1f', 0x1f, N'a', b'1', 'a\nb', \"c\" -- d", Mysql, "read allow"),
        ("select '\u{e9}\n', x'00' /* \u{e9}\n */, 'b' from t", Sqlite, "read allow"),
        // To some servers a second statement needs no semicolon.
        ("select a from t shutdown", Generic, "side_effect ambiguous"),
        ("select a from t commit", Generic, "side_effect ambiguous"),
        ("select a from t checkpoint", Generic, "side_effect ambiguous"),
        ("select 1 rollback", Generic, "side_effect ambiguous"),
        ("select 1 reconfigure", Generic, "side_effect ambiguous"),
        ("select count(*) commit from t", Generic, "side_effect ambiguous"),
        ("select 'x' revert", Generic, "side_effect ambiguous"),
        ("select a as commit, open, t.close from t as shutdown where change > 1 order by check", Generic, "read allow"),
        ("select case when a then 1 end from t offset 5 rows fetch next 5 rows only", Generic, "read allow"),
        ("select a \"commit\" from t", Generic, "read allow"),
        // A text in the place of a table is a file, or a place on the net.
        ("select * from 'https://evil/x.parquet'", Generic, "invalid syntax"),
        ("select * from t join 'x.csv' on true", Generic, "invalid syntax"),
        ("select * from 't'", Sqlite, "read allow"),
        ("select 'open", Sqlite, "invalid syntax"),
        ("select \"a", Mysql, "invalid syntax"),
        ("select U&\"\\006eextval\"('s')", Generic, "invalid ambiguous"),
        ("select $$drop table t$$", Generic, "invalid ambiguous"),
        ("select $a(drop)", Sqlite, "invalid ambiguous"),
        ("select $a::b(drop)", Sqlite, "invalid ambiguous"),
        ("select $a$drop$a$", Sqlite, "invalid ambiguous"),
        ("select $name, :b, @c, ?1 from t where a = $_x", Sqlite, "read allow"),
        ("select $name", Generic, "invalid ambiguous"),
        ("select $1", Sqlite, "read allow"),
        ("select a from t # comment", Generic, "invalid ambiguous"),
        ("select a from t # comment", Sqlite, "invalid ambiguous"),
        ("select @a := 1", Mysql, "invalid syntax"),
        ("select @a:=@a+1 from t", Mysql, "invalid syntax"),
        ("select a[1]", Generic, "invalid syntax"),
        ("select 1\u{a0}from t", Sqlite, "invalid syntax"),
        ("select 1\u{b}", Sqlite, "invalid syntax"),
        ("\u{17f}elect 1", Sqlite, "invalid syntax"),
        ("select 1 un\u{131}on select 2", Mysql, "invalid syntax"),
        ("select größe, straße, 名 from t", Sqlite, "invalid syntax"),
        ("select länge, 名 from \"straße\"", Sqlite, "read allow"),
        ("select 1 -- a\rdrop table t", Sqlite, "invalid ambiguous"),
        ("select '\u{a0}\u{b}' -- \u{2028}", Sqlite, "read allow"),
        ("select 1\0", Sqlite, "invalid syntax"),
    ]);
}

/// Nobody said whose SQL it is: what only one server takes for a second statement is one.
#[test]
fn undeclared_reads_are_reads_to_everybody() {
    let guard = guard();
    for (sql, allowed) in [
        ("select a from t", true),
        ("select a as open from t where commit > 1", true),
        ("select a from t shutdown", false),
        ("select 1 rollback", false),
        ("select 'x\\' , sleep(5) # ' , (1) # ", false),
        ("select * from 'https://evil/x.parquet'", false),
        ("truncate a, b", false),
        ("insert t values (1)", false),
        ("exec xp_cmdshell 'dir'", false),
        ("select (array[pg_reload_conf()])[1]", false),
    ] {
        assert_eq!(guard.read_undeclared(sql, &Ask::of(Generic)).allowed(), allowed, "{sql}");
    }
}

"""Labels SQLite statements by running them: `python3 sqlite.py > sqlite.jsonl`.

Each statement is run on a fresh copy of a small database with data. It is a read if it succeeds and afterwards the file is the
same byte for byte, no other file has appeared, nothing is attached, no transaction is open and no setting has changed; anything
else that succeeds acts. What SQLite itself refuses is left out: nothing can be said of it.
"""

import hashlib
import itertools
import json
import os
import sqlite3
import sys
import tempfile

SCHEMA = """
create table users (id integer primary key, name text, email text, created_at text, updated_at text, "delete" int);
create table orders (id integer primary key, user_id int references users (id), total real, status text, note text, data text);
create table "drop" (a, b);
create view totals as select user_id, sum(total) as total from orders group by user_id;
create index by_user on orders (user_id);
create virtual table pages using fts5 (title, body);
insert into users values (1, 'Ada', 'ada@example.org', '2026-01-01', '2026-02-01', 0), (2, 'Bob', null, '2026-01-02', null, 1);
insert into orders values (1, 1, 10.5, 'paid', 'it''s', '{"a": [1, 2]}'), (2, 1, 3, 'open', null, '[]'), (3, 2, 7, 'paid', '', null);
insert into "drop" values (1, 'x');
insert into pages values ('One', 'the first page'), ('Two', 'the second page');
"""

SETTINGS = ["foreign_keys", "query_only", "recursive_triggers", "user_version", "writable_schema",
            "defer_foreign_keys", "ignore_check_constraints", "reverse_unordered_selects", "temp_store", "cache_size",
            "trusted_schema", "cell_size_check", "automatic_index", "legacy_alter_table", "journal_mode", "synchronous",
            "secure_delete", "locking_mode", "busy_timeout", "application_id", "auto_vacuum", "page_size"]

READS = """
select 1
SELECT * FROM users
select name, email from users where id = 1;
select count(*) from orders where status = 'paid'
select u.name, sum(o.total) as spent from users u join orders o on o.user_id = u.id group by u.id having spent > 1 order by spent desc
select * from users left join orders on orders.user_id = users.id
select updated_at, created_at from users where "delete" = 0
select 'DROP TABLE users; DELETE FROM users' as words
select "delete" from users
select a, b from "drop"
select * from [drop]
select * from `drop`
select * from 'drop'
with paid as (select * from orders where status = 'paid') select count(*) from paid
with recursive n(i) as (select 1 union all select i + 1 from n where i < 10) select group_concat(i) from n
with a as (select 1 as x), b as (select x + 1 as x from a) select * from b
select * from users where id in (select user_id from orders)
select * from users where exists (select 1 from orders where user_id = users.id)
select * from users where name like '%a%' escape '!'
select * from users where name glob 'A*'
select (select max(total) from orders) as most
select id from users union select user_id from orders
select id from users union all select user_id from orders order by 1 limit 3 offset 1
select id from users except select user_id from orders
select id from users intersect select user_id from orders
values (1, 2), (3, 4)
select * from (values (1, 2))
select case when total > 5 then 'much' when total is null then 'none' else 'little' end from orders
select cast(total as integer), typeof(total), round(total, 1), abs(-total) from orders
select coalesce(email, 'none'), ifnull(email, ''), nullif(name, 'Ada'), iif(id = 1, 'a', 'b') from users
select lower(name), upper(name), length(name), substr(name, 1, 2), replace(name, 'a', 'b'), trim(name), instr(name, 'd') from users
select date('now'), time('now'), datetime('now', '-1 day'), strftime('%Y', created_at), julianday(created_at), unixepoch() from users
select current_date, current_time, current_timestamp
select json_extract(data, '$.a[0]'), data -> 'a', data ->> '$.a' from orders where json_valid(data)
select value from orders, json_each(orders.data) where json_valid(data)
select key, value from json_tree('{"a": {"b": 1}}')
select row_number() over (partition by status order by total desc) as place, total from orders
select sum(total) over (order by id rows between 1 preceding and current row) from orders
select sum(total) over w, avg(total) over w from orders window w as (partition by status)
select lag(total, 1, 0) over (order by id), lead(total) over (order by id), first_value(total) over (order by id) from orders
select count(*) filter (where status = 'paid') from orders
select group_concat(name, ', ') from users
select distinct status from orders
select count(distinct status) from orders
select total(total), avg(total), min(total), max(total) from orders
select * from totals
select * from users, orders where users.id = orders.user_id
select * from users natural join orders
select * from users cross join orders
select * from users inner join orders using (id)
select * from sqlite_master
select name from sqlite_schema where type = 'table' order by name
select * from pragma_table_info('users')
select * from pragma_index_list('orders')
pragma table_info(users)
PRAGMA table_info('orders');
pragma index_list(orders)
pragma foreign_key_list(orders)
pragma database_list
pragma table_list
pragma main.table_info(users)
explain select * from users
explain query plan select * from users where id = 1
select 1 -- and no more
select /* what */ 1
-- first
  select 2
select 'it''s', "name" from users
select x'00ff', 0xff, 1e3, .5, 1.
select -1, +1, ~1, not 1, 1 + 2 * 3 / 4 % 5, 1 << 2, 8 >> 1, 5 & 3, 5 | 3
select 1 = 1, 1 == 1, 1 <> 2, 1 != 2, 1 < 2, 1 <= 2, 1 > 0, 1 >= 0
select 'a' || 'b' || 'c'
select null is null, 1 is not null, 1 is 1, 1 is not 2, null isnull, 1 notnull
select 1 between 0 and 2, 1 not between 3 and 4
select 1 in (1, 2), 3 not in (1, 2)
select true, false
select * from users where (id, name) = (1, 'Ada')
select * from users where (id, name) in (select 1, 'Ada')
select name collate nocase from users order by name collate nocase asc, id desc nulls last
select * from users where lower(name) = lower('ADA') limit 10
select random() is not null, hex(randomblob(4)) is not null, abs(random()) >= 0
select printf('%05d', 7), format('%s', 'x'), char(65, 66), unicode('A'), hex('a'), quote('it''s')
select sqlite_version(), changes(), last_insert_rowid(), total_changes()
select * from pages where pages match 'first'
select highlight(pages, 1, '[', ']'), bm25(pages) from pages where body match 'page'
select likely(1), unlikely(0), likelihood(1, 0.5)
select max(1, 2, 3), min(1, 2)
select * from users order by case when name = 'Bob' then 0 else 1 end, name
select status, count(*) as n from orders group by status order by n desc limit 1
select strftime('%Y-%m', created_at) as month, count(*) from users group by month
select * from users as u where u.id = (select user_id from orders where orders.id = 2)
select o.* from orders as o
select users.*, orders.id as oid from users join orders on users.id = orders.user_id and orders.status != 'open'
select * from (select id, name from users where id > 0) as some where some.id < 5
with x(a, b) as (values (1, 2)) select a + b from x
select not exists (select 1 from users where id = 99)
select json_object('a', 1), json_array(1, 2), json_group_array(id) from users
select substr('hello', -3), ltrim('  x'), rtrim('x  '), length(x'00')
select count(*) as "insert", sum(total) as "update" from orders
select 'select 1; drop table users'
select ';'
select '--', '/*', '*/'
select "a;b" from (select 1 as "a;b")
select * from users where email is not distinct from null
select pow(2, 3), sqrt(4), floor(1.5), ceil(1.5), ln(1), mod(5, 3)
select 1 << 3, 8 >> 1, id & 3 from orders
select * from orders where status is 'paid' and note is not 'x' and user_id is id
select id from users where name is not null and email is not distinct from name
with a as materialized (select 1 as x), b as not materialized (select 2 as y) select * from a, b
select * from orders indexed by by_user where user_id = 1
select * from orders not indexed where user_id = 1
select sum(total) over (order by id groups between 1 preceding and 1 following exclude ties) from orders
select sum(total) over (order by id rows between 1 preceding and current row exclude current row) from orders
pragma user_version
pragma page_count
pragma schema_version
pragma encoding
pragma foreign_keys
pragma integrity_check
pragma quick_check
pragma main.user_version
"""

ACTS = r"""
insert into users (name) values ('Eve')
insert into users select id + 10, name, email, created_at, updated_at, 0 from users
INSERT OR REPLACE INTO users (id, name) VALUES (1, 'Eve')
insert or ignore into users (id, name) values (9, 'Eve')
replace into users (id, name) values (1, 'Eve')
insert into users (id, name) values (1, 'x') on conflict (id) do update set name = 'x'
insert into users (name) values ('Eve') returning id
insert into users default values
update users set name = 'x'
UPDATE OR IGNORE users SET name = 'x' WHERE id = 1
update users set name = 'x' from orders where orders.user_id = users.id
update users set name = 'x' returning *
delete from users
DELETE FROM orders WHERE id = 1
delete from orders returning id
/* hello */ delete from orders
-- hello
delete from orders
 ; delete from orders
with x as (select 1) delete from orders
with x as (select 1 as id) insert into "drop" select id, id from x
with x as (select 1 as id) update users set name = 'x' where id in (select id from x)
with x as (values (1)) replace into "drop" select *, 1 from x
drop table users
DROP TABLE IF EXISTS orders
drop view totals
drop index by_user
alter table users rename to people
alter table users add column age int
alter table users rename column name to title
alter table users drop column email
create table t (a)
create table if not exists t2 (a int)
create temp table t (a)
create temporary view v as select 1
create table t as select * from users
create view v as select * from users
create index i on users (name)
create unique index i on users (id)
create trigger tr after insert on users begin delete from orders; end
create virtual table f using fts5 (a)
create virtual table r using rtree (id, a, b)
vacuum
vacuum into 'copy.db'
attach 'other.db' as other
attach database ':memory:' as m
begin
begin immediate
begin exclusive transaction
savepoint s
pragma user_version = 7
pragma user_version(7)
pragma main.user_version = 8
pragma foreign_keys = on
pragma foreign_keys(1)
pragma writable_schema = 1
pragma journal_mode = wal
pragma journal_mode = memory
pragma query_only = 1
pragma case_sensitive_like = 1
pragma cache_size = 100
pragma temp_store = memory
pragma synchronous = off
pragma application_id = 7
pragma locking_mode = exclusive
pragma busy_timeout = 1
pragma recursive_triggers = on
pragma trusted_schema = off
pragma automatic_index = off
pragma ignore_check_constraints = 1
select 1; delete from users
select 1; drop table users;
select 1;delete from users;select 2
select 1;/**/delete/**/from/**/users
select 1 /* ; */ ; delete from users
select ';'; delete from users
select '--'; delete from users
select "--"; delete from users
select [--]; delete from users -- ]
select '/*'; delete from users; select '*/'
select 1 --\n; delete from users
explain select 1; delete from users
delete/**/from users
dElEtE fRoM users
delete from main.users
delete from "users"
delete from [users]
delete from `users`
delete from 'users'
delete from users where id in (select user_id from orders)
insert into pages values ('x', 'y')
delete from pages
update pages set body = 'x'
reindex; update users set name = 'y'
analyze
select 1; pragma user_version = 3
with a as (select 1), b as (select 2) delete from users
end; delete from users
commit; delete from users
rollback; delete from users
pragma user_version(5)
pragma main.user_version(5)
pragma application_id(7)
pragma foreign_keys(1)
create trigger late after insert on users begin delete from orders; end
attach 'other.db' as other
"""


def statements(text):
    """One a line; a line that begins a comment or a blank goes on in the next."""
    found, kept = [], []
    for line in text.strip("\n").split("\n"):
        kept.append(line)
        if not line.startswith("--") and line.strip():
            found.append("\n".join(kept).replace("\\n", "\n"))
            kept = []
    return found


def state(connection, directory):
    files = {}
    for name in sorted(os.listdir(directory)):
        if not name.endswith("-journal"):
            with open(os.path.join(directory, name), "rb") as file:
                files[name] = hashlib.sha256(file.read()).hexdigest()
    settings = [connection.execute(f"pragma {name}").fetchall() for name in SETTINGS]
    settings.append(connection.execute("select 'A' like 'a'").fetchall())
    attached = [row for row in connection.execute("pragma database_list").fetchall() if row[1] != "temp"]
    temporary = connection.execute("select name from sqlite_temp_master").fetchall()
    return files, settings, attached, temporary, connection.in_transaction


def label(statement):
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "main.db")
        making = sqlite3.connect(path)
        making.executescript(SCHEMA)
        making.close()
        os.chdir(directory)
        connection = sqlite3.connect(path, isolation_level=None)
        before = state(connection, directory)
        failed = None
        for part in split(statement):
            try:
                connection.execute(part).fetchall()
            except sqlite3.Error as error:
                failed = failed or str(error)
        after = state(connection, directory)
        connection.close()
        os.chdir("/")
    if before != after:
        return "acts", None
    return ("read", None) if failed is None else (None, failed)


def split(text):
    """Statements as SQLite itself ends them."""
    parts, rest = [], ""
    for piece in text.split(";"):
        rest += piece
        if sqlite3.complete_statement(rest + ";"):
            parts.append(rest)
            rest = ""
        else:
            rest += ";"
    return parts + ([rest.rstrip(";")] if rest.strip(" ;\n") else [])


def main():
    told = sys.stderr
    for expected, text in (("read", READS), ("acts", ACTS)):
        for statement in itertools.chain(statements(text)):
            found, why = label(statement)
            if found != expected:
                print(f"{expected} by its author, {found} by SQLite ({why}): {statement!r}", file=told)
            if found is not None:
                print(json.dumps({"sql": statement, "label": found}))


if __name__ == "__main__":
    main()

-- Statements that write, or do something else than read. One a line; \n and \t stand for themselves.
insert into notes (id) values (1)
insert into notes default values returning *
insert into notes select * from notes on conflict (id) do nothing
update notes set title = 'x'
update notes set (title, body) = (select 'a', 'b') from app.people p where p.id = notes.id
delete from notes
delete from notes using app.people p where p.id = notes.id returning *
merge into notes n using app.people p on p.id = n.id when matched then update set title = p.name when not matched then insert (id) values (p.id)
truncate notes
truncate table only notes restart identity cascade
drop table notes
drop table if exists notes cascade
drop view v
drop schema app cascade
drop function f(int)
drop index concurrently i
drop role r
drop database d
drop owned by r
alter table notes add column x int
alter table notes rename to other
alter table notes disable trigger all
alter table notes enable row level security
alter role postgres superuser
alter system set log_statement = 'none'
alter database d set search_path = x
alter default privileges grant select on tables to public
alter sequence s restart
alter function f() security definer
create table x (a int)
create temp table x (a int)
create unlogged table x as select 1
create table x as table notes
create table x (like notes including all)
create view v as select 1
create or replace temp view v as select 1
create materialized view m as select 1
create index on notes (title)
create function f() returns int language sql as 'select 1'
create procedure p() language sql as 'delete from notes'
create trigger t before insert on notes execute function f()
create rule r as on select to notes do instead select 1
create role r login
create user u
create database d
create schema s
create schema s create table t (a int)
create extension dblink
create sequence s
create type t as enum ('a')
create domain d as int check (value > 0)
create cast (int as text) with function f(int)
create operator +++ (leftarg = int, rightarg = int, function = f)
create aggregate a (int) (sfunc = f, stype = int)
create policy p on notes using (true)
create publication p for all tables
create subscription s connection 'host=x' publication p
create server s foreign data wrapper w
create foreign table f (a int) server s
create user mapping for public server s
create event trigger e on ddl_command_start execute function f()
create statistics st on id, title from notes
create tablespace t location '/x'
grant select on notes to public
grant r to u
revoke all on notes from public
comment on table notes is 'x'
security label on table notes is 'x'
refresh materialized view m
reindex table notes
cluster notes
vacuum full notes
analyze notes
copy notes to stdout
copy notes from stdin
copy notes to '/tmp/x'
copy notes from '/etc/passwd'
copy notes to program 'cat'
copy (select 1) to program 'sh'
copy (delete from notes returning *) to stdout
do $$ begin delete from notes; end $$
do language plpgsql 'begin end'
call p()
call pg_catalog.p(1)
set role postgres
set session authorization default
set search_path to x
set local statement_timeout = 0
set transaction read write
set session characteristics as transaction read write
set constraints all deferred
reset all
reset role
begin
begin read write
start transaction
commit
end
rollback
abort
savepoint s
release savepoint s
rollback to s
prepare transaction 'x'
commit prepared 'x'
prepare p as delete from notes
prepare p as select 1
execute p
execute p(1, 2)
deallocate all
declare c cursor for select 1
declare c cursor with hold for select 1
fetch next from c
move 3 in c
close all
lock table notes in access exclusive mode
listen x
notify x, 'y'
unlisten *
load 'x'
checkpoint
discard all
reassign owned by a to b
import foreign schema s from server t into u
explain analyze delete from notes
explain (analyze) insert into notes (id) values (1)
explain analyze verbose update notes set title = 'x'
explain (analyze true, costs off) merge into notes n using app.people p on p.id = n.id when matched then delete
explain (analyze 1) truncate notes
explain analyze create table x as select 1
explain create materialized view m as select 1
explain analyze execute p
explain execute p
explain analyze declare c cursor for select 1
explain (analyze off, analyze on) delete from notes
explain (analyze, analyze off) delete from notes
explain (foo) select 1
explain refresh materialized view m
explain analyze with d as (delete from notes returning *) select * from d
select * into x from notes
select 1 as a into temp x
select * into unlogged table x from notes
(select * into x from notes)
with a as (select 1) select * into x from a
select 1 into x union select 2
select * from notes for update
select * from notes for no key update of notes
select * from notes for share nowait
select * from notes for key share skip locked
select * from (select * from notes for update) s
with a as (select * from notes for update) select * from a
select (select id from notes for update)
select * from notes where id in (select id from notes for share)
table notes for update
(select * from notes) for update
with d as (delete from notes returning *) select * from d
with d as (insert into notes (id) values (1) returning id) select count(*) from d
with d as (update notes set title = '' returning *) table d
with d as materialized (delete from notes) select 1
with a as (select 1), b as (delete from notes returning 1) select * from a
with recursive a as (select 1 union all select 1 from a), b as (truncate notes) select 1
with a as (with b as (delete from notes returning 1) select * from b) select * from a
select * from (with d as (delete from notes returning *) select * from d) s
with m as (merge into notes n using app.people p on p.id = n.id when matched then delete returning n.id) select * from m
with a as (select 1) insert into notes (id) select * from a
with a as (select 1) delete from notes where id in (select * from a)
with a as (select 1) update notes set id = 2 from a
explain analyze select * from notes for update
values (1) for update
-- In other clothes
DROP TABLE NOTES
Drop Table notes
/* read only */ drop table notes
 -- select\ndrop table notes
drop/**/table notes
drop\n\ttable notes
select 1; drop table notes
drop table notes; select 1
select 1;;;drop table notes;
select 1 /* ; */ ; drop table notes
select $$a$$; drop table notes
select 'a;b'; drop table notes --
/* /* */ */ drop table notes
select E'\\'; drop table notes; --'
select '\', '; drop table notes; --'
DELETE FROM NOTES
Delete From notes
/* read only */ delete from notes
 -- select\ndelete from notes
delete/**/from notes
delete\n\tfrom notes
select 1; delete from notes
delete from notes; select 1
select 1;;;delete from notes;
select 1 /* ; */ ; delete from notes
select $$a$$; delete from notes
select 'a;b'; delete from notes --
/* /* */ */ delete from notes
select E'\\'; delete from notes; --'
select '\', '; delete from notes; --'
UPDATE NOTES SET TITLE = NULL
Update notes Set Title = Null
/* read only */ update notes set title = null
 -- select\nupdate notes set title = null
update/**/notes set title = null
update\n\tnotes set title = null
select 1; update notes set title = null
update notes set title = null; select 1
select 1;;;update notes set title = null;
select 1 /* ; */ ; update notes set title = null
select $$a$$; update notes set title = null
select 'a;b'; update notes set title = null --
/* /* */ */ update notes set title = null
select E'\\'; update notes set title = null; --'
select '\', '; update notes set title = null; --'
INSERT INTO NOTES (ID) VALUES (9)
Insert Into notes (Id) Values (9)
/* read only */ insert into notes (id) values (9)
 -- select\ninsert into notes (id) values (9)
insert/**/into notes (id) values (9)
insert\n\tinto notes (id) values (9)
select 1; insert into notes (id) values (9)
insert into notes (id) values (9); select 1
select 1;;;insert into notes (id) values (9);
select 1 /* ; */ ; insert into notes (id) values (9)
select $$a$$; insert into notes (id) values (9)
select 'a;b'; insert into notes (id) values (9) --
/* /* */ */ insert into notes (id) values (9)
select E'\\'; insert into notes (id) values (9); --'
select '\', '; insert into notes (id) values (9); --'
TRUNCATE NOTES
Truncate notes
/* read only */ truncate notes
 -- select\ntruncate notes
truncate/**/notes
truncate\n\tnotes
select 1; truncate notes
truncate notes; select 1
select 1;;;truncate notes;
select 1 /* ; */ ; truncate notes
select $$a$$; truncate notes
select 'a;b'; truncate notes --
/* /* */ */ truncate notes
select E'\\'; truncate notes; --'
select '\', '; truncate notes; --'
ALTER TABLE NOTES ADD Y INT
Alter Table notes Add Y Int
/* read only */ alter table notes add y int
 -- select\nalter table notes add y int
alter/**/table notes add y int
alter\n\ttable notes add y int
select 1; alter table notes add y int
alter table notes add y int; select 1
select 1;;;alter table notes add y int;
select 1 /* ; */ ; alter table notes add y int
select $$a$$; alter table notes add y int
select 'a;b'; alter table notes add y int --
/* /* */ */ alter table notes add y int
select E'\\'; alter table notes add y int; --'
select '\', '; alter table notes add y int; --'
CREATE TABLE Z (A INT)
Create Table Z (A Int)
/* read only */ create table z (a int)
 -- select\ncreate table z (a int)
create/**/table z (a int)
create\n\ttable z (a int)
select 1; create table z (a int)
create table z (a int); select 1
select 1;;;create table z (a int);
select 1 /* ; */ ; create table z (a int)
select $$a$$; create table z (a int)
select 'a;b'; create table z (a int) --
/* /* */ */ create table z (a int)
select E'\\'; create table z (a int); --'
select '\', '; create table z (a int); --'
-- Functions that act
select nextval('s')
select setval('s', 1)
select currval('s')
select lastval()
select set_config('role', 'postgres', false)
select current_setting('x')
select pg_sleep(10)
select pg_sleep_for('1 hour')
select pg_sleep_until(now())
select pg_read_file('/etc/passwd')
select pg_read_binary_file('/etc/passwd')
select pg_ls_dir('/')
select pg_ls_logdir()
select pg_ls_waldir()
select pg_stat_file('x')
select pg_file_write('x', 'y', true)
select pg_advisory_lock(1)
select pg_try_advisory_lock(1)
select pg_advisory_xact_lock(1)
select pg_advisory_unlock_all()
select pg_terminate_backend(1)
select pg_cancel_backend(1)
select pg_reload_conf()
select pg_rotate_logfile()
select pg_switch_wal()
select pg_create_restore_point('x')
select pg_backup_start('x')
select pg_promote()
select pg_notify('a', 'b')
select pg_logical_emit_message(true, 'a', 'b')
select pg_create_logical_replication_slot('a', 'b')
select pg_drop_replication_slot('a')
select pg_replication_origin_create('a')
select pg_export_snapshot()
select pg_stat_reset()
select pg_stat_reset_shared('bgwriter')
select pg_stat_clear_snapshot()
select pg_log_backend_memory_contexts(1)
select pg_import_system_collations('x')
select pg_extension_config_dump('x', '')
select pg_nextoid('pg_class', 'oid', 'x')
select txid_current()
select pg_current_xact_id()
select lo_create(0)
select lo_creat(-1)
select lo_import('/etc/passwd')
select lo_export(1, '/tmp/x')
select lo_unlink(1)
select lo_put(1, 0, 'x')
select lo_get(1)
select lo_from_bytea(0, 'x')
select loread(1, 1)
select lowrite(1, 'x')
select dblink('x', 'delete from notes')
select dblink_exec('x', 'delete from notes')
select dblink_connect('host=x')
select query_to_xml('delete from notes returning *', true, false, '')
select query_to_xml_and_xmlschema('delete from notes', true, false, '')
select query_to_xmlschema('select 1', true, false, '')
select cursor_to_xml('c', 1, true, false, '')
select database_to_xml(true, false, '')
select schema_to_xml('app', true, false, '')
select ts_stat('select search from documents')
select ts_rewrite('a'::tsquery, 'select a, b from c')
select setseed(0.5)
select brin_summarize_new_values('i')
select gin_clean_pending_list('i')
select binary_upgrade_set_next_pg_authid_oid(1)
select my_function()
select public.my_function(1)
select app.lower('x')
select "LOWER"('x')
select "Nextval"('s')
select pg_temp.f()
select information_schema._pg_expandarray(array[1])
select xmlparse_evil('x')
select crosstab('select 1')
select pg_execute_server_program('id')
select exec('x')
select fmgr_sql_validator(1)
select plpgsql_call_handler()
select * from nextval('s') x
select * from notes where nextval('s') is not null
select * from notes order by nextval('s')
select count(*) filter (where nextval('s') is null) from notes
select case when true then nextval('s') end
select coalesce(nextval('s'), null)
select array[nextval('s')]
select row(nextval('s'))
values (nextval('s'))
with a as (select nextval('s')) select * from a
select * from notes limit (select nextval('s') is null)::int
select * from notes n join app.people p on nextval('s') is null
select sum(id) over (order by nextval('s')) from notes
select pg_catalog.nextval('s')
explain analyze select nextval('s')
select * from notes group by nextval('s')
select 1 having nextval('s') is null
select (select nextval('s'))
select lower(x => nextval('s')::text)
select * from rows from (nextval('s')) x
select * from lateral (select nextval('s')) x
select xmlelement(name a, nextval('s'))
select json_object('a': nextval('s'))
select (nextval('s'))::text::int
select (nextval('s')) is distinct from 1
select 1 between 0 and (nextval('s'))::int
select distinct on (nextval('s')) 1
select * from xmltable('/' passing (nextval('s'))::xml columns a int path '@a')
select * from notes tablesample bernoulli ((nextval('s'))::int)
select 1 union select nextval('s')
select 1 fetch first (nextval('s')) rows only
select 1 offset (nextval('s'))
select string_agg(title, title order by nextval('s')) from notes
select percentile_cont(0.5) within group (order by nextval('s')) from notes
select array_agg(id) over (partition by nextval('s')) from notes
select a[nextval('s')] from (select array[1] a) x
select nextval('s') collate "C"
select not (nextval('s') is null)
select 1 in (nextval('s'))
select 1 = any (array[nextval('s')])
select * from pg_sleep(1) x
select * from notes where pg_sleep(1) is not null
select * from notes order by pg_sleep(1)
select count(*) filter (where pg_sleep(1) is null) from notes
select case when true then pg_sleep(1) end
select coalesce(pg_sleep(1), null)
select array[pg_sleep(1)]
select row(pg_sleep(1))
values (pg_sleep(1))
with a as (select pg_sleep(1)) select * from a
select * from notes limit (select pg_sleep(1) is null)::int
select * from notes n join app.people p on pg_sleep(1) is null
select sum(id) over (order by pg_sleep(1)) from notes
select pg_catalog.pg_sleep(1)
explain analyze select pg_sleep(1)
select * from notes group by pg_sleep(1)
select 1 having pg_sleep(1) is null
select (select pg_sleep(1))
select lower(x => pg_sleep(1)::text)
select * from rows from (pg_sleep(1)) x
select * from lateral (select pg_sleep(1)) x
select xmlelement(name a, pg_sleep(1))
select json_object('a': pg_sleep(1))
select (pg_sleep(1))::text::int
select (pg_sleep(1)) is distinct from 1
select 1 between 0 and (pg_sleep(1))::int
select distinct on (pg_sleep(1)) 1
select * from xmltable('/' passing (pg_sleep(1))::xml columns a int path '@a')
select * from notes tablesample bernoulli ((pg_sleep(1))::int)
select 1 union select pg_sleep(1)
select 1 fetch first (pg_sleep(1)) rows only
select 1 offset (pg_sleep(1))
select string_agg(title, title order by pg_sleep(1)) from notes
select percentile_cont(0.5) within group (order by pg_sleep(1)) from notes
select array_agg(id) over (partition by pg_sleep(1)) from notes
select a[pg_sleep(1)] from (select array[1] a) x
select pg_sleep(1) collate "C"
select not (pg_sleep(1) is null)
select 1 in (pg_sleep(1))
select 1 = any (array[pg_sleep(1)])
select * from lo_unlink(1) x
select * from notes where lo_unlink(1) is not null
select * from notes order by lo_unlink(1)
select count(*) filter (where lo_unlink(1) is null) from notes
select case when true then lo_unlink(1) end
select coalesce(lo_unlink(1), null)
select array[lo_unlink(1)]
select row(lo_unlink(1))
values (lo_unlink(1))
with a as (select lo_unlink(1)) select * from a
select * from notes limit (select lo_unlink(1) is null)::int
select * from notes n join app.people p on lo_unlink(1) is null
select sum(id) over (order by lo_unlink(1)) from notes
select pg_catalog.lo_unlink(1)
explain analyze select lo_unlink(1)
select * from notes group by lo_unlink(1)
select 1 having lo_unlink(1) is null
select (select lo_unlink(1))
select lower(x => lo_unlink(1)::text)
select * from rows from (lo_unlink(1)) x
select * from lateral (select lo_unlink(1)) x
select xmlelement(name a, lo_unlink(1))
select json_object('a': lo_unlink(1))
select (lo_unlink(1))::text::int
select (lo_unlink(1)) is distinct from 1
select 1 between 0 and (lo_unlink(1))::int
select distinct on (lo_unlink(1)) 1
select * from xmltable('/' passing (lo_unlink(1))::xml columns a int path '@a')
select * from notes tablesample bernoulli ((lo_unlink(1))::int)
select 1 union select lo_unlink(1)
select 1 fetch first (lo_unlink(1)) rows only
select 1 offset (lo_unlink(1))
select string_agg(title, title order by lo_unlink(1)) from notes
select percentile_cont(0.5) within group (order by lo_unlink(1)) from notes
select array_agg(id) over (partition by lo_unlink(1)) from notes
select a[lo_unlink(1)] from (select array[1] a) x
select lo_unlink(1) collate "C"
select not (lo_unlink(1) is null)
select 1 in (lo_unlink(1))
select 1 = any (array[lo_unlink(1)])
select * from set_config('a','b',true) x
select * from notes where set_config('a','b',true) is not null
select * from notes order by set_config('a','b',true)
select count(*) filter (where set_config('a','b',true) is null) from notes
select case when true then set_config('a','b',true) end
select coalesce(set_config('a','b',true), null)
select array[set_config('a','b',true)]
select row(set_config('a','b',true))
values (set_config('a','b',true))
with a as (select set_config('a','b',true)) select * from a
select * from notes limit (select set_config('a','b',true) is null)::int
select * from notes n join app.people p on set_config('a','b',true) is null
select sum(id) over (order by set_config('a','b',true)) from notes
select pg_catalog.set_config('a','b',true)
explain analyze select set_config('a','b',true)
select * from notes group by set_config('a','b',true)
select 1 having set_config('a','b',true) is null
select (select set_config('a','b',true))
select lower(x => set_config('a','b',true)::text)
select * from rows from (set_config('a','b',true)) x
select * from lateral (select set_config('a','b',true)) x
select xmlelement(name a, set_config('a','b',true))
select json_object('a': set_config('a','b',true))
select (set_config('a','b',true))::text::int
select (set_config('a','b',true)) is distinct from 1
select 1 between 0 and (set_config('a','b',true))::int
select distinct on (set_config('a','b',true)) 1
select * from xmltable('/' passing (set_config('a','b',true))::xml columns a int path '@a')
select * from notes tablesample bernoulli ((set_config('a','b',true))::int)
select 1 union select set_config('a','b',true)
select 1 fetch first (set_config('a','b',true)) rows only
select 1 offset (set_config('a','b',true))
select string_agg(title, title order by set_config('a','b',true)) from notes
select percentile_cont(0.5) within group (order by set_config('a','b',true)) from notes
select array_agg(id) over (partition by set_config('a','b',true)) from notes
select a[set_config('a','b',true)] from (select array[1] a) x
select set_config('a','b',true) collate "C"
select not (set_config('a','b',true) is null)
select 1 in (set_config('a','b',true))
select 1 = any (array[set_config('a','b',true)])
-- Names in disguise, operators of somebody else
select U&"\006eextval"('s')
select "nextval" ('s')
select NEXTVAL('s')
select nextval/**/('s')
select nextval\n('s')
select pg_catalog . nextval('s')
select "pg_catalog"."nextval"('s')
select U&"p!0067_sleep" uescape '!' (1)
select 1 operator(app.+) 1
select 1 operator(public.=) 1
select 1 ===> 2
select @#@ 1
select * from notes order by id using operator(app.<)
select * from notes where id operator(app.=) any (select 1)
select * from notes tablesample app.mine(1)
select * from notes tablesample system_rows(1)
select * from notes where current of c
select ('s'::regclass).nextval
select (10::float8).pg_sleep
select ('/etc/passwd'::text).pg_read_file
select x.pg_sleep from generate_series(0.1, 0.1) x
select x.nextval from unnest(array['s'::regclass]) x
select (x.y).pg_sleep from (select 0.1::float8 as y) x
select (array['s'::regclass])[1].nextval
select (select 's'::regclass).nextval
select (1).my_function
select (coalesce(1)).pg_advisory_lock
select a[1].lo_unlink from (select array[1] a) x
select (1::oid).lo_unlink
select ('a'::text).lo_import
-- Functions of one argument, written as if they were columns of what another function gave.
select f.dblink_connect, g.dblink_exec from concat('host=127.0.0.1') f, concat('insert into t values (1)') g
select f.wipe from concat('x') f
select f.wipe from lower('x') as f
select lower.wipe from lower('x')
select "text".wipe from cast('x' as text)
select f.wipe from notes n cross join lateral lower(n.body) f
select f.wipe from notes n left join upper('x') f on true
select f.wipe from rows from (lower('x')) f
select f.wipe from generate_series(1, 3) with ordinality as f(n, o)
select x.wipe from unnest(array['a', 'b']) x
select x.lo_import from unnest(array['/etc/passwd']) x
select (x).wipe from unnest(array['a', 'b']) x
select (y).wipe from unnest(array['a', 'b']) as x(y)
select (x.y).wipe from unnest(array['a', 'b']) as x(y)
select (x.a).wipe from json_to_record('{"a": "b"}') as x(a text)
select (select f.wipe) from concat('x') f
select (select f.wipe from (notes f cross join notes g) as j) from concat('x') f
select * from concat('x') f where f.wipe is null
select 1 from concat('x') f group by f.wipe
select 1 from concat('x') f order by f.wipe
select * from concat('x') f, lateral (select f.wipe) s
select 1 from concat('x') f join notes n on f.wipe = n.id
select (concat('select pw from secrets')).crosstab2
select (concat('x')).wipe
select (body).dblink_exec from notes
select notes.pgrowlocks from notes
select n.dblink_connect_u from notes n
select (case when true then 'x' end).wipe
select (coalesce('x', 'y')).wipe
select (greatest('x', 'y')).wipe
select (nullif('x', 'y')).wipe
select ((array['x', 'y'])[1]).wipe
select (array['x', 'y'])[1].wipe
select (('x'::text) collate "C").wipe
select (select 'x'::text).wipe
select ('x'::citext).wipe
select ('x'::my_domain).wipe
select (cast(body as my_domain)).wipe from notes
select ('x'::text).upper.wipe
select (jsonb_each('{}')).value.wipe
select (lower('x')).pg_read_file
select (current_user).wipe
select (current_date).wipe
select (xmlelement(name a)).wipe
select (exists (select 1)).wipe
select (a is null).wipe from t
select (not true).wipe
select (row_number() over ()).wipe from t
with x as (select concat('x') as y) select (x.y).dblink_exec from x
update notes set body = f.wipe from concat('x') f
delete from notes using concat('x') f where f.wipe is null

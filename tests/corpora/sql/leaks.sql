-- Reads of tables that are not listed, where only `notes` and `app.people` are. One a line.
select * from secrets
select * from public.secrets
select * from "secrets"
select * from app.secrets
select * from app.notes
select * from "Notes"
select * from people
select * from pg_class
select * from pg_catalog.pg_authid
select * from information_schema.tables
select * from pg_temp.notes
select * from other.people
table secrets
table public.secrets
table "secrets"
table app.secrets
table app.notes
table "Notes"
table people
table pg_class
table pg_catalog.pg_authid
table information_schema.tables
table pg_temp.notes
table other.people
select * from notes, secrets
select * from notes, public.secrets
select * from notes, "secrets"
select * from notes, app.secrets
select * from notes, app.notes
select * from notes, "Notes"
select * from notes, people
select * from notes, pg_class
select * from notes, pg_catalog.pg_authid
select * from notes, information_schema.tables
select * from notes, pg_temp.notes
select * from notes, other.people
select * from notes join secrets x on true
select * from notes join public.secrets x on true
select * from notes join "secrets" x on true
select * from notes join app.secrets x on true
select * from notes join app.notes x on true
select * from notes join "Notes" x on true
select * from notes join people x on true
select * from notes join pg_class x on true
select * from notes join pg_catalog.pg_authid x on true
select * from notes join information_schema.tables x on true
select * from notes join pg_temp.notes x on true
select * from notes join other.people x on true
select * from notes natural join secrets
select * from notes natural join public.secrets
select * from notes natural join "secrets"
select * from notes natural join app.secrets
select * from notes natural join app.notes
select * from notes natural join "Notes"
select * from notes natural join people
select * from notes natural join pg_class
select * from notes natural join pg_catalog.pg_authid
select * from notes natural join information_schema.tables
select * from notes natural join pg_temp.notes
select * from notes natural join other.people
select * from notes left join lateral (select * from secrets) x on true
select * from notes left join lateral (select * from public.secrets) x on true
select * from notes left join lateral (select * from "secrets") x on true
select * from notes left join lateral (select * from app.secrets) x on true
select * from notes left join lateral (select * from app.notes) x on true
select * from notes left join lateral (select * from "Notes") x on true
select * from notes left join lateral (select * from people) x on true
select * from notes left join lateral (select * from pg_class) x on true
select * from notes left join lateral (select * from pg_catalog.pg_authid) x on true
select * from notes left join lateral (select * from information_schema.tables) x on true
select * from notes left join lateral (select * from pg_temp.notes) x on true
select * from notes left join lateral (select * from other.people) x on true
select (select count(*) from secrets)
select (select count(*) from public.secrets)
select (select count(*) from "secrets")
select (select count(*) from app.secrets)
select (select count(*) from app.notes)
select (select count(*) from "Notes")
select (select count(*) from people)
select (select count(*) from pg_class)
select (select count(*) from pg_catalog.pg_authid)
select (select count(*) from information_schema.tables)
select (select count(*) from pg_temp.notes)
select (select count(*) from other.people)
select 1 where exists (select 1 from secrets)
select 1 where exists (select 1 from public.secrets)
select 1 where exists (select 1 from "secrets")
select 1 where exists (select 1 from app.secrets)
select 1 where exists (select 1 from app.notes)
select 1 where exists (select 1 from "Notes")
select 1 where exists (select 1 from people)
select 1 where exists (select 1 from pg_class)
select 1 where exists (select 1 from pg_catalog.pg_authid)
select 1 where exists (select 1 from information_schema.tables)
select 1 where exists (select 1 from pg_temp.notes)
select 1 where exists (select 1 from other.people)
select * from notes where id in (select 1 from secrets)
select * from notes where id in (select 1 from public.secrets)
select * from notes where id in (select 1 from "secrets")
select * from notes where id in (select 1 from app.secrets)
select * from notes where id in (select 1 from app.notes)
select * from notes where id in (select 1 from "Notes")
select * from notes where id in (select 1 from people)
select * from notes where id in (select 1 from pg_class)
select * from notes where id in (select 1 from pg_catalog.pg_authid)
select * from notes where id in (select 1 from information_schema.tables)
select * from notes where id in (select 1 from pg_temp.notes)
select * from notes where id in (select 1 from other.people)
select * from notes where id = any (array(select 1 from secrets))
select * from notes where id = any (array(select 1 from public.secrets))
select * from notes where id = any (array(select 1 from "secrets"))
select * from notes where id = any (array(select 1 from app.secrets))
select * from notes where id = any (array(select 1 from app.notes))
select * from notes where id = any (array(select 1 from "Notes"))
select * from notes where id = any (array(select 1 from people))
select * from notes where id = any (array(select 1 from pg_class))
select * from notes where id = any (array(select 1 from pg_catalog.pg_authid))
select * from notes where id = any (array(select 1 from information_schema.tables))
select * from notes where id = any (array(select 1 from pg_temp.notes))
select * from notes where id = any (array(select 1 from other.people))
select * from notes union all select * from secrets
select * from notes union all select * from public.secrets
select * from notes union all select * from "secrets"
select * from notes union all select * from app.secrets
select * from notes union all select * from app.notes
select * from notes union all select * from "Notes"
select * from notes union all select * from people
select * from notes union all select * from pg_class
select * from notes union all select * from pg_catalog.pg_authid
select * from notes union all select * from information_schema.tables
select * from notes union all select * from pg_temp.notes
select * from notes union all select * from other.people
select 1 from notes except table secrets
select 1 from notes except table public.secrets
select 1 from notes except table "secrets"
select 1 from notes except table app.secrets
select 1 from notes except table app.notes
select 1 from notes except table "Notes"
select 1 from notes except table people
select 1 from notes except table pg_class
select 1 from notes except table pg_catalog.pg_authid
select 1 from notes except table information_schema.tables
select 1 from notes except table pg_temp.notes
select 1 from notes except table other.people
select 1 intersect (select 1 from secrets)
select 1 intersect (select 1 from public.secrets)
select 1 intersect (select 1 from "secrets")
select 1 intersect (select 1 from app.secrets)
select 1 intersect (select 1 from app.notes)
select 1 intersect (select 1 from "Notes")
select 1 intersect (select 1 from people)
select 1 intersect (select 1 from pg_class)
select 1 intersect (select 1 from pg_catalog.pg_authid)
select 1 intersect (select 1 from information_schema.tables)
select 1 intersect (select 1 from pg_temp.notes)
select 1 intersect (select 1 from other.people)
with x as (select * from secrets) select * from x
with x as (select * from public.secrets) select * from x
with x as (select * from "secrets") select * from x
with x as (select * from app.secrets) select * from x
with x as (select * from app.notes) select * from x
with x as (select * from "Notes") select * from x
with x as (select * from people) select * from x
with x as (select * from pg_class) select * from x
with x as (select * from pg_catalog.pg_authid) select * from x
with x as (select * from information_schema.tables) select * from x
with x as (select * from pg_temp.notes) select * from x
with x as (select * from other.people) select * from x
with notes as (select * from secrets) select * from notes
with notes as (select * from public.secrets) select * from notes
with notes as (select * from "secrets") select * from notes
with notes as (select * from app.secrets) select * from notes
with notes as (select * from app.notes) select * from notes
with notes as (select * from "Notes") select * from notes
with notes as (select * from people) select * from notes
with notes as (select * from pg_class) select * from notes
with notes as (select * from pg_catalog.pg_authid) select * from notes
with notes as (select * from information_schema.tables) select * from notes
with notes as (select * from pg_temp.notes) select * from notes
with notes as (select * from other.people) select * from notes
with recursive r as (select 1 from secrets union all select * from r) select * from r
with recursive r as (select 1 from public.secrets union all select * from r) select * from r
with recursive r as (select 1 from "secrets" union all select * from r) select * from r
with recursive r as (select 1 from app.secrets union all select * from r) select * from r
with recursive r as (select 1 from app.notes union all select * from r) select * from r
with recursive r as (select 1 from "Notes" union all select * from r) select * from r
with recursive r as (select 1 from people union all select * from r) select * from r
with recursive r as (select 1 from pg_class union all select * from r) select * from r
with recursive r as (select 1 from pg_catalog.pg_authid union all select * from r) select * from r
with recursive r as (select 1 from information_schema.tables union all select * from r) select * from r
with recursive r as (select 1 from pg_temp.notes union all select * from r) select * from r
with recursive r as (select 1 from other.people union all select * from r) select * from r
select * from (select * from (select * from secrets) a) b
select * from (select * from (select * from public.secrets) a) b
select * from (select * from (select * from "secrets") a) b
select * from (select * from (select * from app.secrets) a) b
select * from (select * from (select * from app.notes) a) b
select * from (select * from (select * from "Notes") a) b
select * from (select * from (select * from people) a) b
select * from (select * from (select * from pg_class) a) b
select * from (select * from (select * from pg_catalog.pg_authid) a) b
select * from (select * from (select * from information_schema.tables) a) b
select * from (select * from (select * from pg_temp.notes) a) b
select * from (select * from (select * from other.people) a) b
select * from only secrets
select * from only public.secrets
select * from only "secrets"
select * from only app.secrets
select * from only app.notes
select * from only "Notes"
select * from only people
select * from only pg_class
select * from only pg_catalog.pg_authid
select * from only information_schema.tables
select * from only pg_temp.notes
select * from only other.people
select * from secrets as notes
select * from public.secrets as notes
select * from "secrets" as notes
select * from app.secrets as notes
select * from app.notes as notes
select * from "Notes" as notes
select * from people as notes
select * from pg_class as notes
select * from pg_catalog.pg_authid as notes
select * from information_schema.tables as notes
select * from pg_temp.notes as notes
select * from other.people as notes
select notes.* from secrets notes
select notes.* from public.secrets notes
select notes.* from "secrets" notes
select notes.* from app.secrets notes
select notes.* from app.notes notes
select notes.* from "Notes" notes
select notes.* from people notes
select notes.* from pg_class notes
select notes.* from pg_catalog.pg_authid notes
select notes.* from information_schema.tables notes
select notes.* from pg_temp.notes notes
select notes.* from other.people notes
select * from secrets tablesample system (100)
select * from public.secrets tablesample system (100)
select * from "secrets" tablesample system (100)
select * from app.secrets tablesample system (100)
select * from app.notes tablesample system (100)
select * from "Notes" tablesample system (100)
select * from people tablesample system (100)
select * from pg_class tablesample system (100)
select * from pg_catalog.pg_authid tablesample system (100)
select * from information_schema.tables tablesample system (100)
select * from pg_temp.notes tablesample system (100)
select * from other.people tablesample system (100)
values ((select 1 from secrets limit 1))
values ((select 1 from public.secrets limit 1))
values ((select 1 from "secrets" limit 1))
values ((select 1 from app.secrets limit 1))
values ((select 1 from app.notes limit 1))
values ((select 1 from "Notes" limit 1))
values ((select 1 from people limit 1))
values ((select 1 from pg_class limit 1))
values ((select 1 from pg_catalog.pg_authid limit 1))
values ((select 1 from information_schema.tables limit 1))
values ((select 1 from pg_temp.notes limit 1))
values ((select 1 from other.people limit 1))
select * from notes order by (select 1 from secrets)
select * from notes order by (select 1 from public.secrets)
select * from notes order by (select 1 from "secrets")
select * from notes order by (select 1 from app.secrets)
select * from notes order by (select 1 from app.notes)
select * from notes order by (select 1 from "Notes")
select * from notes order by (select 1 from people)
select * from notes order by (select 1 from pg_class)
select * from notes order by (select 1 from pg_catalog.pg_authid)
select * from notes order by (select 1 from information_schema.tables)
select * from notes order by (select 1 from pg_temp.notes)
select * from notes order by (select 1 from other.people)
select * from notes limit (select count(*) from secrets)
select * from notes limit (select count(*) from public.secrets)
select * from notes limit (select count(*) from "secrets")
select * from notes limit (select count(*) from app.secrets)
select * from notes limit (select count(*) from app.notes)
select * from notes limit (select count(*) from "Notes")
select * from notes limit (select count(*) from people)
select * from notes limit (select count(*) from pg_class)
select * from notes limit (select count(*) from pg_catalog.pg_authid)
select * from notes limit (select count(*) from information_schema.tables)
select * from notes limit (select count(*) from pg_temp.notes)
select * from notes limit (select count(*) from other.people)
select count(*) filter (where exists (table secrets)) from notes
select count(*) filter (where exists (table public.secrets)) from notes
select count(*) filter (where exists (table "secrets")) from notes
select count(*) filter (where exists (table app.secrets)) from notes
select count(*) filter (where exists (table app.notes)) from notes
select count(*) filter (where exists (table "Notes")) from notes
select count(*) filter (where exists (table people)) from notes
select count(*) filter (where exists (table pg_class)) from notes
select count(*) filter (where exists (table pg_catalog.pg_authid)) from notes
select count(*) filter (where exists (table information_schema.tables)) from notes
select count(*) filter (where exists (table pg_temp.notes)) from notes
select count(*) filter (where exists (table other.people)) from notes
select sum(id) over (order by (select 1 from secrets)) from notes
select sum(id) over (order by (select 1 from public.secrets)) from notes
select sum(id) over (order by (select 1 from "secrets")) from notes
select sum(id) over (order by (select 1 from app.secrets)) from notes
select sum(id) over (order by (select 1 from app.notes)) from notes
select sum(id) over (order by (select 1 from "Notes")) from notes
select sum(id) over (order by (select 1 from people)) from notes
select sum(id) over (order by (select 1 from pg_class)) from notes
select sum(id) over (order by (select 1 from pg_catalog.pg_authid)) from notes
select sum(id) over (order by (select 1 from information_schema.tables)) from notes
select sum(id) over (order by (select 1 from pg_temp.notes)) from notes
select sum(id) over (order by (select 1 from other.people)) from notes
explain select * from secrets
explain select * from public.secrets
explain select * from "secrets"
explain select * from app.secrets
explain select * from app.notes
explain select * from "Notes"
explain select * from people
explain select * from pg_class
explain select * from pg_catalog.pg_authid
explain select * from information_schema.tables
explain select * from pg_temp.notes
explain select * from other.people
explain analyze select * from secrets
explain analyze select * from public.secrets
explain analyze select * from "secrets"
explain analyze select * from app.secrets
explain analyze select * from app.notes
explain analyze select * from "Notes"
explain analyze select * from people
explain analyze select * from pg_class
explain analyze select * from pg_catalog.pg_authid
explain analyze select * from information_schema.tables
explain analyze select * from pg_temp.notes
explain analyze select * from other.people
select case when (select true from secrets) then 1 end
select case when (select true from public.secrets) then 1 end
select case when (select true from "secrets") then 1 end
select case when (select true from app.secrets) then 1 end
select case when (select true from app.notes) then 1 end
select case when (select true from "Notes") then 1 end
select case when (select true from people) then 1 end
select case when (select true from pg_class) then 1 end
select case when (select true from pg_catalog.pg_authid) then 1 end
select case when (select true from information_schema.tables) then 1 end
select case when (select true from pg_temp.notes) then 1 end
select case when (select true from other.people) then 1 end
select coalesce((select 1 from secrets), 0)
select coalesce((select 1 from public.secrets), 0)
select coalesce((select 1 from "secrets"), 0)
select coalesce((select 1 from app.secrets), 0)
select coalesce((select 1 from app.notes), 0)
select coalesce((select 1 from "Notes"), 0)
select coalesce((select 1 from people), 0)
select coalesce((select 1 from pg_class), 0)
select coalesce((select 1 from pg_catalog.pg_authid), 0)
select coalesce((select 1 from information_schema.tables), 0)
select coalesce((select 1 from pg_temp.notes), 0)
select coalesce((select 1 from other.people), 0)
select array(select 1 from secrets)
select array(select 1 from public.secrets)
select array(select 1 from "secrets")
select array(select 1 from app.secrets)
select array(select 1 from app.notes)
select array(select 1 from "Notes")
select array(select 1 from people)
select array(select 1 from pg_class)
select array(select 1 from pg_catalog.pg_authid)
select array(select 1 from information_schema.tables)
select array(select 1 from pg_temp.notes)
select array(select 1 from other.people)
select row_to_json(x) from secrets x
select row_to_json(x) from public.secrets x
select row_to_json(x) from "secrets" x
select row_to_json(x) from app.secrets x
select row_to_json(x) from app.notes x
select row_to_json(x) from "Notes" x
select row_to_json(x) from people x
select row_to_json(x) from pg_class x
select row_to_json(x) from pg_catalog.pg_authid x
select row_to_json(x) from information_schema.tables x
select row_to_json(x) from pg_temp.notes x
select row_to_json(x) from other.people x
select json_agg(x) from (select * from secrets) x
select json_agg(x) from (select * from public.secrets) x
select json_agg(x) from (select * from "secrets") x
select json_agg(x) from (select * from app.secrets) x
select json_agg(x) from (select * from app.notes) x
select json_agg(x) from (select * from "Notes") x
select json_agg(x) from (select * from people) x
select json_agg(x) from (select * from pg_class) x
select json_agg(x) from (select * from pg_catalog.pg_authid) x
select json_agg(x) from (select * from information_schema.tables) x
select json_agg(x) from (select * from pg_temp.notes) x
select json_agg(x) from (select * from other.people) x
select * from notes group by id, (select 1 from secrets)
select * from notes group by id, (select 1 from public.secrets)
select * from notes group by id, (select 1 from "secrets")
select * from notes group by id, (select 1 from app.secrets)
select * from notes group by id, (select 1 from app.notes)
select * from notes group by id, (select 1 from "Notes")
select * from notes group by id, (select 1 from people)
select * from notes group by id, (select 1 from pg_class)
select * from notes group by id, (select 1 from pg_catalog.pg_authid)
select * from notes group by id, (select 1 from information_schema.tables)
select * from notes group by id, (select 1 from pg_temp.notes)
select * from notes group by id, (select 1 from other.people)
select 1 having exists (table secrets)
select 1 having exists (table public.secrets)
select 1 having exists (table "secrets")
select 1 having exists (table app.secrets)
select 1 having exists (table app.notes)
select 1 having exists (table "Notes")
select 1 having exists (table people)
select 1 having exists (table pg_class)
select 1 having exists (table pg_catalog.pg_authid)
select 1 having exists (table information_schema.tables)
select 1 having exists (table pg_temp.notes)
select 1 having exists (table other.people)
select * from unnest(array(select 1 from secrets)) u
select * from unnest(array(select 1 from public.secrets)) u
select * from unnest(array(select 1 from "secrets")) u
select * from unnest(array(select 1 from app.secrets)) u
select * from unnest(array(select 1 from app.notes)) u
select * from unnest(array(select 1 from "Notes")) u
select * from unnest(array(select 1 from people)) u
select * from unnest(array(select 1 from pg_class)) u
select * from unnest(array(select 1 from pg_catalog.pg_authid)) u
select * from unnest(array(select 1 from information_schema.tables)) u
select * from unnest(array(select 1 from pg_temp.notes)) u
select * from unnest(array(select 1 from other.people)) u
select distinct on ((select 1 from secrets)) 1
select distinct on ((select 1 from public.secrets)) 1
select distinct on ((select 1 from "secrets")) 1
select distinct on ((select 1 from app.secrets)) 1
select distinct on ((select 1 from app.notes)) 1
select distinct on ((select 1 from "Notes")) 1
select distinct on ((select 1 from people)) 1
select distinct on ((select 1 from pg_class)) 1
select distinct on ((select 1 from pg_catalog.pg_authid)) 1
select distinct on ((select 1 from information_schema.tables)) 1
select distinct on ((select 1 from pg_temp.notes)) 1
select distinct on ((select 1 from other.people)) 1
select * from notes n where (n.id, 1) in (select 1, 2 from secrets)
select * from notes n where (n.id, 1) in (select 1, 2 from public.secrets)
select * from notes n where (n.id, 1) in (select 1, 2 from "secrets")
select * from notes n where (n.id, 1) in (select 1, 2 from app.secrets)
select * from notes n where (n.id, 1) in (select 1, 2 from app.notes)
select * from notes n where (n.id, 1) in (select 1, 2 from "Notes")
select * from notes n where (n.id, 1) in (select 1, 2 from people)
select * from notes n where (n.id, 1) in (select 1, 2 from pg_class)
select * from notes n where (n.id, 1) in (select 1, 2 from pg_catalog.pg_authid)
select * from notes n where (n.id, 1) in (select 1, 2 from information_schema.tables)
select * from notes n where (n.id, 1) in (select 1, 2 from pg_temp.notes)
select * from notes n where (n.id, 1) in (select 1, 2 from other.people)
select 1 in (select 1 from secrets)
select 1 in (select 1 from public.secrets)
select 1 in (select 1 from "secrets")
select 1 in (select 1 from app.secrets)
select 1 in (select 1 from app.notes)
select 1 in (select 1 from "Notes")
select 1 in (select 1 from people)
select 1 in (select 1 from pg_class)
select 1 in (select 1 from pg_catalog.pg_authid)
select 1 in (select 1 from information_schema.tables)
select 1 in (select 1 from pg_temp.notes)
select 1 in (select 1 from other.people)
select (table secrets)::text
select (table public.secrets)::text
select (table "secrets")::text
select (table app.secrets)::text
select (table app.notes)::text
select (table "Notes")::text
select (table people)::text
select (table pg_class)::text
select (table pg_catalog.pg_authid)::text
select (table information_schema.tables)::text
select (table pg_temp.notes)::text
select (table other.people)::text
with secrets as (select * from secrets) select * from secrets
with a as (select * from b), b as (select 1) select * from a
select * from (with secrets as (select 1) select * from secrets) s, secrets
with secrets as (select 1) select * from public.secrets
with x as (with secrets as (select 1) select * from secrets) select * from x, secrets
select * from db.public.notes
select table_to_xml('secrets', true, false, '')
select table_to_xml('public.secrets'::regclass, true, false, '')
select table_to_xml('sec' || 'rets', true, false, '')
select table_to_xml(concat('sec', 'rets'), true, false, '')
select table_to_xml(title::regclass, true, false, '') from notes
select table_to_xml(16384, true, false, '')
select table_to_xml('16384', true, false, '')
select table_to_xml(nulls => true, tbl => 'secrets', tableforest => false, targetns => '')
select table_to_xml_and_xmlschema('secrets', true, false, '')
select table_to_xmlschema('secrets', true, false, '')
select table_to_xml((select 'secrets'::regclass), true, false, '')
select pg_catalog.table_to_xml('secrets', true, false, '')
select * from table_to_xml('secrets', true, false, '')
select query_to_xml('select * from secrets', true, false, '')
select schema_to_xml('public', true, false, '')
select database_to_xml(true, true, '')
select ts_stat('select search from secrets')
select pg_relation_size('secrets')
select pg_total_relation_size('secrets')
select pg_get_viewdef('secrets')
select 'secrets'::regclass
select cast('secrets' as regclass)
select regclass 'secrets'
select regclass('secrets')
select to_regclass('secrets')
select '16384'::regclass
select 16384::oid::regclass::text
select has_table_privilege('secrets', 'select')
select has_column_privilege('secrets', 'a', 'select')
select pg_get_serial_sequence('secrets', 'id')
select obj_description('secrets'::regclass)
select col_description(16384, 1)
select pg_get_indexdef(1)
select pg_stat_get_live_tuples(16384)
select pg_sequence_last_value('secrets_id_seq')
select * from pg_sequence_parameters(16384)
select * from pg_stat_get_activity(null)
select * from pg_get_publication_tables('p')
select row_security_active('secrets')
select current_setting('app.secret')
show search_path
show all
select * from pg_stat_activity
select * from pg_views
select * from pg_stats
select * from pg_toast.pg_toast_16384
select * from pg_temp_3.notes
select lo_get(1)
select * from dblink('', 'select * from secrets') t(a int)
select * from crosstab('select * from secrets') t(a int)
explain with secrets as (select 1) delete from secrets
explain insert into notes select * from secrets
explain update notes set title = (select a from secrets)
explain delete from notes using secrets
select (16384::oid).pg_get_viewdef
select ('secrets'::text).to_regclass
select x.pg_relation_size from unnest(array[16384::regclass]) x
-- A longer name that a cast cuts down to a listed one, or a listed one to another.
select table_to_xml('notes_archive'::varchar(5)::regclass, true, false, '')
select table_to_xml('notes'::varchar(3)::regclass, true, false, '')
select table_to_xml('notes'::"char"::text::regclass, true, false, '')
select table_to_xml('notes'::char(4)::text::regclass, true, false, '')
select table_to_xml('notes'::name::text::regclass, true, false, '')
select table_to_xml(cast('notes' as bpchar(3))::text::regclass, true, false, '')
select pg_relation_size('notes'::varchar(2))
select pg_relation_size(('{notes}'::text[])::text)
-- Types that are tables, and texts that become tables beside one.
select (null::secrets).*
select null::secrets
select * from jsonb_populate_record(null::secrets, '{}')
select * from json_populate_recordset(null::public.secrets, '[]')
select * from json_to_record('{}') as x(a int, b secrets)
select * from unnest('{}'::secrets[])
select (row(1, 2)::secrets).pw
select ('(1,2)'::secrets).pw
select cast(null as app.secrets)
select null::pg_authid
select 'secrets'::regtype
select 'secrets'::pg_catalog.regtype
select regtype('secrets')
select 'secrets'::db.pg_catalog.regclass
select null::db.public.secrets
select ('secrets'::cstring).regclassin
select coalesce('secrets', to_regclass('notes'))
select case when false then to_regclass('notes') else 'secrets' end
select array['notes'::regclass, 'secrets']
select to_regclass('notes') = 'secrets'
select 'notes'::regclass union select 'secrets'
values (to_regclass('notes')), ('secrets')
select pg_input_is_valid('secrets', 'regclass')
select pg_input_error_info('secrets', 'regclass')
select regclasssend('secrets')
select f.crosstab2 from lower('select pw::text, pw::text, pw::text from secrets') f
select x.pgrowlocks from lower('secrets') x
select f.table_to_xml from lower('secrets') f

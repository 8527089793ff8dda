-- Reads as people and models write them, one a line. The tables are in schema.sql.
select * from customers
select * from customers limit 10
SELECT id, name, email FROM customers WHERE is_active = true ORDER BY created_at DESC LIMIT 50
select count(*) from orders
select count(distinct customer_id) as buyers from orders where ordered_at >= now() - interval '30 days'
SELECT c.name, COUNT(o.id) AS order_count, SUM(o.total) AS revenue FROM customers c LEFT JOIN orders o ON o.customer_id = c.id GROUP BY c.id, c.name HAVING COUNT(o.id) > 3 ORDER BY revenue DESC NULLS LAST LIMIT 20
select status, count(*) from orders group by status
select status::text, count(*) filter (where total > 100) as large from orders group by 1 order by 2 desc
select * from orders where status in ('open', 'paid') and total between 10 and 100
select * from orders where status <> 'cancelled' and shipped_at is null
select date_trunc('month', ordered_at) as month, sum(total) as revenue from orders group by 1 order by 1
select to_char(ordered_at, 'YYYY-MM') as month, round(avg(total), 2) from orders group by to_char(ordered_at, 'YYYY-MM')
select extract(year from ordered_at) as year, extract(dow from ordered_at)::int as weekday, count(*) from orders group by 1, 2
select p.category, sum(i.quantity * i.unit_price * (1 - coalesce(i.discount, 0))) as net from order_items i join products p on p.id = i.product_id group by p.category
select p.name, rank() over (partition by p.category order by p.price desc) from products p
select name, price, price - lag(price) over (order by price) as step from products
select name, ntile(4) over (order by price) as quartile, percent_rank() over w, cume_dist() over w from products window w as (order by price)
select category, percentile_cont(0.5) within group (order by price) as median from products group by category
select category, mode() within group (order by price) from products group by category
select name from products where price > (select avg(price) from products)
select name from customers c where exists (select 1 from orders o where o.customer_id = c.id and o.total > 1000)
select name from customers where id not in (select customer_id from orders where customer_id is not null)
select name from customers where email ilike '%@example.com'
select name from customers where email ~* '^[a-z0-9._%+-]+@[a-z0-9.-]+\.[a-z]{2,}$'
select name from customers where name like 'A%' or name like '%son'
select name from customers where name similar to '(A|B)%'
select upper(name), lower(email), length(name), initcap(name), reverse(name) from customers
select trim(both ' ' from name), ltrim(name), rtrim(name), lpad(name, 20, '.'), substring(name from 1 for 3) from customers
select split_part(email, '@', 2) as domain, count(*) from customers group by domain order by count(*) desc
select regexp_replace(name, '\s+', ' ', 'g') from customers
select regexp_matches(email, '(.+)@(.+)') from customers
select (regexp_match(email, '@(.*)$'))[1] from customers
select concat(name, ' <', email, '>'), concat_ws(', ', name, email), name || ' ' || email from customers
select format('%s (%s)', name, id) from customers
select coalesce(updated_at, created_at) from customers
select nullif(name, ''), greatest(created_at, updated_at), least(1, 2) from customers
select case when total > 1000 then 'large' when total > 100 then 'medium' else 'small' end as size, count(*) from orders group by 1
select case status when 'open' then 1 else 0 end from orders
with recent as (select * from orders where ordered_at > now() - interval '7 days') select c.name, count(*) from recent r join customers c on c.id = r.customer_id group by c.name
with a as (select customer_id, sum(total) as s from orders group by 1), b as (select avg(s) as m from a) select a.* from a, b where a.s > b.m
with recursive tree as (select id, name, manager_id, 1 as depth from employees where manager_id is null union all select e.id, e.name, e.manager_id, t.depth + 1 from employees e join tree t on t.id = e.manager_id) select * from tree order by depth, name
with recursive r(id, path) as (select id, array[id] from regions where parent_id is null union all select g.id, r.path || g.id from regions g join r on g.parent_id = r.id) select id, array_to_string(path, '/') from r
with recursive days as (select date '2024-01-01' as d union all select d + 1 from days where d < date '2024-01-31') select d from days
select d::date from generate_series('2024-01-01'::date, '2024-01-31'::date, interval '1 day') d
select g, count(o.id) from generate_series(1, 12) g left join orders o on extract(month from o.ordered_at) = g group by g order by g
select * from orders o cross join lateral (select * from order_items i where i.order_id = o.id limit 3) x
select c.name, x.total from customers c left join lateral (select total from orders o where o.customer_id = c.id order by ordered_at desc limit 1) x on true
select distinct on (customer_id) customer_id, ordered_at, total from orders order by customer_id, ordered_at desc
select distinct category from products
select name from customers union select name from employees
select name from customers intersect select name from employees
select name from customers except all select name from employees order by 1
(select id from customers limit 5) union all (select id from employees limit 5)
values (1, 'a'), (2, 'b')
table products
select * from (values (1, 'one'), (2, 'two')) as v(id, word)
select profile->>'city' as city, count(*) from customers group by 1
select profile #>> '{address,zip}' from customers where profile @> '{"vip": true}'
select profile ? 'phone', profile ?| array['a', 'b'], profile ?& array['a', 'b'] from customers
select jsonb_array_elements(payload->'items')->>'sku' from events where payload ? 'items'
select e.id, i.value->>'sku' from events e, jsonb_array_elements(e.payload->'items') as i(value)
select key, value from events, jsonb_each_text(payload) where kind = 'signup'
select jsonb_object_agg(kind, n) from (select kind, count(*) as n from events group by kind) s
select json_agg(row_to_json(c)) from (select id, name from customers limit 5) c
select json_build_object('id', id, 'name', name, 'tags', to_json(tags)) from customers
select jsonb_path_query_array(payload, '$.items[*].price ? (@ > 10)') from events
select jsonb_pretty(payload) from events limit 1
select jsonb_set(payload, '{seen}', 'true') from events
select payload - 'password' from events
select (payload->>'amount')::numeric * 1.2 from events where payload->>'amount' is not null
select cast(payload->>'n' as integer) from events
select array_agg(name order by name) from customers group by region_id
select string_agg(distinct category, ', ' order by category) from products
select unnest(tags) as tag, count(*) from customers group by tag order by 2 desc
select name from customers where 'vip' = any(tags)
select name from customers where tags && array['a', 'b'] and not tags @> array['c']
select tags[1], tags[1:2], array_length(tags, 1), cardinality(tags) from customers
select name from customers where id = any(array[1, 2, 3])
select name from customers where id = any($1)
select * from orders where customer_id = $1 and ordered_at >= $2
select title, ts_rank(search, q) as rank from documents, to_tsquery('english', 'budget & report') q where search @@ q order by rank desc
select title from documents where to_tsvector('english', body) @@ plainto_tsquery('english', 'quarterly report')
select ts_headline('english', body, websearch_to_tsquery('english', '"annual report" -draft')) from documents
select title from documents where search @@ phraseto_tsquery('end of year')
select pg_size_pretty(sum(size_bytes)) from documents
select now(), current_timestamp, current_date, localtime, clock_timestamp()
select age(now(), created_at) from customers
select now() at time zone 'Europe/Paris', ordered_at at time zone 'UTC' from orders
select ordered_at::date, count(*) from orders group by 1
select date_part('hour', at) as hour, count(*) from events group by 1 order by 1
select date_bin('15 minutes', at, timestamp with time zone '2024-01-01') as slot, count(*) from events group by 1
select make_date(2024, 1, 1), make_interval(days => 3), to_timestamp(1700000000), to_date('2024-05-01', 'YYYY-MM-DD')
select justify_interval(interval '40 days'), extract(epoch from (now() - created_at)) from customers
select * from bookings where during && tstzrange('2024-01-01', '2024-01-02')
select room, lower(during), upper(during), upper(during) - lower(during) as length from bookings where not isempty(during)
select * from bookings where during @> now()
select range_agg(during) from bookings group by room
select host(ip), family(ip), masklen(ip) from events where ip << inet '10.0.0.0/8'
select encode(hash, 'hex') from payments where hash = '\xdeadbeef'
select md5(email), encode(sha256(email::bytea), 'hex') from customers
select gen_random_uuid(), random()
select * from customers order by random() limit 3
select * from customers tablesample bernoulli (10)
select * from customers tablesample system (5) repeatable (42)
select id, name from customers order by name collate "C"
select region_id, category, sum(total) from orders o join customers c on c.id = o.customer_id join order_items i on i.order_id = o.id join products p on p.id = i.product_id group by rollup (region_id, category)
select region_id, is_active, grouping(region_id), count(*) from customers group by cube (region_id, is_active)
select region_id, is_active, count(*) from customers group by grouping sets ((region_id), (is_active), ())
select corr(quantity, unit_price), regr_slope(quantity, unit_price), stddev_pop(quantity), var_samp(quantity) from order_items
select width_bucket(price, 0, 100, 10) as bucket, count(*) from products group by 1
select sum(total) over (order by ordered_at rows between unbounded preceding and current row) from orders
select avg(total) over (order by ordered_at range between interval '7 days' preceding and current row) from orders
select first_value(name) over w, last_value(name) over w, nth_value(name, 2) over w from employees window w as (partition by department order by salary desc rows between unbounded preceding and unbounded following)
select department, max(salary) - min(salary) as spread, avg(salary)::int from employees group by department
select e.name, m.name as manager from employees e left join employees m on m.id = e.manager_id
select e.name from employees e where e.salary > all (select salary from employees where department = 'support')
select name from employees where (department, salary) in (select department, max(salary) from employees group by department)
select row_number() over () as n, t.* from (select name from employees order by name) t
select abs(-1), ceil(1.2), floor(1.8), round(1.2345, 2), trunc(1.9), mod(7, 3), power(2, 10), sqrt(16), sign(-3), ln(2), log(100), exp(1)
select 7 / 2, 7 % 2, 2 ^ 3, 7 & 3, 7 | 8, 7 # 2, ~7, 1 << 3, 16 >> 2, |/ 25, @ -5
select 'DROP TABLE customers' as text, 'delete from x; update y' as other
select "update", "drop" from "Delete"
select updated_at, created_at as "insert" from customers -- drop table customers
select /* delete from customers */ 1
select 'it''s', E'line\nbreak', $$dollar 'quoted'$$, $tag$ $$ $tag$, U&'d\0061t\0061'
select b'1010', x'ff', 1e10, .5, 1.5e-3, true, null, interval '1 day 2 hours', timestamp '2024-01-01 10:00'
select * from public.customers as c (ident, naam) where ident > 3
select c.* from customers c natural join regions
select * from customers join regions using (id) as j where j.id > 3
select * from customers c full outer join regions r on r.id = c.region_id where r.id is null or c.id is null
select count(*), count(*) filter (where is_active), bool_and(is_active), bool_or(is_active), every(is_active) from customers
select exists(select 1 from orders where total > 10000)
select (select max(total) from orders), (select min(total) from orders)
select array(select name from customers order by name)
select * from (select *, row_number() over (partition by customer_id order by total desc) as rn from orders) s where rn = 1
select * from orders where ordered_at::date = current_date - 1
select * from orders where ordered_at >= date_trunc('week', current_date) and ordered_at < date_trunc('week', current_date) + interval '1 week'
select * from orders where total is distinct from 10
select * from customers where is_active is not true
select * from orders order by total desc nulls last, id offset 20 rows fetch next 10 rows only
select * from orders order by total desc fetch first 3 rows with ties
select xmlelement(name customer, xmlattributes(id as id), name) from customers
select xmlforest(name, email), xmlagg(xmlelement(name c, name)) from customers group by name, email
select x.* from xmltable('/a/b' passing xml '<a><b id="1"/></a>' columns id int path '@id') x
select row(1, 'a') = row(1, 'a'), (1, 2) < (1, 3)
select * from unnest(array[1, 2], array['a', 'b']) as u(n, t)
select * from rows from (generate_series(1, 3), unnest(array['a', 'b'])) with ordinality as r(n, t, o)
select * from json_to_recordset('[{"a":1,"b":"x"}]') as x(a int, b text)
select * from jsonb_populate_record(null::regions, '{"id": 1, "name": "x"}')
select pg_typeof(total), pg_column_size(notes) from orders
select table_name from information_schema.tables where table_schema = 'public'
select column_name, data_type, is_nullable from information_schema.columns where table_name = 'orders' order by ordinal_position
select relname, reltuples::bigint from pg_class where relkind = 'r' order by reltuples desc limit 10
select c.relname, pg_size_pretty(pg_total_relation_size(c.oid)) from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = 'public'
select indexname, indexdef from pg_indexes where tablename = 'orders'
select a.attname, format_type(a.atttypid, a.atttypmod), col_description(a.attrelid, a.attnum) from pg_attribute a where a.attrelid = 'orders'::regclass and a.attnum > 0
select conname, pg_get_constraintdef(oid) from pg_constraint where conrelid = 'public.orders'::regclass
select pid, state, query from pg_stat_activity where state <> 'idle'
select schemaname, relname, n_live_tup from pg_stat_user_tables
select enumlabel from pg_enum e join pg_type t on t.oid = e.enumtypid where t.typname = 'order_status'
select unnest(enum_range(null::order_status))
select version(), current_database(), current_schema, current_user
select has_table_privilege('orders', 'select'), pg_get_viewdef('pg_views'::regclass)
show server_version
show all
explain select * from orders where customer_id = 3
explain (analyze, buffers, format json) select count(*) from orders
explain verbose select c.name from customers c join orders o on o.customer_id = c.id
explain (costs off, timing false) update orders set total = 0
select o.id, o.total, sum(p.amount) as paid, o.total - coalesce(sum(p.amount), 0) as due from orders o left join payments p on p.order_id = o.id group by o.id, o.total having o.total > coalesce(sum(p.amount), 0)
select method, count(*), sum(amount), min(paid_at), max(paid_at) from payments where paid_at >= '2024-01-01' group by method order by sum(amount) desc
with monthly as (select date_trunc('month', ordered_at) m, sum(total) t from orders group by 1) select m, t, t - lag(t) over (order by m) as change, round(100.0 * (t - lag(t) over (order by m)) / nullif(lag(t) over (order by m), 0), 1) as pct from monthly order by m
with cohort as (select id, date_trunc('month', created_at) as c from customers), act as (select o.customer_id, date_trunc('month', o.ordered_at) as m from orders o) select c.c, a.m, count(distinct c.id) from cohort c join act a on a.customer_id = c.id group by 1, 2 order by 1, 2
select kind, count(*) as n, count(distinct user_id) as users, max(at) as last_seen from events where at > now() - interval '24 hours' group by kind order by n desc
select user_id, at, kind, lead(at) over (partition by user_id order by at) - at as gap from events
select user_id, sum(new_session) over (partition by user_id order by at) as session from (select user_id, at, case when at - lag(at) over (partition by user_id order by at) > interval '30 minutes' then 1 else 0 end as new_session from events) s
select translate(name, 'abc', 'xyz'), replace(name, 'a', 'b'), position('a' in name), strpos(name, 'b'), overlay(name placing 'X' from 2 for 1), repeat('-', 3), left(name, 2), right(name, 2), ascii(name), chr(65) from customers
select starts_with(name, 'A'), name ^@ 'A', string_to_array(name, ' '), quote_literal(name), quote_ident(name), to_hex(255) from customers
select normalize(name), name is normalized, bit_length(name), octet_length(name), char_length(name) from customers
select created_at::timestamp(0), total::text, total::int8, '5'::int, 'open'::order_status, array[1]::bigint[] from customers, orders
select interval '1' year, date '2024-02-29' + 365, time '10:00' + interval '1 hour', (date '2024-01-01', date '2024-02-01') overlaps (date '2024-01-15', date '2024-03-01')
select birthday, date_part('year', age(birthday)) as years from customers where extract(month from birthday) = extract(month from current_date)
select isfinite(created_at), to_char(12345.678, '999G999D99'), to_number('1,234', '9,999') from customers
select array_position(tags, 'a'), array_remove(tags, 'b'), array_append(tags, 'c'), array_cat(tags, tags), trim_array(tags, 0) from customers
select num_nulls(name, email), num_nonnulls(name, email) from customers
select bit_and(quantity), bit_or(quantity), json_object_agg(product_id, quantity) from order_items
select jsonb_typeof(payload), jsonb_strip_nulls(payload), payload || '{"a": 1}', jsonb_array_length('[1,2]') from events
select payload @? '$.a', payload @@ '$.a > 1', jsonb_path_exists(payload, '$.a') from events
select to_jsonb(c) - 'email' from customers c
select * from app.people where name = 'x'
select p.name, n.title from app.people p, public.notes n where n.id = p.id
select title from notes where body like '%50\%%' escape '\'
select id from documents where title ~ '\d{4}' and body !~ '\mdraft\M'
select * from orders where notes ilike '%drop%' or notes ilike '%truncate%'
select count(*) as "delete", sum(total) as "update" from orders
select inet_server_addr(), pg_backend_pid(), pg_postmaster_start_time()
select point(1, 2) <-> point(3, 4), box '((0,0),(1,1))' @> point '(0.5,0.5)', area(circle '((0,0),2)')
select cume_dist() over (order by total), dense_rank() over (order by total) from orders
select string_agg(name, ',') within_list, array_agg(distinct region_id) from customers
select greatest(price, 10) as price, price::money, cbrt(27), pi(), degrees(pi()), radians(180), sin(0), cos(0), atan2(1, 1) from products
select * from products where (attributes->>'weight')::float > 1.5 and attributes->'dims' is not null
select * from products where attributes @> '{"color": "red"}'::jsonb order by price desc limit 5 offset 10
select category, json_agg(json_build_object('id', id, 'price', price) order by price) from products group by category
select max(id) + 1 as next_id from orders
select mod(id, 10) as shard, count(*) from customers group by mod(id, 10)
select coalesce((select name from regions where id = c.region_id), 'none') as region from customers c
select not is_active, is_active and true or false, is_active is unknown from customers
-- What dashboards ask of every table.
select region_id, count(*) as n from customers group by region_id order by n desc limit 10
select * from customers where created_at >= now() - interval '7 days' order by created_at desc limit 100
select date_trunc('week', created_at)::date as week, count(*), sum(id), avg(id), min(id), max(id) from customers group by 1 order by 1 desc
select region_id, sum(id) as total, round(100.0 * sum(id) / sum(sum(id)) over (), 2) as share from customers group by region_id
with ranked as (select t.*, row_number() over (partition by region_id order by created_at desc) as rn from customers t) select * from ranked where rn <= 3
select count(*) filter (where created_at > now() - interval '1 day') as day, count(*) filter (where created_at > now() - interval '30 days') as month from customers
SELECT COUNT(*) AS total, COUNT(DISTINCT region_id) AS groups FROM customers WHERE name IS NOT NULL AND name::text <> ''
select name from customers where lower(name::text) like lower('%report%') order by length(name::text), name limit 25
select region_id, a.n, b.n as before from (select region_id, count(*) n from customers where created_at > now() - interval '30 days' group by 1) a full join (select region_id, count(*) n from customers where created_at between now() - interval '60 days' and now() - interval '30 days' group by 1) b using (region_id)
select percentile_disc(array[0.5, 0.9, 0.99]) within group (order by id) from customers
select d::date as day, count(t.id) from generate_series(current_date - 30, current_date, interval '1 day') d left join customers t on t.created_at::date = d::date group by 1 order by 1
select id, created_at, sum(id) over (partition by region_id order by created_at) as running from customers order by region_id, created_at
explain (format yaml) select * from customers where region_id is null
select exists (select from customers where id > 100) as any, (select count(*) from customers) as all_rows
select region_id from customers group by region_id having max(created_at) < now() - interval '90 days'
select md5(string_agg(t::text, '|' order by id)) as fingerprint from customers t
select width_bucket(id::numeric, 0, 1000, 10) as bucket, count(*) from customers where id is not null group by bucket order by bucket
select to_json(t) from customers t order by id desc nulls last limit 1
select status, count(*) as n from orders group by status order by n desc limit 10
select * from orders where ordered_at >= now() - interval '7 days' order by ordered_at desc limit 100
select date_trunc('week', ordered_at)::date as week, count(*), sum(total), avg(total), min(total), max(total) from orders group by 1 order by 1 desc
select status, sum(total) as total, round(100.0 * sum(total) / sum(sum(total)) over (), 2) as share from orders group by status
with ranked as (select t.*, row_number() over (partition by status order by ordered_at desc) as rn from orders t) select * from ranked where rn <= 3
select count(*) filter (where ordered_at > now() - interval '1 day') as day, count(*) filter (where ordered_at > now() - interval '30 days') as month from orders
SELECT COUNT(*) AS total, COUNT(DISTINCT status) AS groups FROM orders WHERE notes IS NOT NULL AND notes::text <> ''
select notes from orders where lower(notes::text) like lower('%report%') order by length(notes::text), notes limit 25
select status, a.n, b.n as before from (select status, count(*) n from orders where ordered_at > now() - interval '30 days' group by 1) a full join (select status, count(*) n from orders where ordered_at between now() - interval '60 days' and now() - interval '30 days' group by 1) b using (status)
select percentile_disc(array[0.5, 0.9, 0.99]) within group (order by total) from orders
select d::date as day, count(t.total) from generate_series(current_date - 30, current_date, interval '1 day') d left join orders t on t.ordered_at::date = d::date group by 1 order by 1
select total, ordered_at, sum(total) over (partition by status order by ordered_at) as running from orders order by status, ordered_at
explain (format yaml) select * from orders where status is null
select exists (select from orders where total > 100) as any, (select count(*) from orders) as all_rows
select status from orders group by status having max(ordered_at) < now() - interval '90 days'
select md5(string_agg(t::text, '|' order by total)) as fingerprint from orders t
select width_bucket(total::numeric, 0, 1000, 10) as bucket, count(*) from orders where total is not null group by bucket order by bucket
select to_json(t) from orders t order by total desc nulls last limit 1
select kind, count(*) as n from events group by kind order by n desc limit 10
select * from events where at >= now() - interval '7 days' order by at desc limit 100
select date_trunc('week', at)::date as week, count(*), sum(user_id), avg(user_id), min(user_id), max(user_id) from events group by 1 order by 1 desc
select kind, sum(user_id) as total, round(100.0 * sum(user_id) / sum(sum(user_id)) over (), 2) as share from events group by kind
with ranked as (select t.*, row_number() over (partition by kind order by at desc) as rn from events t) select * from ranked where rn <= 3
select count(*) filter (where at > now() - interval '1 day') as day, count(*) filter (where at > now() - interval '30 days') as month from events
SELECT COUNT(*) AS total, COUNT(DISTINCT kind) AS groups FROM events WHERE kind IS NOT NULL AND kind::text <> ''
select kind from events where lower(kind::text) like lower('%report%') order by length(kind::text), kind limit 25
select kind, a.n, b.n as before from (select kind, count(*) n from events where at > now() - interval '30 days' group by 1) a full join (select kind, count(*) n from events where at between now() - interval '60 days' and now() - interval '30 days' group by 1) b using (kind)
select percentile_disc(array[0.5, 0.9, 0.99]) within group (order by user_id) from events
select d::date as day, count(t.user_id) from generate_series(current_date - 30, current_date, interval '1 day') d left join events t on t.at::date = d::date group by 1 order by 1
select user_id, at, sum(user_id) over (partition by kind order by at) as running from events order by kind, at
explain (format yaml) select * from events where kind is null
select exists (select from events where user_id > 100) as any, (select count(*) from events) as all_rows
select kind from events group by kind having max(at) < now() - interval '90 days'
select md5(string_agg(t::text, '|' order by user_id)) as fingerprint from events t
select width_bucket(user_id::numeric, 0, 1000, 10) as bucket, count(*) from events where user_id is not null group by bucket order by bucket
select to_json(t) from events t order by user_id desc nulls last limit 1
select author, count(*) as n from documents group by author order by n desc limit 10
select * from documents where uploaded_at >= now() - interval '7 days' order by uploaded_at desc limit 100
select date_trunc('week', uploaded_at)::date as week, count(*), sum(size_bytes), avg(size_bytes), min(size_bytes), max(size_bytes) from documents group by 1 order by 1 desc
select author, sum(size_bytes) as total, round(100.0 * sum(size_bytes) / sum(sum(size_bytes)) over (), 2) as share from documents group by author
with ranked as (select t.*, row_number() over (partition by author order by uploaded_at desc) as rn from documents t) select * from ranked where rn <= 3
select count(*) filter (where uploaded_at > now() - interval '1 day') as day, count(*) filter (where uploaded_at > now() - interval '30 days') as month from documents
SELECT COUNT(*) AS total, COUNT(DISTINCT author) AS groups FROM documents WHERE title IS NOT NULL AND title::text <> ''
select title from documents where lower(title::text) like lower('%report%') order by length(title::text), title limit 25
select author, a.n, b.n as before from (select author, count(*) n from documents where uploaded_at > now() - interval '30 days' group by 1) a full join (select author, count(*) n from documents where uploaded_at between now() - interval '60 days' and now() - interval '30 days' group by 1) b using (author)
select percentile_disc(array[0.5, 0.9, 0.99]) within group (order by size_bytes) from documents
select d::date as day, count(t.size_bytes) from generate_series(current_date - 30, current_date, interval '1 day') d left join documents t on t.uploaded_at::date = d::date group by 1 order by 1
select size_bytes, uploaded_at, sum(size_bytes) over (partition by author order by uploaded_at) as running from documents order by author, uploaded_at
explain (format yaml) select * from documents where author is null
select exists (select from documents where size_bytes > 100) as any, (select count(*) from documents) as all_rows
select author from documents group by author having max(uploaded_at) < now() - interval '90 days'
select md5(string_agg(t::text, '|' order by size_bytes)) as fingerprint from documents t
select width_bucket(size_bytes::numeric, 0, 1000, 10) as bucket, count(*) from documents where size_bytes is not null group by bucket order by bucket
select to_json(t) from documents t order by size_bytes desc nulls last limit 1
select method, count(*) as n from payments group by method order by n desc limit 10
select * from payments where paid_at >= now() - interval '7 days' order by paid_at desc limit 100
select date_trunc('week', paid_at)::date as week, count(*), sum(amount), avg(amount), min(amount), max(amount) from payments group by 1 order by 1 desc
select method, sum(amount) as total, round(100.0 * sum(amount) / sum(sum(amount)) over (), 2) as share from payments group by method
with ranked as (select t.*, row_number() over (partition by method order by paid_at desc) as rn from payments t) select * from ranked where rn <= 3
select count(*) filter (where paid_at > now() - interval '1 day') as day, count(*) filter (where paid_at > now() - interval '30 days') as month from payments
SELECT COUNT(*) AS total, COUNT(DISTINCT method) AS groups FROM payments WHERE method IS NOT NULL AND method::text <> ''
select method from payments where lower(method::text) like lower('%report%') order by length(method::text), method limit 25
select method, a.n, b.n as before from (select method, count(*) n from payments where paid_at > now() - interval '30 days' group by 1) a full join (select method, count(*) n from payments where paid_at between now() - interval '60 days' and now() - interval '30 days' group by 1) b using (method)
select percentile_disc(array[0.5, 0.9, 0.99]) within group (order by amount) from payments
select d::date as day, count(t.amount) from generate_series(current_date - 30, current_date, interval '1 day') d left join payments t on t.paid_at::date = d::date group by 1 order by 1
select amount, paid_at, sum(amount) over (partition by method order by paid_at) as running from payments order by method, paid_at
explain (format yaml) select * from payments where method is null
select exists (select from payments where amount > 100) as any, (select count(*) from payments) as all_rows
select method from payments group by method having max(paid_at) < now() - interval '90 days'
select md5(string_agg(t::text, '|' order by amount)) as fingerprint from payments t
select width_bucket(amount::numeric, 0, 1000, 10) as bucket, count(*) from payments where amount is not null group by bucket order by bucket
select to_json(t) from payments t order by amount desc nulls last limit 1
select department, count(*) as n from employees group by department order by n desc limit 10
select * from employees where hired_on >= now() - interval '7 days' order by hired_on desc limit 100
select date_trunc('week', hired_on)::date as week, count(*), sum(salary), avg(salary), min(salary), max(salary) from employees group by 1 order by 1 desc
select department, sum(salary) as total, round(100.0 * sum(salary) / sum(sum(salary)) over (), 2) as share from employees group by department
with ranked as (select t.*, row_number() over (partition by department order by hired_on desc) as rn from employees t) select * from ranked where rn <= 3
select count(*) filter (where hired_on > now() - interval '1 day') as day, count(*) filter (where hired_on > now() - interval '30 days') as month from employees
SELECT COUNT(*) AS total, COUNT(DISTINCT department) AS groups FROM employees WHERE name IS NOT NULL AND name::text <> ''
select name from employees where lower(name::text) like lower('%report%') order by length(name::text), name limit 25
select department, a.n, b.n as before from (select department, count(*) n from employees where hired_on > now() - interval '30 days' group by 1) a full join (select department, count(*) n from employees where hired_on between now() - interval '60 days' and now() - interval '30 days' group by 1) b using (department)
select percentile_disc(array[0.5, 0.9, 0.99]) within group (order by salary) from employees
select d::date as day, count(t.salary) from generate_series(current_date - 30, current_date, interval '1 day') d left join employees t on t.hired_on::date = d::date group by 1 order by 1
select salary, hired_on, sum(salary) over (partition by department order by hired_on) as running from employees order by department, hired_on
explain (format yaml) select * from employees where department is null
select exists (select from employees where salary > 100) as any, (select count(*) from employees) as all_rows
select department from employees group by department having max(hired_on) < now() - interval '90 days'
select md5(string_agg(t::text, '|' order by salary)) as fingerprint from employees t
select width_bucket(salary::numeric, 0, 1000, 10) as bucket, count(*) from employees where salary is not null group by bucket order by bucket
select to_json(t) from employees t order by salary desc nulls last limit 1
-- Columns of functions and rows, and what looks like a column of the server's own
select f.f, f.upper from lower('X') f
select x.key, x.value from jsonb_each('{"a": 1}') x
select e.key, (e.value ->> 'a') from events, jsonb_each(payload) e
select (jsonb_each('{"a": 1}')).key
select (jsonb_each('{"a": 1}')).*
select t.a, t.b, t.ordinality from unnest(array[1, 2], array[3, 4]) with ordinality as t(a, b)
select g.g, g.ordinality from generate_series(1, 3) with ordinality g
select x.a, x.b from json_to_recordset('[{"a": 1}]') as x(a int, b text)
select w.word, w.catcode from pg_get_keywords() w limit 3
select ts.alias, ts.token from ts_debug('english', 'a cat') ts
select u.lexeme, u.positions from unnest(to_tsvector('a cat')) u
select a.grantee, a.privilege_type from pg_class c, aclexplode(c.relacl) a limit 1
select ('a'::text).upper, (1).abs from notes
select d.value from notes n, lateral jsonb_array_elements(to_jsonb(array[n.title])) d
select x.relid from pg_partition_tree('notes') x

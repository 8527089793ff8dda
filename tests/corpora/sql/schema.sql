-- The tables that `reads.sql` reads: every line of it was run against them in a READ ONLY transaction of PostgreSQL 15.
create type order_status as enum ('open', 'paid', 'shipped', 'cancelled');
create table regions (id int primary key, name text, parent_id int);
create table customers (id int primary key, name text, email text, region_id int, created_at timestamptz, updated_at timestamptz, is_active boolean, tags text[], profile jsonb, birthday date);
create table products (id int primary key, sku text, name text, price numeric(10, 2), category text, attributes jsonb, discontinued boolean);
create table orders (id int primary key, customer_id int, status order_status, ordered_at timestamptz, shipped_at timestamptz, total numeric(12, 2), notes text);
create table order_items (order_id int, product_id int, quantity int, unit_price numeric(10, 2), discount numeric(4, 2));
create table employees (id int primary key, name text, manager_id int, department text, salary numeric(10, 2), hired_on date);
create table events (id bigint primary key, user_id int, kind text, at timestamptz, payload jsonb, ip inet);
create table documents (id int primary key, title text, body text, author text, search tsvector, uploaded_at timestamptz, size_bytes bigint);
create table payments (id int primary key, order_id int, amount numeric(12, 2), method text, paid_at timestamptz, hash bytea);
create table bookings (id int primary key, room text, during tstzrange, guest text);
create table "Delete" (id int, "update" text, "drop" boolean);
create schema app;
create table app.people (id int primary key, name text);
create table notes (id int primary key, title text, body text, created_at timestamptz);

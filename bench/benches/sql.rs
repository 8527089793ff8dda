//! Reading a statement with PostgreSQL's grammar and walking its tree, without the cache of verdicts.
//!
//! The promise is 50 us at the median for 500 bytes, and a time that grows with the length and with nothing else.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use gateway_sql::{Ask, Dialect, Guard, Lists, WrittenList};

/// As the server has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const LIST: &str = include_str!("../../policies/sql/postgres.yaml");

/// About 500 bytes, as a dashboard asks.
const DASHBOARD: &str = "with recent as (select o.id, o.customer_id, o.total, o.ordered_at from orders o \
    where o.ordered_at >= now() - interval '30 days' and o.status <> 'cancelled') \
    select c.name, count(r.id) as orders, sum(r.total) as revenue, round(avg(r.total), 2) as mean, \
    max(r.ordered_at) as last_order, case when sum(r.total) > 1000 then 'large' else 'small' end as size \
    from customers c left join recent r on r.customer_id = c.id where c.region = 'north' and c.updated_at is not null \
    group by c.id, c.name having count(r.id) > 3 order by revenue desc nulls last limit 20";

fn statements(criterion: &mut Criterion) {
    let written: Result<WrittenList, _> = serde_saphyr::from_str(LIST);
    let Ok(written) = written else {
        return;
    };
    let guard = Guard::new(Lists { postgres: written.into(), ..Lists::default() });
    let ask = Ask::of(Dialect::Postgres);
    let listed = ["orders".to_owned(), "customers".to_owned()];
    let under_a_list = Ask { tables: Some(&listed), ..ask };
    let mut group = criterion.benchmark_group("sql/postgres");
    for (name, text) in [
        ("short", "select * from notes where id = 7".to_owned()),
        ("dashboard", DASHBOARD.to_owned()),
        ("backslash", format!("{DASHBOARD} -- \\")),
        ("100 KB of numbers", format!("select * from t where a in ({})", vec!["1234567"; 11_000].join(", "))),
        ("200 KB of numbers", format!("select * from t where a in ({})", vec!["1234567"; 22_000].join(", "))),
        ("100 KB of fields", format!("select a{}", ".a".repeat(50_000))),
        ("200 KB of fields", format!("select a{}", ".a".repeat(100_000))),
        ("200 KB of subscripts", format!("select a{}", "[1]".repeat(66_000))),
        ("200 KB of short rows of operators", format!("select 1{}", format!(" {}1", "+".repeat(125)).repeat(1_600))),
        ("20,000 parentheses", format!("select {}1{}", "(".repeat(20_000), ")".repeat(20_000))),
        ("200 KB of sums", format!("select 1{}", "+1".repeat(100_000))),
    ] {
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_with_input(BenchmarkId::from_parameter(name), &text, |bencher, text| {
            bencher.iter(|| guard.read_anew(black_box(text), &ask));
        });
    }
    group.bench_function("dashboard under a list", |bencher| {
        bencher.iter(|| guard.read_anew(black_box(DASHBOARD), &under_a_list));
    });
    group.finish();
}

criterion_group!(benches, statements);
criterion_main!(benches);

//! Types that are not somebody's table: PostgreSQL's own, and those of its extensions.

use super::names::Name;

/// As the parser names them, sorted.
const OWN: &[&str] = &[
    "aclitem",
    "any",
    "anyarray",
    "anycompatible",
    "anycompatiblearray",
    "anycompatiblemultirange",
    "anycompatiblenonarray",
    "anycompatiblerange",
    "anyelement",
    "anyenum",
    "anymultirange",
    "anynonarray",
    "anyrange",
    "bit",
    "bool",
    "box",
    "bpchar",
    "bytea",
    "char",
    "cid",
    "cidr",
    "circle",
    "cstring",
    "date",
    "datemultirange",
    "daterange",
    "float4",
    "float8",
    "gtsvector",
    "inet",
    "int2",
    "int2vector",
    "int4",
    "int4multirange",
    "int4range",
    "int8",
    "int8multirange",
    "int8range",
    "interval",
    "json",
    "jsonb",
    "jsonpath",
    "line",
    "lseg",
    "macaddr",
    "macaddr8",
    "money",
    "name",
    "numeric",
    "nummultirange",
    "numrange",
    "oid",
    "oidvector",
    "path",
    "pg_brin_bloom_summary",
    "pg_brin_minmax_multi_summary",
    "pg_dependencies",
    "pg_lsn",
    "pg_mcv_list",
    "pg_ndistinct",
    "pg_node_tree",
    "pg_snapshot",
    "point",
    "polygon",
    "record",
    "refcursor",
    "regclass",
    "regcollation",
    "regconfig",
    "regdictionary",
    "regnamespace",
    "regoper",
    "regoperator",
    "regproc",
    "regprocedure",
    "regrole",
    "regtype",
    "text",
    "tid",
    "time",
    "timestamp",
    "timestamptz",
    "timetz",
    "tsmultirange",
    "tsquery",
    "tsrange",
    "tstzmultirange",
    "tstzrange",
    "tsvector",
    "txid_snapshot",
    "unknown",
    "uuid",
    "varbit",
    "varchar",
    "void",
    "xid",
    "xid8",
    "xml",
];

/// Of extensions, sorted: none of them is a row.
const OF_EXTENSIONS: &[&str] = &[
    "box2d",
    "box3d",
    "citext",
    "cube",
    "ean13",
    "earth",
    "geography",
    "geometry",
    "halfvec",
    "hstore",
    "isbn",
    "isbn13",
    "ismn",
    "ismn13",
    "issn",
    "issn13",
    "lquery",
    "ltree",
    "ltxtquery",
    "seg",
    "sparsevec",
    "upc",
    "vector",
];

/// Whether a type is surely no row of a table.
pub fn is_known(of: Name<'_>) -> bool {
    match of.schema {
        Some("pg_catalog") => OWN.binary_search(&of.name).is_ok(),
        None => [OWN, OF_EXTENSIONS].iter().any(|types| types.binary_search(&of.name).is_ok()),
        Some("public") => OF_EXTENSIONS.binary_search(&of.name).is_ok(),
        Some(_) => false,
    }
}

/// As people write them where a name of a type is a string: `'integer'::regtype`.
pub fn is_spelled(text: &str) -> bool {
    const SPELLED: &[&str] = &[
        "bigint",
        "boolean",
        "character varying",
        "character",
        "decimal",
        "double precision",
        "int",
        "integer",
        "real",
        "smallint",
        "timestamp with time zone",
        "timestamp without time zone",
        "time with time zone",
        "time without time zone",
    ];
    let name = text.trim().to_ascii_lowercase();
    let name = name.trim_end_matches("[]");
    SPELLED.contains(&name) || is_known(Name { schema: None, name })
}

#[cfg(test)]
mod tests {
    use super::{OF_EXTENSIONS, OWN};

    #[test]
    fn what_is_searched_is_sorted() {
        assert!(OWN.is_sorted() && OF_EXTENSIONS.is_sorted());
    }
}

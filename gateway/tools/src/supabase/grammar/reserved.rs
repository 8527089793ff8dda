//! Words that PostgreSQL or SQLite do not take everywhere as a bare name of a table or column.

/// Sorted: looked up by halving.
#[rustfmt::skip]
pub(super) const RESERVED: [&str; 180] = [
    "add", "all", "alter", "analyse", "analyze", "and", "any", "array", "as", "asc", "asymmetric", "authorization",
    "autoincrement", "between", "bigint", "binary", "bit", "boolean", "both", "case", "cast", "char", "character",
    "check", "coalesce", "collate", "collation", "column", "commit", "concurrently", "constraint", "create", "cross",
    "current_catalog", "current_date", "current_role", "current_schema", "current_time", "current_timestamp",
    "current_user", "dec", "decimal", "default", "deferrable", "delete", "desc", "distinct", "do", "drop", "else",
    "end", "escape", "except", "exists", "extract", "false", "fetch", "float", "for", "foreign", "freeze", "from",
    "full", "grant", "greatest", "group", "grouping", "having", "if", "ilike", "in", "index", "indexed", "initially",
    "inner", "inout", "insert", "int", "integer", "intersect", "interval", "into", "is", "isnull", "join", "json",
    "json_array", "json_arrayagg", "json_exists", "json_object", "json_objectagg", "json_query", "json_scalar",
    "json_serialize", "json_table", "json_value", "lateral", "leading", "least", "left", "like", "limit", "localtime",
    "localtimestamp", "merge_action", "national", "natural", "nchar", "none", "normalize", "not", "nothing",
    "notnull", "null", "nullif", "numeric", "offset", "on", "only", "or", "order", "out", "outer", "overlaps",
    "overlay", "placing", "position", "precision", "primary", "raise", "real", "references", "returning", "right",
    "row", "select", "session_user", "set", "setof", "similar", "smallint", "some", "substring", "symmetric",
    "system_user", "table", "tablesample", "then", "time", "timestamp", "to", "trailing", "transaction", "treat",
    "trim", "true", "union", "unique", "update", "user", "using", "values", "varchar", "variadic", "verbose", "when",
    "where", "window", "with", "xmlattributes", "xmlconcat", "xmlelement", "xmlexists", "xmlforest", "xmlnamespaces",
    "xmlparse", "xmlpi", "xmlroot", "xmlserialize", "xmltable",
];

//! A stand-in for bindgen, which loads libclang: only Rust and a C compiler may be needed to build the gateway.
//!
//! It generates for one header only, pg_query's, and hands out what is written down in `pg_query.txt`. The header's text is
//! looked at, so that another version of the library stops the build instead of being called the wrong way.
//!
//! It runs inside pg_query's build, after the library was compiled. That is the place to add one file of our own to it (`tree`).

mod tree;

use std::fmt;
use std::fs;
use std::io;
use std::path::Path;

/// What calls the library, and how its structs lie in memory.
const PG_QUERY: &str = include_str!("pg_query.txt");

/// Declarations of the header that `PG_QUERY` repeats, without blanks: all of them must still be there.
const DECLARED: [&str; 6] = [
    "#definePG_VERSION_NUM180006",
    "PgQueryProtobufParseResultpg_query_parse_protobuf_opts(constchar*input,intparser_options);",
    "typedefstruct{size_tlen;char*data;}PgQueryProtobuf;",
    "typedefstruct{PgQueryProtobufparse_tree;char*stderr_buffer;PgQueryError*error;}PgQueryProtobufParseResult;",
    "typedefstruct{PgQuerySplitStmt**stmts;intn_stmts;char*stderr_buffer;PgQueryError*error;}PgQuerySplitResult;",
    "PgQueryDeparseResultpg_query_deparse_protobuf_opts(PgQueryProtobufparse_tree,structPostgresDeparseOptsopts);",
];

#[derive(Debug, Default)]
pub struct Builder {
    header: String,
}

impl Builder {
    #[must_use]
    pub fn header(mut self, header: impl Into<String>) -> Self {
        self.header = header.into();
        self
    }

    /// # Errors
    /// When the header is not the one whose bindings are kept here.
    pub fn generate(self) -> Result<Bindings, BindgenError> {
        let text = fs::read_to_string(&self.header).map_err(|error| BindgenError(error.to_string()))?;
        let squeezed: String = text
            .lines()
            .map(|line| line.split("//").next().unwrap_or_default())
            .flat_map(str::split_whitespace)
            .collect();
        if let Some(missing) = DECLARED.into_iter().find(|declared| !squeezed.contains(declared)) {
            return Err(BindgenError(format!("`{missing}` is not in {}: the bindings are of 18.1.0", self.header)));
        }
        let laid_out = Path::new(&self.header).parent().unwrap_or(Path::new("."));
        tree::compile(laid_out).map_err(|error| BindgenError(format!("tree.c: {error}")))?;
        Ok(Bindings)
    }
}

#[derive(Debug)]
pub struct Bindings;

impl Bindings {
    /// # Errors
    /// When the file cannot be written.
    pub fn write_to_file(&self, path: impl AsRef<Path>) -> io::Result<()> {
        fs::write(path, [PG_QUERY, &tree::bindings()?].concat())
    }
}

#[derive(Debug)]
pub struct BindgenError(String);

impl fmt::Display for BindgenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BindgenError {}

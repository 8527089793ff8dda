//! Compiles `tree.c` into the library that pg_query's build has just made, among the sources that it has laid out, and writes
//! down the numbers by which its messages name their fields: for C, and for whoever reads the bytes in Rust.

use std::env;
use std::fmt::Write;
use std::fs;
use std::io;
use std::path::Path;

const SOURCE: &str = include_str!("tree.c");

/// What calls it.
const CALL: &str = include_str!("tree.txt");

/// What goes into the crate: the call, and `number_of(field)` of every message, for `protobuf::Node` of every kind of node.
pub fn bindings() -> io::Result<String> {
    let crate_folder =
        env::var_os("CARGO_MANIFEST_DIR").ok_or_else(|| io::Error::other("CARGO_MANIFEST_DIR is not set"))?;
    let messages = fs::read_to_string(Path::new(&crate_folder).join("src/protobuf.rs"))?;
    Ok([CALL, &constants(&messages)].concat())
}

pub fn compile(laid_out: &Path) -> io::Result<()> {
    // Not beside the library's own files: its build would compile ours among them the next time.
    let ours = laid_out.join("portreeve");
    fs::create_dir_all(&ours)?;
    let proto = fs::read_to_string(laid_out.join("protobuf/pg_query.proto"))?;
    fs::write(ours.join("tree_numbers.h"), numbers(&proto))?;
    fs::write(ours.join("tree.c"), SOURCE)?;
    let mut build = cc::Build::new();
    build.file(ours.join("tree.c")).include(&ours).include(laid_out).warnings(false);
    for folder in ["src", "src/include", "src/postgres/include"] {
        build.include(laid_out.join(folder));
    }
    // As the library is compiled: its headers mean the same only then.
    if env::var("PROFILE").is_ok_and(|profile| profile == "debug") || env::var("DEBUG").is_ok_and(|level| level == "1")
    {
        build.define("USE_ASSERT_CHECKING", None);
    }
    build.flag("-fno-strict-aliasing").flag("-fwrapv");
    build.try_compile("portreeve_tree").map_err(io::Error::other)
}

/// `NUMBER_SelectStmt_op = 17` for every field of every message.
fn numbers(proto: &str) -> String {
    let mut header = String::from("enum {\n");
    let mut message = None;
    for line in proto.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["message", name, ..] => message = Some(*name),
            ["enum", ..] => message = None,
            ["repeated", _, field, "=", number, ..] | [_, field, "=", number, ..] => {
                if let Some(message) = message {
                    let _ = writeln!(header, "NUMBER_{message}_{field} = {},", number.trim_end_matches(';'));
                }
            }
            _ => {}
        }
    }
    header.push_str("};\n");
    header
}

/// The same as functions, with the names that messages and fields have in Rust.
fn constants(messages: &str) -> String {
    let mut functions = String::new();
    let (mut message, mut number) = (None, None);
    let mut fields: Vec<(&str, &str)> = Vec::new();
    for line in messages.lines() {
        if let Some((_, after)) = line.split_once("tag = \"") {
            number = after.split('"').next();
        }
        if let Some(name) = line.strip_prefix("pub struct ") {
            write_function(&mut functions, message, &mut fields);
            message = name.split_whitespace().next();
        } else if line.trim_start().starts_with("pub struct ") {
            // Inside a module: not of a tree.
            write_function(&mut functions, message.take(), &mut fields);
        } else if let Some(field) = field(line.trim_start())
            && let Some(number) = number.take()
        {
            fields.push((field, number));
        }
    }
    write_function(&mut functions, message, &mut fields);
    functions
}

/// `name` of the field `pub name: Type,` and `Kind` of the variant `Kind(Type),`.
fn field(line: &str) -> Option<&str> {
    if let Some((field, _)) = line.strip_prefix("pub ").and_then(|field| field.split_once(": ")) {
        return Some(field);
    }
    line.split_once('(').map(|(kind, _)| kind).filter(|kind| kind.starts_with(|first: char| first.is_ascii_uppercase()))
}

fn write_function(functions: &mut String, message: Option<&str>, fields: &mut Vec<(&str, &str)>) {
    let fields = std::mem::take(fields);
    let Some(message) = message else { return };
    let _ = writeln!(
        functions,
        "impl crate::protobuf::{message} {{ pub const fn number_of(name: &str) -> u32 {{ numbered(name, &["
    );
    for (field, number) in fields {
        let _ = write!(functions, "({field:?}, {number}), ");
    }
    functions.push_str("]) } }\n");
}

//! Our tree against the crate's, message by message and field by field.

use super::Node;
use super::pg;

/// Whether what is kept here says what it says there.
pub trait Same<T> {
    fn same(&self, theirs: &T) -> bool;
}

impl Same<bool> for bool {
    fn same(&self, theirs: &bool) -> bool {
        self == theirs
    }
}

impl Same<i32> for i32 {
    fn same(&self, theirs: &i32) -> bool {
        self == theirs
    }
}

impl Same<String> for &str {
    fn same(&self, theirs: &String) -> bool {
        self == theirs
    }
}

impl<A: Same<B>, B> Same<B> for Box<A> {
    fn same(&self, theirs: &B) -> bool {
        (**self).same(theirs)
    }
}

impl<A: Same<B>, B> Same<Option<B>> for Option<A> {
    fn same(&self, theirs: &Option<B>) -> bool {
        match (self, theirs) {
            (None, None) => true,
            (Some(ours), Some(theirs)) => ours.same(theirs),
            _ => false,
        }
    }
}

impl<A: Same<B>, B> Same<Vec<B>> for Vec<A> {
    fn same(&self, theirs: &Vec<B>) -> bool {
        self.len() == theirs.len() && self.iter().zip(theirs).all(|(ours, theirs)| ours.same(theirs))
    }
}

impl Same<pg::Node> for Node<'_> {
    fn same(&self, theirs: &pg::Node) -> bool {
        self.node.same(&theirs.node)
    }
}

impl Same<Box<pg::Node>> for Node<'_> {
    fn same(&self, theirs: &Box<pg::Node>) -> bool {
        self.same(&**theirs)
    }
}

mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]

    use std::fs;
    use std::panic;
    use std::path::{Path, PathBuf};

    use pg_query::{Error, ParserOptions, protobuf};
    use prost::Message;

    use super::super::read;
    use super::Same;

    /// How texts came out.
    #[derive(Debug, Default)]
    struct Counted {
        trees: usize,
        refused: usize,
        too_deep: usize,
    }

    impl Counted {
        /// Reads a text as it was read before there was a tree of our own, and as it is read now.
        fn compare(&mut self, text: &str) {
            self.compare_with(text, ParserOptions::DEFAULT);
            if text.contains('\\') {
                self.compare_with(text, ParserOptions::DISABLE_STANDARD_CONFORMING_STRINGS);
            }
        }

        fn compare_with(&mut self, text: &str, options: ParserOptions) {
            // The crate gathers names out of the tree, with code that panics on some.
            let Ok(before) = panic::catch_unwind(|| pg_query::parse(text, options)) else { return };
            match (before, options.tree(text)) {
                (Ok(before), Ok(bytes)) => {
                    let decoded = protobuf::ParseResult::decode(bytes.as_slice());
                    assert_eq!(decoded.as_ref(), Ok(&before.protobuf), "written otherwise: {text}");
                    assert!(read(&bytes).unwrap().same(&before.protobuf), "read otherwise: {text}");
                    self.trees += 1;
                }
                (Err(before), Err(now)) => {
                    let (before, now) = (before.to_string(), now.to_string());
                    if now.contains("nested too deeply") {
                        let limits = ["recursion limit", "stack depth", "nested too deeply"];
                        assert!(limits.iter().any(|limit| before.contains(limit)), "{before}: {text}");
                        self.too_deep += 1;
                    } else {
                        assert_eq!(now, before, "{text}");
                        self.refused += 1;
                    }
                }
                (before, now) => panic!("{:?} and now {:?}: {text}", before.map(|_| ()), now.map(|_| ())),
            }
        }

        /// A file whole, by lines, by statements, and by what stands between quotes: what is no statement must be refused alike.
        fn compare_pieces(&mut self, text: &str) {
            self.compare(text);
            for separator in ["\n", ";\n", "\""] {
                for piece in text.split(separator).filter(|piece| !piece.trim().is_empty()) {
                    self.compare(piece);
                    if piece.contains('\\') {
                        self.compare(&piece.replace("\\n", "\n").replace("\\t", "\t"));
                    }
                }
            }
        }
    }

    fn files(folder: &str) -> Vec<PathBuf> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file()).collect()
    }

    #[test]
    fn every_statement_is_the_tree_that_it_was() {
        let mut counted = Counted::default();
        for folder in ["../../tests/corpora/sql", "../../fuzz/corpus/statements", "tests/all"] {
            for file in files(folder) {
                let Ok(text) = fs::read_to_string(&file) else { continue };
                if file.extension().is_some_and(|extension| extension == "jsonl") {
                    for line in text.lines() {
                        let line: serde_json::Value = serde_json::from_str(line).unwrap();
                        line.as_object()
                            .unwrap()
                            .values()
                            .filter_map(|value| value.as_str())
                            .for_each(|text| counted.compare(text));
                    }
                } else {
                    counted.compare_pieces(&text);
                }
            }
        }
        assert!(counted.trees > 2_000, "{counted:?}");
        assert!(counted.refused > 500, "{counted:?}");
    }

    /// As deep as a tree may be, and one deeper: both limits are the same.
    #[test]
    fn the_deepest_tree_is_as_deep_as_it_was() {
        let mut counted = Counted::default();
        for times in 30..110 {
            counted.compare(&format!("select {}a{}", "abs(".repeat(times), ")".repeat(times)));
            counted.compare(&format!("select {}a", "not ".repeat(times)));
            counted.compare(&format!("select 1{}", " union select 1".repeat(times)));
            counted.compare(&format!("select * from {}t{}", "(select * from ".repeat(times), ") x".repeat(times)));
        }
        assert!(counted.trees > 50 && counted.too_deep > 50, "{counted:?}");
    }

    #[test]
    fn a_text_with_a_nul_is_an_error() {
        assert!(matches!(ParserOptions::DEFAULT.tree("select 1\0"), Err(Error::Conversion(_))));
    }
}

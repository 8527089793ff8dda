#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::*;

fn shelves(root: &Path) -> DirectoryShelves {
    DirectoryShelves::new(vec![root.join("packs"), root.join("more")])
}

// acceptance 120 h: by letters alone, whatever lies there.
#[tokio::test]
async fn only_below_the_roots() {
    let home = tempfile::tempdir().unwrap();
    let shelves = shelves(home.path());
    let root = home.path().canonicalize().unwrap();
    for (given, expected) in
        [("run-1", "packs/run-1"), ("a/b/", "packs/a/b"), (&*root.join("more/run-2").to_string_lossy(), "more/run-2")]
    {
        assert_eq!(shelves.place(given).await.unwrap(), root.join(expected).to_string_lossy());
    }
    assert!(!root.join("packs/run-1").exists(), "asking makes nothing");
    let deep = "d/".repeat(17);
    let packs = root.join("packs").to_string_lossy().into_owned();
    let other = root.join("packs-other").to_string_lossy().into_owned();
    for given in
        ["", ".", "..", "../more", "a/../../b", "/etc", "/", packs.as_str(), other.as_str(), "a\\b", deep.as_str()]
    {
        assert_eq!(shelves.place(given).await, Err(ShelfError::Outside), "{given}");
    }
    assert_eq!(shelves.find("run-1").await, Err(ShelfError::Missing));
    assert_eq!(DirectoryShelves::new(Vec::new()).place("x").await, Err(ShelfError::Outside));
}

// acceptance 120 h: no link leads out, neither of a directory nor of a file.
#[tokio::test]
async fn links_are_not_followed() {
    let home = tempfile::tempdir().unwrap();
    let shelves = shelves(home.path());
    let (packs, outside) = (home.path().join("packs"), home.path().join("outside"));
    fs::create_dir_all(packs.join("run")).unwrap();
    fs::create_dir_all(&outside).unwrap();
    fs::write(outside.join("manifest.json"), "{}").unwrap();
    symlink(&outside, packs.join("linked")).unwrap();
    assert!(shelves.find("linked").await.is_err());
    symlink(outside.join("manifest.json"), packs.join("run/manifest.json")).unwrap();
    let report = shelves.verify("run", "manifest.json").await.unwrap();
    let told = report.errors.join("; ");
    assert!(told.contains("manifest read failed"), "{told}");
}

#[test]
fn files_are_whole_private_and_bounded() {
    let home = tempfile::tempdir().unwrap();
    let place = shelves(home.path()).below("a/run").unwrap();
    let directory = place.made().unwrap();
    directory.write("one.json", b"first").unwrap();
    directory.write("one.json", b"second").unwrap();
    assert_eq!(directory.names().unwrap(), ["one.json"], "no drafts stay");
    assert_eq!(directory.read("one.json", 6).unwrap(), b"second");
    assert_eq!(directory.read("one.json", 5), Err(ShelfError::TooLarge(5)));
    assert_eq!(directory.read("two.json", 5), Err(ShelfError::Missing));
    let mode = |path: &str| fs::metadata(home.path().join("packs/a").join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("run"), mode("run/one.json")), (0o700, 0o600));
    assert!(!directory.holds_directories().unwrap());
    fs::create_dir(home.path().join("packs/a/run/below")).unwrap();
    fs::write(home.path().join("packs/a/run/below/x"), "").unwrap();
    assert!(directory.holds_directories().unwrap());
    assert_eq!(directory.names().unwrap(), ["below/x", "one.json"]);
}

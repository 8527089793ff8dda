//! Packs in memory, below one root.

use std::collections::BTreeMap;
use std::sync::Mutex;

use async_trait::async_trait;
use gateway_core::gate::runpack::Pack;
use gateway_core::gate::shelf::{MemoryShelf, PackPath, ShelfError};
use gateway_core::gate::verify::{Report, verify};
use gateway_core::ports::RunpackShelves;

const ROOT: &str = "/roots/";

#[derive(Default)]
pub(in crate::gate) struct Shelves(Mutex<BTreeMap<String, MemoryShelf>>);

impl Shelves {
    /// The files that lie there, to look at or to spoil.
    pub(in crate::gate) fn change(&self, directory: &str, change: impl FnOnce(&mut BTreeMap<String, Vec<u8>>)) {
        change(&mut self.0.lock().unwrap().entry(format!("{ROOT}{directory}")).or_default().0);
    }
}

fn below(directory: &str) -> Result<String, ShelfError> {
    let inside = directory.strip_prefix(ROOT).unwrap_or(directory);
    let path: PackPath = inside.parse().map_err(|_| ShelfError::Outside)?;
    Ok(format!("{ROOT}{path}"))
}

#[async_trait]
impl RunpackShelves for Shelves {
    async fn place(&self, directory: &str) -> Result<String, ShelfError> {
        below(directory)
    }

    async fn find(&self, directory: &str) -> Result<String, ShelfError> {
        let path = below(directory)?;
        if self.0.lock().unwrap().contains_key(&path) { Ok(path) } else { Err(ShelfError::Missing) }
    }

    async fn write(&self, directory: &str, manifest: &str, pack: &Pack) -> Result<(), ShelfError> {
        self.0.lock().unwrap().insert(directory.into(), pack.shelf(manifest));
        Ok(())
    }

    async fn verify(&self, directory: &str, manifest: &str) -> Result<Report, ShelfError> {
        let shelves = self.0.lock().unwrap();
        Ok(verify(shelves.get(directory).ok_or(ShelfError::Missing)?, manifest))
    }
}

//! Packs of runs in directories below configured roots. Every step down is taken from the handle of the directory before
//! and follows no link, so nothing that is renamed or linked meanwhile leads outside.

mod directory;

use std::path::{Component, Path, PathBuf};

use async_trait::async_trait;
use gateway_core::gate::runpack::Pack;
use gateway_core::gate::shelf::{PackPath, Shelf, ShelfError};
use gateway_core::gate::verify::{Expected, Report, verify, verify_against};
use gateway_core::ports::RunpackShelves;

use directory::Directory;

/// Directories on the way from a root to a pack.
const DEEPEST: usize = 16;

/// A report that an earlier export left; the next one may bring none.
const REPORT: &str = "verifier_report.json";

#[derive(Debug, Clone)]
pub struct DirectoryShelves {
    roots: Vec<PathBuf>,
}

/// A directory below a root, by its steps.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    root: PathBuf,
    steps: Vec<String>,
}

impl DirectoryShelves {
    /// Paths that callers leave relative start at the first root. Roots that are not there yet are made when they are needed.
    pub fn new(roots: Vec<PathBuf>) -> Self {
        let absolute = |root: PathBuf| std::path::absolute(&root).unwrap_or(root);
        Self { roots: roots.into_iter().map(absolute).collect() }
    }

    /// Where a caller's text leads, by its letters alone.
    fn below(&self, directory: &str) -> Result<Place, ShelfError> {
        let given = Path::new(directory);
        let (root, inside) = if given.is_absolute() {
            let within = |root: &PathBuf| {
                let as_named = given.strip_prefix(root).ok();
                let inside = as_named.or_else(|| given.strip_prefix(root.canonicalize().ok()?).ok())?;
                Some((root.clone(), inside.to_owned()))
            };
            self.roots.iter().find_map(within).ok_or(ShelfError::Outside)?
        } else {
            (self.roots.first().cloned().ok_or(ShelfError::Outside)?, given.to_owned())
        };
        let step = |component: Component<'_>| match component {
            Component::Normal(name) => name.to_str().map(str::to_owned),
            _ => None,
        };
        let steps: Vec<String> = inside.components().map(step).collect::<Option<_>>().ok_or(ShelfError::Outside)?;
        // A root is everybody's, and so nobody's pack.
        let plain = steps.join("/").parse::<PackPath>().is_ok();
        if plain && steps.len() <= DEEPEST { Ok(Place { root, steps }) } else { Err(ShelfError::Outside) }
    }
}

impl Place {
    /// Made if need be: it is the operator's own path.
    fn root(&self) -> Result<PathBuf, ShelfError> {
        let failed = |error: std::io::Error| {
            tracing::warn!(root = %self.root.display(), %error, "a directory for packs cannot be used");
            ShelfError::Failed("the gateway's directory for packs cannot be used".into())
        };
        std::fs::create_dir_all(&self.root).map_err(failed)?;
        self.root.canonicalize().map_err(failed)
    }

    fn canonical(&self) -> Result<String, ShelfError> {
        let mut path = self.root()?;
        path.extend(&self.steps);
        path.into_os_string().into_string().map_err(|_| ShelfError::Outside)
    }

    fn open(&self) -> Result<Directory, ShelfError> {
        self.steps.iter().try_fold(Directory::root(&self.root()?)?, |above, step| above.below(step))
    }

    fn made(&self) -> Result<Directory, ShelfError> {
        self.steps.iter().try_fold(Directory::root(&self.root()?)?, |above, step| above.made_below(step))
    }
}

/// A pack as it lies on disk.
struct Lying(Directory);

impl Shelf for Lying {
    fn read(&self, path: &str, most: u64) -> Result<Vec<u8>, ShelfError> {
        let path: PackPath = path.parse().map_err(|_| ShelfError::Outside)?;
        match path.as_str().rsplit_once('/') {
            None => self.0.read(path.as_str(), most),
            Some((above, name)) => {
                let mut steps = above.split('/');
                let first = self.0.below(steps.next().unwrap_or_default())?;
                steps.try_fold(first, |at, step| at.below(step))?.read(name, most)
            }
        }
    }

    fn names(&self) -> Result<Vec<String>, ShelfError> {
        self.0.names()
    }
}

fn written(place: &Place, manifest: &str, pack: &Pack) -> Result<(), ShelfError> {
    let directory = place.made()?;
    if directory.holds_directories()? {
        return Err(ShelfError::Failed("holds other directories; choose one of its own for the pack".into()));
    }
    if !pack.files.iter().any(|(name, _)| name == REPORT) {
        directory.remove(REPORT)?;
    }
    for (name, bytes) in &pack.files {
        directory.write(name, bytes)?;
    }
    directory.write(manifest, &pack.manifest_bytes)
}

/// Files are read and written where it may take its time.
async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ShelfError> + Send + 'static,
) -> Result<T, ShelfError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(ShelfError::Failed("could not be finished".into())))
}

#[async_trait]
impl RunpackShelves for DirectoryShelves {
    async fn place(&self, directory: &str) -> Result<String, ShelfError> {
        let place = self.below(directory)?;
        aside(move || place.canonical()).await
    }

    async fn find(&self, directory: &str) -> Result<String, ShelfError> {
        let place = self.below(directory)?;
        aside(move || place.open().and_then(|_| place.canonical())).await
    }

    async fn write(&self, directory: &str, manifest: &str, pack: &Pack) -> Result<(), ShelfError> {
        let (place, manifest, pack) = (self.below(directory)?, manifest.to_owned(), pack.clone());
        aside(move || written(&place, &manifest, &pack)).await
    }

    async fn verify(&self, directory: &str, manifest: &str) -> Result<Report, ShelfError> {
        let (place, manifest) = (self.below(directory)?, manifest.to_owned());
        aside(move || Ok(verify(&Lying(place.open()?), &manifest))).await
    }
}

/// Checks a pack that lies anywhere, for whoever may read it anyway.
pub fn verify_runpack(directory: &Path, manifest: &str, expected: Expected) -> Result<Report, ShelfError> {
    Ok(verify_against(&Lying(Directory::root(directory)?), manifest, expected))
}

#[cfg(all(test, unix))]
mod tests;

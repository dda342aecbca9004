//! In-place sessions: what programs and calls on files can do to a folder of the host, and to everything around it.

mod ends;
mod files;
mod reach;
mod refused;
mod walls;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown};
use std::path::{Path, PathBuf};

use anyhow::Result;
use headwater_protocol::{Network, Place, PlaceMode, SessionId, SessionSpec, StartSpec};
use headwater_tests::{Collected, Options};

use crate::target::{Side, Target};

const CLASS: u32 = 40;
/// The owner of a folder that root works in for somebody else.
const SOMEBODY: u32 = 64_990;

/// Who starts the session, and who owns the folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Case {
    Ordinary,
    Root,
    RootForSomebody,
}

const CASES: [Case; 3] = [Case::Ordinary, Case::Root, Case::RootForSomebody];

/// A project of a person, and a folder beside it that no session may reach.
struct Project {
    target: Target,
    folder: PathBuf,
    outside: PathBuf,
    owner: u32,
}

impl Project {
    async fn new(case: Case) -> Result<Self> {
        Self::on(case, if case == Case::Ordinary { Side::Ordinary } else { Side::Root }).await
    }

    async fn on(case: Case, side: Side) -> Result<Self> {
        let target = Target::with(side, CLASS, Options { pool: Some(0), ..Options::default() }).await?;
        let scratch = fs::canonicalize(target.worker.scratch())?;
        let owner = if case == Case::RootForSomebody { SOMEBODY } else { target.person() };
        let (folder, outside) = (scratch.join("project"), scratch.join("outside"));
        for path in
            [&folder, &folder.join("sub"), &folder.join(".git/hooks"), &folder.join(".git/objects"), &outside]
        {
            fs::create_dir_all(path)?;
        }
        for (path, text) in [
            ("a.txt", "hello\n"),
            ("sub/b.txt", "b\n"),
            (".git/HEAD", "ref: refs/heads/main\n"),
            (".git/config", "[core]\n"),
            (".git/hooks/pre-commit", "#!/bin/sh\n"),
        ] {
            fs::write(folder.join(path), text)?;
        }
        fs::write(outside.join("secret"), "secret\n")?;
        give(&folder, owner)?;
        give(&outside, owner)?;
        // The parent is the person's own: nobody else needs to enter it.
        fs::set_permissions(&scratch, PermissionsExt::from_mode(0o700))?;
        Ok(Self { target, folder, outside, owner })
    }

    fn spec(&self, mode: PlaceMode) -> SessionSpec {
        let folder = self.folder.to_str().expect("UTF-8").to_owned();
        let network = if mode.has_walls() { Network::None } else { Network::Full };
        let place = Some(Place { folder, mode, writable: Vec::new() });
        SessionSpec { place, network, ..SessionSpec::default() }
    }

    fn spec_with(&self, mode: PlaceMode, writable: &[&Path]) -> SessionSpec {
        let mut spec = self.spec(mode);
        if let Some(place) = &mut spec.place {
            place.writable = writable.iter().map(|path| path.to_str().expect("UTF-8").to_owned()).collect();
        }
        spec
    }

    async fn session(&self, spec: &SessionSpec) -> Result<SessionId> {
        Ok(self.target.client.create_session(None, spec).await?.id)
    }

    /// Runs a shell line in a session to its end.
    async fn shell(&self, session: SessionId, line: &str) -> Result<Collected> {
        self.target.run(session, &StartSpec::shell(line)).await
    }

    /// Everything in the folder.
    fn content(&self) -> Result<BTreeMap<PathBuf, String>> {
        content(&self.folder)
    }
}

/// Gives a tree to a user.
fn give(path: &Path, owner: u32) -> Result<()> {
    lchown(path, Some(owner), Some(owner))?;
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            give(&entry?.path(), owner)?;
        }
    }
    Ok(())
}

/// What a tree consists of: for each entry its inode, owner, mode, times and content.
fn content(folder: &Path) -> Result<BTreeMap<PathBuf, String>> {
    let mut all = BTreeMap::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(path) = waiting.pop() {
        let about = fs::symlink_metadata(&path)?;
        let text = match () {
            () if about.is_symlink() => fs::read_link(&path)?.display().to_string(),
            () if about.is_file() => fs::read_to_string(&path)?,
            () => String::new(),
        };
        if about.is_dir() {
            for entry in fs::read_dir(&path)? {
                waiting.push(entry?.path());
            }
        }
        let (modified, owner) = ((about.mtime(), about.mtime_nsec()), (about.uid(), about.gid()));
        all.insert(path, format!("{} {owner:?} {:o} {modified:?} {text}", about.ino(), about.mode()));
    }
    Ok(all)
}

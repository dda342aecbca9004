//! The mounts of an in-place session: paths of the host that are shown at the same path inside.
//!
//! Other programs may change the host's folders meanwhile. So a path is opened without following a link, what
//! was opened must be what the worker has checked, and everything after that uses the descriptor.

use std::collections::BTreeSet;
use std::ffi::CString;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

use super::failure::{OrWall, Wall};
use super::mounts::{self, PLAIN, READ_ONLY, Reach};
use super::owners::Maps;
use super::root::create_mount_point;
use crate::wire::{InPlace, PlaceMount, Setup, WallFailure};

/// Clones of the paths, in the order in which they are attached.
#[derive(Debug, Default)]
pub(super) struct Mounts(Vec<ClonedPath>);

#[derive(Debug)]
struct ClonedPath {
    mount: PlaceMount,
    tree: OwnedFd,
    folder: bool,
}

impl Mounts {
    /// Clones every path of a place. The host's root must still be reachable.
    pub(super) fn of(setup: &Setup, owners: &Maps) -> Result<Self, WallFailure> {
        let mounts = setup.place.iter().flat_map(|place| &place.mounts);
        mounts.map(|mount| clone(mount, owners)).collect::<Result<_, _>>().map(Self)
    }

    /// Whether a path is in this folder.
    pub(super) fn is_below(&self, folder: &str) -> bool {
        self.0.iter().any(|clone| Path::new(&clone.mount.path).starts_with(folder))
    }

    /// Attaches the home and all clones. The root must still be writable.
    pub(super) fn attach(&self, place: &InPlace, home: &OwnedFd) -> Result<(), WallFailure> {
        if let Some(path) = &place.home {
            create_mount_point(Path::new(path), true)?;
            mounts::attach(home, path.as_str()).or_wall(Wall::Mounts, "attach the home")?;
        }
        let tops = self.tops();
        tops.iter().try_for_each(|top| cover(top))?;
        for (n, clone) in self.0.iter().enumerate() {
            let path = Path::new(&clone.mount.path);
            let above = self.0.get(..n).unwrap_or_default();
            let nested = above.iter().any(|above| path.starts_with(&above.mount.path));
            if !nested {
                create_mount_point(path, clone.folder)?;
            }
            let attached = open(&clone.mount.path).and_then(|target| {
                // In a mount of the host the target must be the same entry: nothing may be exchanged for it.
                if nested && id(&rustix::fs::fstat(&target)?) != clone.mount.id {
                    return Err(Errno::STALE);
                }
                mounts::attach_on(&clone.tree, target.as_fd())
            });
            attached.or_wall(Wall::Mounts, format_args!("attach `{}`", clone.mount.path))?;
        }
        tops.iter().try_for_each(|top| shut(top))
    }

    /// The folders of `/tmp` that the paths are in. Programs may write there, and could put other folders in their place.
    fn tops(&self) -> BTreeSet<PathBuf> {
        let top = |clone: &ClonedPath| {
            let (path, below) = TEMPORARY.iter().find_map(|temporary| {
                let path = Path::new(&clone.mount.path);
                Some((Path::new(temporary), path.strip_prefix(temporary).ok()?))
            })?;
            let mut names = below.components();
            let top = path.join(names.next()?);
            names.next().map(|_| top)
        };
        let is_mount = |top: &PathBuf| self.0.iter().any(|clone| Path::new(&clone.mount.path) == top);
        self.0.iter().filter_map(top).filter(|top| !is_mount(top)).collect()
    }
}

/// The writable folders of every session's root.
const TEMPORARY: [&str; 2] = ["/tmp", "/var/tmp"];

/// Mounts an empty folder for mount points.
fn cover(top: &Path) -> Result<(), WallFailure> {
    // Only names: as small as the root.
    let options = [(c"size", "1m"), (c"nr_inodes", "1024"), (c"mode", "0755")];
    create_mount_point(top, true)?;
    mounts::new(c"tmpfs", &options, PLAIN)
        .and_then(|tree| mounts::attach(&tree, top))
        .or_wall(Wall::Mounts, format_args!("mount `{}`", top.display()))
}

/// Makes such a folder read-only.
fn shut(top: &Path) -> Result<(), WallFailure> {
    let path = CString::new(top.as_os_str().as_encoded_bytes()).map_err(|_| Errno::INVAL);
    path.and_then(|path| mounts::restrict(&path, Reach::One, READ_ONLY))
        .or_wall(Wall::Mounts, format_args!("make `{}` read-only", top.display()))
}

fn clone(mount: &PlaceMount, owners: &Maps) -> Result<ClonedPath, WallFailure> {
    let what = format!("bind `{}`", mount.path);
    let host = open(&mount.path).or_wall(Wall::Mounts, &what)?;
    let stat = rustix::fs::fstat(&host).or_wall(Wall::Mounts, &what)?;
    if id(&stat) != mount.id {
        return Err(Wall::Mounts.refused(format_args!("`{}` was replaced meanwhile", mount.path)));
    }
    let attributes = if mount.writable { PLAIN } else { READ_ONLY };
    let tree = mounts::copy_of(host.as_fd(), attributes).or_wall(Wall::Mounts, &what)?;
    if let Some(owner) = mount.owner {
        let mapped = mounts::map_owners(tree.as_fd(), owners.get(owner)?);
        mapped.or_wall(Wall::Owners, format_args!("map the owner of `{}`", mount.path))?;
    }
    let folder = FileType::from_raw_mode(stat.st_mode).is_dir();
    Ok(ClonedPath { mount: mount.clone(), tree, folder })
}

/// Opens a path without following a link anywhere in it.
fn open(path: &str) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::io::retry_on_intr(|| rustix::fs::openat2(CWD, path, flags, Mode::empty(), resolve))
}

fn id(stat: &Stat) -> (u64, u64) {
    (stat.st_dev, stat.st_ino)
}

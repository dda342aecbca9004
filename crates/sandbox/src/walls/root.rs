//! The root file system of a session.
//!
//! 1. An empty tmpfs becomes the working directory, while absolute paths still lead to the host: host paths
//!    are bound at relative paths.
//! 2. Trees that must be attached by paths of the new root, or below folders of the guest, are cloned
//!    detached.
//! 3. Pivot and unmount the host: from here on no path can lead to it.
//! 4. Populate the rest, and make the root read-only.

use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{MountPropagationFlags, UnmountFlags};
use rustix::path::Arg;

use super::failure::{OrWall, Wall};
use super::mounts::{self, PLAIN, READ_ONLY, Reach};
use super::owners::Maps;
use super::{dev, etc, place, proc};
use crate::wire::{Bind, Setup, WallFailure};

/// The path of the workspace inside.
const WORKSPACE: &str = "/workspace";

/// System folders; links on hosts that keep everything in `/usr`.
const SYSTEM_FOLDERS: [&str; 6] = ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];

/// Paths where nothing can be bound. The workspace belongs to the guest, whose links could redirect us; the
/// others are ours.
const RESERVED_PATHS: [&str; 4] = [WORKSPACE, "/proc", "/dev", "/"];

/// A clone of a host path, and the path where it will be attached.
struct DetachedMount {
    path: PathBuf,
    tree: OwnedFd,
    folder: bool,
}

/// Builds the root and enters it; the working directory is then the workspace.
pub(super) fn build(setup: &Setup, owners: &Maps) -> Result<(), WallFailure> {
    rustix::mount::mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .or_wall(Wall::Mounts, "make all mounts private")?;
    let (prepared, binds): (Vec<_>, Vec<_>) = setup.binds.iter().partition(|bind| bind.inside == etc::INSIDE);
    let binds =
        binds.into_iter().filter_map(|bind| extra(bind).transpose()).collect::<Result<Vec<_>, _>>()?;
    let workspace =
        mounts::copy(setup.workspace.as_str(), PLAIN).or_wall(Wall::Mounts, "bind the workspace")?;
    let places = place::Mounts::of(setup, owners)?;
    let proc = proc::new()?;

    enter_new_root()?;
    show_system()?;
    match prepared.first() {
        Some(bind) => show_folder(&bind.host, "etc")?,
        None => etc::populate()?,
    }
    mounts::restrict(c".", Reach::Tree, READ_ONLY)
        .and_then(|()| mounts::make_writable(c"."))
        .or_wall(Wall::Mounts, "make the system folders read-only")?;
    dev::show_devices()?;
    pivot_root_here()?;

    for path in ["home", "run", "proc", "var", "var/empty"] {
        create_dir(path)?;
    }
    if places.is_below("/var/tmp") {
        mount_tmpfs("var/tmp", setup)?;
    } else {
        create_link("var/tmp", "/tmp")?;
    }
    create_link("var/run", "/run")?;
    mount_tmpfs("tmp", setup)?;
    dev::populate(setup)?;
    binds.into_iter().try_for_each(DetachedMount::populate)?;
    let inside = if let Some(place) = &setup.place {
        // What names files by the usual path of a workspace finds them, too.
        create_link(WORKSPACE, place.folder.as_str())?;
        places.attach(place, &workspace)?;
        place.folder.as_str()
    } else {
        create_dir(WORKSPACE)?;
        mounts::attach(&workspace, WORKSPACE).or_wall(Wall::Mounts, "attach the workspace")?;
        WORKSPACE
    };
    mounts::restrict(c"/", Reach::One, READ_ONLY).or_wall(Wall::Mounts, "make the root read-only")?;
    proc::populate(&proc)?;
    rustix::process::chdir(inside).or_wall(Wall::Mounts, "enter the workspace")
}

/// Binds `/usr`, and the system folders beside it or the links to it.
fn show_system() -> Result<(), WallFailure> {
    show_folder("/usr", "usr")?;
    for path in SYSTEM_FOLDERS {
        if let Ok(target) = std::fs::read_link(path) {
            create_link(path.trim_start_matches('/'), target)?;
        } else if Path::new(path).is_dir() {
            show_folder(path, path.trim_start_matches('/'))?;
        }
    }
    Ok(())
}

fn show_folder(host: &str, inside: &str) -> Result<(), WallFailure> {
    create_dir(inside)?;
    mounts::bind(host, inside).or_wall(Wall::Mounts, format_args!("bind `/{inside}`"))
}

/// A bind from the configuration.
fn extra(bind: &Bind) -> Result<Option<DetachedMount>, WallFailure> {
    let inside = Path::new(&bind.inside);
    let within = |place: &&str| {
        if **place == *"/" { inside == Path::new("/") } else { inside.starts_with(place) }
    };
    let plain =
        inside.is_absolute() && inside.components().all(|part| part != std::path::Component::ParentDir);
    if !plain || RESERVED_PATHS.iter().any(within) {
        return Err(Wall::Mounts.refused(format_args!("nothing can be bound at `{}`", bind.inside)));
    }
    if bind.optional && !Path::new(&bind.host).exists() {
        return Ok(None);
    }
    DetachedMount::host(&bind.host, &bind.inside).map(Some)
}

/// Mounts an empty tmpfs over the host's root and enters it. Absolute paths still lead to the host: no folder
/// of the host has to exist for this, and none is hidden.
fn enter_new_root() -> Result<(), WallFailure> {
    // Small, since it holds only names and a few small files, and read-only in the end.
    let options = [(c"size", "1m"), (c"nr_inodes", "1024"), (c"mode", "0755")];
    let root = mounts::new(c"tmpfs", &options, PLAIN).or_wall(Wall::Mounts, "create the root")?;
    mounts::attach(&root, "/").or_wall(Wall::Mounts, "attach the root")?;
    rustix::process::fchdir(&root).or_wall(Wall::Mounts, "enter the root")
}

/// Makes the working directory the root, and unmounts the host.
fn pivot_root_here() -> Result<(), WallFailure> {
    rustix::process::pivot_root(".", ".").or_wall(Wall::Mounts, "pivot_root")?;
    // The host's root is now mounted over ours at the same path.
    rustix::mount::unmount(".", UnmountFlags::DETACH).or_wall(Wall::Mounts, "unmount the host's root")?;
    rustix::process::chdir("/").or_wall(Wall::Mounts, "enter the root")
}

/// Mounts a tmpfs that every process inside may write to, with the session's limits.
pub(super) fn mount_tmpfs(path: &str, setup: &Setup) -> Result<(), WallFailure> {
    let (size, inodes) = (setup.tmp_bytes.to_string(), setup.tmp_inodes.to_string());
    let options = [(c"size", size.as_str()), (c"nr_inodes", inodes.as_str()), (c"mode", "1777")];
    create_dir(path)?;
    mounts::new(c"tmpfs", &options, PLAIN)
        .and_then(|tree| mounts::attach(&tree, path))
        .or_wall(Wall::Mounts, format_args!("mount `{path}`"))
}

impl DetachedMount {
    /// A read-only clone of a host path.
    fn host(host: &str, inside: &str) -> Result<Self, WallFailure> {
        let what = || format!("bind `{inside}`"); // shown to users, so it must not contain a host path
        let tree = mounts::copy(host, READ_ONLY).or_wall(Wall::Mounts, what())?;
        let mode = rustix::fs::fstat(&tree).or_wall(Wall::Mounts, what())?.st_mode;
        let folder = rustix::fs::FileType::from_raw_mode(mode).is_dir();
        Ok(Self { path: inside.into(), tree, folder })
    }

    fn populate(self) -> Result<(), WallFailure> {
        create_mount_point(&self.path, self.folder)?;
        let what = format_args!("attach `{}`", self.path.display()).to_string();
        mounts::attach(&self.tree, &self.path).or_wall(Wall::Mounts, what)
    }
}

/// Creates the folder or the file that something is mounted on, and the folders above it.
pub(super) fn create_mount_point(path: &Path, folder: bool) -> Result<(), WallFailure> {
    let made = match path.parent() {
        _ if path.exists() => return Ok(()),
        _ if folder => std::fs::create_dir_all(path),
        Some(parent) => std::fs::create_dir_all(parent).and_then(|()| std::fs::write(path, "")),
        None => Ok(()),
    };
    made.map_err(|error| errno(&error)).or_wall(Wall::Mounts, format_args!("create `{}`", path.display()))
}

/// Creates a folder of the new root.
pub(super) fn create_dir(path: impl Arg + Copy) -> Result<(), WallFailure> {
    rustix::fs::mkdir(path, Mode::from_raw_mode(0o755))
        .or_wall(Wall::Mounts, format_args!("create `{}`", path.to_string_lossy()))
}

/// Creates a file of the new root.
pub(super) fn create_file(path: impl Arg + Copy, text: &str) -> Result<(), WallFailure> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    let write =
        |file: OwnedFd| if text.is_empty() { Ok(0) } else { rustix::io::write(file, text.as_bytes()) };
    rustix::fs::open(path, flags, Mode::from_raw_mode(0o644))
        .and_then(write)
        .map(drop)
        .or_wall(Wall::Mounts, format_args!("write `{}`", path.to_string_lossy()))
}

/// Creates a symbolic link of the new root.
pub(super) fn create_link(path: impl Arg + Copy, target: impl Arg) -> Result<(), WallFailure> {
    rustix::fs::symlink(target, path).or_wall(Wall::Mounts, format_args!("link `{}`", path.to_string_lossy()))
}

/// The kernel's error number of an I/O error.
pub(super) fn errno(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(match error.kind() {
        ErrorKind::InvalidInput => Errno::INVAL,
        _ => Errno::IO,
    })
}

//! In-place sessions: their workspace is a folder of the host, which outlives them.
//!
//! Such a session has a folder in the data folder, as every other one. What would be its workspace is the home of its
//! programs, and ends with it. The folder of the host is only ever mounted, and opened for calls on files: no code that
//! ends, measures, hibernates or removes a session knows its path.

mod locations;
mod rules;

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use headwater_contract::{Fault, FaultKind};
use headwater_protocol::{Limits, Network, Place, PlaceMode, SandboxKind, SessionSpec};
use headwater_sandbox::wire::{InPlace, PlaceMount};
use headwater_workspace::{self as workspace, Owner, Workspace};
use rustix::fs::{Access, AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::engine::Engine;
use crate::layout::SessionRecord;

/// Where programs see their private home, which is not on the host's `/home`.
const HOME_INSIDE: &str = "/home/headwater";
/// The home of programs that have no private one.
const TMP_INSIDE: &str = "/tmp";
/// Metadata by which people and programs recognise an in-place session. Only the worker sets it.
const FOLDER_METADATA: &str = "headwater.folder";
const MODE_METADATA: &str = "headwater.mode";

/// What the worker knows about the folder since it last started the session's init.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PlaceRecord {
    /// Its device and inode: what is mounted, whatever is at its path now.
    id: (u64, u64),
    /// Its user and group, to whom new files are given, if the worker is root.
    owner: Option<(u32, u32)>,
    /// Where programs have their home.
    pub(crate) home: String,
}

/// A place that was checked, and how to mount it.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(crate) record: PlaceRecord,
    pub(crate) setup: InPlace,
}

impl Checked {
    /// The same without mapped owners, as the owner of the folder; `None` if that is root.
    pub(crate) fn for_owner(self) -> Option<(Self, u32)> {
        let (uid, _) = self.record.owner.filter(|(uid, _)| *uid != 0)?;
        Some((self.for_user(Some(uid)), uid))
    }

    /// For a session that runs as this user already: the owner of the folder needs no map.
    pub(crate) fn for_user(mut self, host_uid: Option<u32>) -> Self {
        if let Some((_, gid)) = self.record.owner.filter(|(uid, _)| host_uid == Some(*uid)) {
            self.setup.host_gid = Some(gid);
            self.setup.mounts.iter_mut().for_each(|mount| mount.owner = None);
        }
        self
    }
}

/// How a session is isolated: as the worker isolates sessions, unless the person asked for no walls.
pub(crate) fn sandbox_of(spec: &SessionSpec, configured: SandboxKind) -> SandboxKind {
    if is_the_persons(spec) { SandboxKind::None } else { configured }
}

/// Whether programs run as if the person had started them: without walls, and without our tools and settings.
pub(crate) fn is_the_persons(spec: &SessionSpec) -> bool {
    spec.place.as_ref().is_some_and(|place| !place.mode.has_walls())
}

/// Checks what a session may be: its network, and for an in-place one its walls.
pub(crate) fn permit(engine: &Engine, spec: &SessionSpec) -> Result<(), Fault> {
    let invalid = |message: &str, hint: &str| Err(Fault::new(FaultKind::Invalid, message).hint(hint));
    match &spec.place {
        None => engine.network.permit(spec.network, engine.config.sandbox),
        Some(place) if place.mode.has_walls() && engine.config.sandbox == SandboxKind::None => invalid(
            "this worker runs without isolation, and an in-place session needs it",
            "use another data folder (`--data DIR`), or the mode `danger-full-access`",
        ),
        Some(place) if place.mode.has_walls() => match spec.network {
            // Only the person at this machine can ask for it, and it is their machine's network.
            Network::Full => Ok(()),
            network => engine.network.permit(network, engine.config.sandbox),
        },
        Some(_) if spec.network != Network::Full => invalid(
            "without walls a session uses the host's network",
            "use the network `full` with `danger-full-access`, or another mode",
        ),
        Some(_) => Ok(()),
    }
}

/// Marks a spec so that lists show what the session is, and removes the marks of a caller.
pub(crate) fn mark(spec: &mut SessionSpec) {
    for (key, value) in [
        (FOLDER_METADATA, spec.place.as_ref().map(|place| place.folder.clone())),
        (MODE_METADATA, spec.place.as_ref().map(|place| place.mode.name().to_owned())),
    ] {
        spec.metadata.remove(key);
        spec.metadata.extend(value.map(|value| (key.to_owned(), value)));
    }
}

/// The limits of a session: what is not given is the operator's default, except that nothing limits a folder of the host.
pub(crate) fn limits(spec: &SessionSpec, defaults: &Limits) -> Limits {
    let limits = spec.limits.or(defaults);
    match spec.place {
        Some(_) => Limits { disk_bytes: None, inodes: None, file_bytes: spec.limits.file_bytes, ..limits },
        None => limits,
    }
}

/// Refuses a call that works on a whole workspace and has no meaning for a folder of the host.
pub(crate) fn refuse(record: &SessionRecord, what: &str) -> Result<(), Fault> {
    let Some(place) = &record.spec.place else { return Ok(()) };
    let message =
        format!("{what} is not possible in an in-place session: its workspace is `{}`", place.folder);
    Err(Fault::new(FaultKind::Conflict, message)
        .hint("run a program in the session instead, such as `cp`, `tar` or `git`"))
}

/// Opens the folder for calls on files. `is_live`: programs see what was mounted, so it must be the same folder.
pub(crate) fn open(record: &SessionRecord, place: &Place, is_live: bool) -> Result<Workspace, Fault> {
    let known = record.place.as_ref();
    let in_place = workspace::InPlace {
        folder: Path::new(&place.folder),
        id: known.filter(|_| is_live).map(|known| known.id),
        owner: known.and_then(|known| known.owner).map(|(uid, gid)| Owner { uid, gid }),
        guard: place.mode.has_walls().then(|| rules::guard(place)),
    };
    Workspace::open_in_place(in_place).map_err(|error| {
        let message = format!("cannot open the folder `{}`: {}", place.folder, reason(&error));
        Fault::new(FaultKind::Conflict, message).hint("put the folder back, or start another session")
    })
}

fn reason(error: &io::Error) -> String {
    match Errno::from_io_error(error) {
        Some(Errno::STALE) => "another folder is at its path now".to_owned(),
        _ => error.to_string(),
    }
}

/// Checks the place of a session, if it has one. Blocks for a moment.
pub(crate) fn check_of(spec: &SessionSpec, data: &Path) -> Result<Option<Checked>, Fault> {
    spec.place.as_ref().map(|place| check(place, data)).transpose()
}

/// Checks the folder and the other paths on the host, and decides what is mounted. Blocks for a moment.
fn check(place: &Place, data: &Path) -> Result<Checked, Fault> {
    let is_root = rustix::process::geteuid().is_root();
    let folder = Found::at(&place.folder, "the folder")?;
    if !folder.is_dir() {
        return Err(refused(format!("`{}` is not a folder", place.folder), "name a folder"));
    }
    let mut mounts = Vec::new();
    if place.mode.has_walls() {
        let locations = locations::Refused::on_this_host(data);
        for rule in rules::all(place) {
            let what = match () {
                () if rule.protects => "the protected path",
                () if rule.path == Path::new(&place.folder) => "the folder",
                () => "the writable path",
            };
            let path = rule.path.to_string_lossy().into_owned();
            let found = match Found::at(&path, what) {
                Err(_) if rule.protects && is_missing(&rule.path) => continue,
                found => found?,
            };
            if !rule.protects {
                locations.check(&rule.path)?;
                found.check_access(&path, rule.writable)?;
            }
            let owner = is_root.then_some((found.stat.st_uid, found.stat.st_gid));
            mounts.push(PlaceMount { path, id: found.id(), writable: rule.writable, owner });
        }
    }
    let home = home(place, &mounts);
    let owner =
        is_root.then_some((folder.stat.st_uid, folder.stat.st_gid)).filter(|_| place.mode.has_walls());
    Ok(Checked {
        record: PlaceRecord {
            id: folder.id(),
            owner,
            home: home.clone().unwrap_or_else(|| TMP_INSIDE.to_owned()),
        },
        setup: InPlace { folder: place.folder.clone(), mounts, home, host_gid: None },
    })
}

/// Where the private home is shown. A read-only session writes nothing outside of `/tmp`.
fn home(place: &Place, mounts: &[PlaceMount]) -> Option<String> {
    let is_taken = mounts.iter().any(|mount| Path::new(&mount.path).starts_with(HOME_INSIDE));
    (place.mode == PlaceMode::WorkspaceWrite && !is_taken).then(|| HOME_INSIDE.to_owned())
}

/// Whether nothing is at a path, not even a link.
fn is_missing(path: &Path) -> bool {
    path.symlink_metadata()
        .is_err_and(|error| matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory))
}

/// What is at a path of the host.
struct Found {
    fd: OwnedFd,
    stat: Stat,
}

impl Found {
    /// Opens a path without following a link: a program may have put it there.
    fn at(path: &str, what: &str) -> Result<Self, Fault> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let open = || rustix::fs::openat2(CWD, path, flags, Mode::empty(), resolve);
        let found =
            rustix::io::retry_on_intr(open).and_then(|fd| Ok(Self { stat: rustix::fs::fstat(&fd)?, fd }));
        let found = found.map_err(|error| match error {
            Errno::NOENT => refused(format!("{what} `{path}` does not exist"), "create it first"),
            Errno::LOOP => link(path, what),
            error => refused(format!("cannot open {what} `{path}`: {error}"), "check its permissions"),
        })?;
        match FileType::from_raw_mode(found.stat.st_mode) {
            FileType::Directory | FileType::RegularFile => Ok(found),
            FileType::Symlink => Err(link(path, what)),
            _ => {
                let message = format!("{what} `{path}` is neither a folder nor a regular file");
                Err(refused(message, "name one of these"))
            }
        }
    }

    fn is_dir(&self) -> bool {
        FileType::from_raw_mode(self.stat.st_mode).is_dir()
    }

    const fn id(&self) -> (u64, u64) {
        (self.stat.st_dev, self.stat.st_ino)
    }

    /// Refuses a path that the worker's user cannot use.
    fn check_access(&self, path: &str, writable: bool) -> Result<(), Fault> {
        let mut access = Access::READ_OK;
        access.set(Access::WRITE_OK, writable);
        access.set(Access::EXEC_OK, self.is_dir());
        let path_of_fd = format!("/proc/self/fd/{}", self.fd.as_raw_fd());
        rustix::fs::accessat(CWD, path_of_fd, access, AtFlags::EACCESS).map_err(|_| {
            let verb = if writable { "change" } else { "read" };
            let uid = rustix::process::geteuid().as_raw();
            let message =
                format!("`{path}` belongs to user {}: you (user {uid}) may not {verb} it", self.stat.st_uid);
            refused(message, "use a folder of your own, or the mode `read-only` for one that you may read")
        })
    }
}

fn link(path: &str, what: &str) -> Fault {
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| PathBuf::from("nowhere"));
    let message = format!("{what} `{path}` is or contains a link: it leads to `{}`", target.display());
    refused(message, "name the path that it leads to, if you mean that")
}

fn refused(message: String, hint: &str) -> Fault {
    Fault::new(FaultKind::Invalid, message).hint(hint)
}

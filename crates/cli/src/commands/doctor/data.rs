//! Checks of the data folder: whether it is writable and private, and has enough space.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use headwater_sandbox::doctor::Check;
use headwater_worker::config::{Config, socket_path};
use headwater_worker::retention::{Bounds, Rules};

use crate::connect::worker::SOCKET_PATH_BYTES;

/// Less free space than this is used up quickly by the logs and workspaces of a few sessions.
const LOW_BYTES: u64 = 1 << 30;
/// A file system with less than one part in this many free is nearly full.
const LOW_SHARE: u64 = 20;

/// Checks the data folder.
pub fn check(config: &Config) -> Vec<Check> {
    let data = config.data.as_path();
    let folder = match writable(data) {
        Ok(folder) => folder,
        Err(error) => {
            let fix =
                format!("chown -R \"$(id -un)\" '{}', or choose another with --data DIR", data.display());
            return vec![Check::failure("data folder", format!("{}: {error}", data.display()), fix)];
        }
    };
    let mut checks = vec![private(data, &folder), free_space(&folder)];
    checks.extend(used(data));
    checks.push(retention(&config.retention.rules));
    checks.extend(long_path(data));
    checks
}

/// The data folder, or its nearest existing ancestor; an error if no file can be created in it.
pub fn writable(data: &Path) -> io::Result<PathBuf> {
    let nearest = data.ancestors().find(|path| path.symlink_metadata().is_ok()).unwrap_or(data);
    if !nearest.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    let probe = nearest.join(format!(".headwater-doctor-{}", std::process::id()));
    OpenOptions::new().write(true).create_new(true).open(&probe)?;
    fs::remove_file(&probe)?;
    Ok(nearest.to_owned())
}

fn private(data: &Path, folder: &Path) -> Check {
    let (name, shown) = ("data folder", data.display());
    if folder != data {
        return Check::fine(name, format!("{shown}, created when it is needed, for this user only"));
    }
    let Ok(meta) = data.metadata() else {
        return Check::fine(name, format!("{shown} is writable"));
    };
    let mode = meta.permissions().mode() & 0o777;
    let ours = rustix::process::geteuid().as_raw();
    if meta.uid() != ours {
        let detail =
            format!("{shown} belongs to user {}, who can read everything that runs here", meta.uid());
        return Check::warning(name, detail, format!("chown {ours} '{shown}'"));
    }
    if mode & 0o077 != 0 {
        let detail = format!("{shown} is writable, but other users can read it: its mode is {mode:04o}");
        return Check::warning(name, detail, format!("chmod 700 '{shown}'"));
    }
    Check::fine(name, format!("{shown} is writable, by this user only"))
}

fn free_space(folder: &Path) -> Check {
    let name = "disk space";
    let Ok(found) = rustix::fs::statvfs(folder) else {
        return Check::fine(name, "unknown");
    };
    let (free, files) = (found.f_bavail.saturating_mul(found.f_frsize), found.f_favail);
    // File systems that create inodes on demand report none.
    let counted = found.f_files > 0;
    let detail = format!("{} free on the disk of the data folder", amount(free));
    let total = found.f_blocks.saturating_mul(found.f_frsize);
    let detail = format!("{detail} (of {})", amount(total));
    if free < LOW_BYTES.max(total / LOW_SHARE) || counted && files < 10_000 {
        let detail = if counted && files < 10_000 { format!("{detail}, and {files} inodes") } else { detail };
        let fix = "free some space (`headwater prune` deletes logs), or choose a folder on another disk with --data DIR";
        return Check::warning(name, detail, fix);
    }
    Check::fine(name, detail)
}

/// The disk use of the data folder, by kind.
fn used(data: &Path) -> Option<Check> {
    let sessions = fs::read_dir(data.join("sessions")).ok()?;
    let (mut logs, mut workspaces, mut snapshots) = (0, 0, 0);
    for session in sessions.flatten() {
        let dir = session.path();
        logs += allocated(&dir.join("executions"));
        workspaces += allocated(&dir.join("workspace"));
        snapshots += allocated(&dir.join("snapshots"));
    }
    let all = allocated(data);
    let parts = [("logs", logs), ("workspaces", workspaces), ("snapshots", snapshots)];
    let parts = parts.map(|(name, bytes)| format!("{name} {}", amount(bytes))).join(", ");
    Some(Check::fine("disk use", format!("{} in the data folder: {parts}", amount(all))))
}

/// Allocated bytes of a tree. Links are not followed, and unreadable entries count as 0.
fn allocated(path: &Path) -> u64 {
    let Ok(meta) = path.symlink_metadata() else { return 0 };
    let below = if meta.is_dir() {
        fs::read_dir(path).map_or(0, |entries| entries.flatten().map(|entry| allocated(&entry.path())).sum())
    } else {
        0
    };
    meta.blocks() * 512 + below
}

/// How long logs are kept.
fn retention(rules: &Rules) -> Check {
    let bound = |bounds: Bounds| {
        let logs = bounds.logs.map_or_else(|| "unlimited logs".to_owned(), |logs| format!("{logs} logs"));
        let bytes = bounds.bytes.map_or_else(|| "unlimited size".to_owned(), amount);
        format!("{logs}, {bytes}")
    };
    let age = rules.age.map_or_else(
        || "logs of any age".to_owned(),
        |age| format!("logs up to {} days old", age.as_secs() / 86_400),
    );
    let (session, owner, all) = (bound(rules.session), bound(rules.owner), bound(rules.all));
    let detail = format!("keeps {age}; per session {session}; per owner {owner}; in total {all}");
    if rules.all.bytes.is_none() && rules.owner.bytes.is_none() {
        let fix = "set `all_bytes` or `owner_bytes` in `[retention]` of the configuration";
        return Check::warning("retention", format!("{detail}: logs can fill the disk"), fix);
    }
    Check::fine("retention", detail)
}

fn amount(bytes: u64) -> String {
    if bytes >= 10 << 30 { format!("{} GiB", bytes >> 30) } else { format!("{} MiB", bytes >> 20) }
}

/// The kernel limits the length of a socket's path.
fn long_path(data: &Path) -> Option<Check> {
    let length = socket_path(data).as_os_str().len();
    (length > SOCKET_PATH_BYTES).then(|| {
        let detail =
            format!("too long for the worker's socket: {length} bytes of at most {SOCKET_PATH_BYTES}");
        Check::failure("data folder's path", detail, "choose a shorter --data DIR")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::doctor::table::lines;
    use crate::snapshot;
    use crate::style::Style;

    #[test]
    fn a_folder_that_cannot_be_written_is_reported_with_its_fix() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let checks = check(&Config::new(&file));
        assert!(!checks[0].ok && checks[0].fix.is_some(), "{checks:?}");
        assert!(
            check(&Config::new(folder.path().join("new/deep")))[0]
                .detail
                .contains("created when it is needed")
        );
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left behind");
    }

    #[test]
    fn checks_match_their_snapshot() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path();
        let set_mode = |mode| fs::set_permissions(data, PermissionsExt::from_mode(mode)).unwrap();
        let file = data.join("file");
        fs::write(&file, "").unwrap();
        set_mode(0o700);
        let mut checks = vec![private(data, data), private(&data.join("new"), data)];
        checks.extend(check(&Config::new(&file)));
        set_mode(0o755);
        checks.push(private(data, data));
        let rules = Config::new(data).retention.rules;
        let all = Bounds { logs: rules.all.logs, bytes: Some(10 << 30) };
        checks.push(retention(&Rules { all, ..rules }));
        let none = Bounds::default();
        checks.push(retention(&Rules { age: None, owner: none, all: none, ..rules }));
        checks.extend(long_path(Path::new(&format!("/{}", "x".repeat(100)))));
        let text = lines(&checks.into(), Style::plain()).join("\n");
        snapshot::assert("doctor-data", &text.replace(&data.display().to_string(), "/data"));
    }

    #[test]
    fn a_data_folder_that_other_users_can_read_is_a_warning() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o700)).unwrap();
        assert_eq!(private(folder.path(), folder.path()).fix, None);
        fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
        let check = private(folder.path(), folder.path());
        assert!(check.ok && check.fix.unwrap().starts_with("chmod 700"), "{}", check.detail);
    }

    #[test]
    fn a_path_too_long_for_a_socket_fails() {
        assert_eq!(long_path(Path::new("/d")), None);
        assert!(!long_path(Path::new(&format!("/{}", "x".repeat(100)))).unwrap().ok);
    }
}

//! `/etc`: a few generated files, and host files that programs need and that reveal nothing about the host.

use std::path::{Path, PathBuf};

use rustix::io::Errno;

use super::failure::{OrWall, Wall};
use super::mounts;
use super::root::{create_dir, create_file, create_link, errno};
use crate::wire::WallFailure;

/// Where it is mounted inside the session.
pub(super) const INSIDE: &str = "/etc";

/// The target of the link `mtab`.
pub(super) const MTAB: &str = "/proc/self/mounts";

/// Generated files: users, host names, and no access to the host's name services.
pub(super) const GENERATED_FILES: [(&str, &str); 7] = [
    (
        "etc/passwd",
        "root:x:0:0:root:/:/usr/sbin/nologin\n\
         user:x:1000:1000:user:/workspace:/bin/bash\n\
         nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n",
    ),
    ("etc/group", "root:x:0:\ntty:x:5:\nuser:x:1000:\nnogroup:x:65534:\n"),
    ("etc/hosts", "127.0.0.1 localhost headwater\n::1 localhost ip6-localhost ip6-loopback\n"),
    ("etc/hostname", "headwater\n"),
    ("etc/resolv.conf", ""),
    (
        "etc/nsswitch.conf",
        "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nnetworks: files\n\
         protocols: files\nservices: files\nethers: files\nrpc: files\n",
    ),
    // The host's would set another PATH: login shells keep the one of the session.
    ("etc/profile", include_str!("etc/profile.sh")),
];

/// Entries that are taken from the host read-only, if it has them. A final `*` matches anything.
const HOST_ENTRIES: [&str; 39] = [
    "ImageMagick-*",
    "R",
    "alternatives",
    "bash.bashrc",
    "ca-certificates",
    "ca-certificates.conf",
    "debian_version",
    "fonts",
    "gai.conf",
    "gdb",
    "host.conf",
    "inputrc",
    "java",
    "java-*",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "locale.alias",
    "locale.conf",
    "localtime",
    "lsb-release",
    "magic",
    "magic.mime",
    "maven",
    "mime.types",
    "networks",
    "os-release",
    "perl",
    "pki",
    "php",
    "protocols",
    "python3*",
    "python2*",
    "redhat-release",
    "services",
    "shells",
    "ssl",
    "terminfo",
    "timezone",
];

/// Populates `etc` of the new root, entry by entry. The host's root must still be reachable. A
/// [prepared](super::prepare_etc) folder is faster.
pub(super) fn populate() -> Result<(), WallFailure> {
    create_dir("etc")?;
    for (path, text) in GENERATED_FILES {
        create_file(path, text)?;
    }
    create_link("etc/mtab", MTAB)?;
    let entries = host_entries().map_err(|error| errno(&error)).or_wall(Wall::Mounts, "read `/etc`")?;
    entries.iter().try_for_each(|entry| show(entry))
}

/// The entries of the list that exist on the host.
pub(super) fn host_entries() -> std::io::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir("/etc")?.flatten();
    Ok(entries
        .filter(|entry| entry.file_name().to_str().is_some_and(wanted))
        .map(|entry| entry.path())
        .collect())
}

/// Whether a link stays a link, which costs no mount: its target is in `/usr`, which exists inside as well.
pub(super) fn stays_a_link(target: &Path) -> bool {
    target.starts_with("/usr") || target.starts_with("../usr")
}

fn wanted(name: &str) -> bool {
    HOST_ENTRIES.iter().any(|pattern| match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == *pattern,
    })
}

/// Binds one entry of the host's `/etc`.
fn show(host: &Path) -> Result<(), WallFailure> {
    let inside = Path::new("etc").join(host.file_name().unwrap_or_default());
    match std::fs::read_link(host) {
        Ok(target) if stays_a_link(&target) => return create_link(&inside, target),
        _ if host.is_dir() => create_dir(&inside)?,
        _ => create_file(&inside, "")?,
    }
    match mounts::bind(host, &inside) {
        // It has been removed meanwhile, or this user may not read it: an empty file is good enough.
        Err(Errno::NOENT | Errno::ACCESS) => Ok(()),
        other => other.or_wall(Wall::Mounts, format_args!("bind `{}`", host.display())),
    }
}

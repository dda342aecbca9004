//! `/etc`: a few files of our own, and those of the host's that programs need and that tell nothing of it.

use std::fs::DirEntry;
use std::path::Path;

use rustix::io::Errno;

use super::failure::{OrWall, Wall};
use super::mounts;
use super::root::{errno, make_dir, make_file, make_link};
use crate::wire::WallFailure;

/// Written by us: users, names, and no way to the host's name services.
const OURS: [(&str, &str); 6] = [
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
];

/// The host's, read-only, where it has them. A final `*` stands for anything.
const HOSTS: [&str; 40] = [
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
    "profile",
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

/// Furnishes `etc` of the new root; the host must be in sight.
pub(super) fn furnish() -> Result<(), WallFailure> {
    make_dir("etc")?;
    for (path, text) in OURS {
        make_file(path, text)?;
    }
    make_link("etc/mtab", "/proc/self/mounts")?;
    let entries =
        std::fs::read_dir("/etc").map_err(|error| errno(&error)).or_wall(Wall::Mounts, "read `/etc`")?;
    for entry in entries.flatten() {
        if entry.file_name().to_str().is_some_and(wanted) {
            show(&entry)?;
        }
    }
    Ok(())
}

fn wanted(name: &str) -> bool {
    HOSTS.iter().any(|pattern| match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == *pattern,
    })
}

/// Shows one entry of the host's `/etc`. A link into `/usr` stays a link, which costs no mount.
fn show(entry: &DirEntry) -> Result<(), WallFailure> {
    let (host, inside) = (entry.path(), Path::new("etc").join(entry.file_name()));
    if let Ok(target) = std::fs::read_link(&host)
        && (target.starts_with("/usr") || target.starts_with("../usr"))
    {
        return make_link(&inside, target);
    }
    if host.is_dir() {
        make_dir(&inside)?;
    } else {
        make_file(&inside, "")?;
    }
    match mounts::bind(&host, &inside) {
        // It has vanished meanwhile, or this user may not see it: an empty one is as good.
        Err(Errno::NOENT | Errno::ACCESS) => Ok(()),
        other => other.or_wall(Wall::Mounts, format_args!("bind `{}`", host.display())),
    }
}

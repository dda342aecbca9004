//! `/etc`: a few files of our own, and those of the host's that programs need and that tell nothing of it.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use super::failure::{OrWall, Wall};
use super::mounts::{self, READ_ONLY};
use super::root::{make_dir, make_file, make_link};
use crate::wire::WallFailure;

/// Written by us: users, names, and no way to the host's name services.
const OURS: [(&str, &str); 6] = [
    (
        "/etc/passwd",
        "root:x:0:0:root:/:/usr/sbin/nologin\n\
         user:x:1000:1000:user:/workspace:/bin/bash\n\
         nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n",
    ),
    ("/etc/group", "root:x:0:\ntty:x:5:\nuser:x:1000:\nnogroup:x:65534:\n"),
    ("/etc/hosts", "127.0.0.1 localhost headwater\n::1 localhost ip6-localhost ip6-loopback\n"),
    ("/etc/hostname", "headwater\n"),
    ("/etc/resolv.conf", ""),
    (
        "/etc/nsswitch.conf",
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

/// One entry of the host's `/etc` as it will be inside.
enum Entry {
    Link { name: String, target: PathBuf },
    Tree { name: String, tree: OwnedFd, folder: bool },
}

/// The host's part, taken while the host is in sight.
pub(super) struct Etc(Vec<Entry>);

impl Etc {
    /// Takes what the host has of the list.
    pub(super) fn take() -> Result<Self, WallFailure> {
        let names = std::fs::read_dir("/etc")
            .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
            .or_wall(Wall::Mounts, "read `/etc`")?
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|name| wanted(name));
        names.filter_map(|name| entry(name).transpose()).collect::<Result<_, _>>().map(Self)
    }

    /// Furnishes `/etc` of the new root.
    pub(super) fn furnish(self) -> Result<(), WallFailure> {
        make_dir("/etc")?;
        for (path, text) in OURS {
            make_file(path, text)?;
        }
        make_link("/etc/mtab", "/proc/self/mounts")?;
        self.0.into_iter().try_for_each(Entry::furnish)
    }
}

fn wanted(name: &str) -> bool {
    HOSTS.iter().any(|pattern| match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == *pattern,
    })
}

/// A link into `/usr` stays a link, which costs no mount. What vanishes meanwhile is not there.
fn entry(name: String) -> Result<Option<Entry>, WallFailure> {
    let path = Path::new("/etc").join(&name);
    if let Ok(target) = std::fs::read_link(&path)
        && (target.starts_with("/usr") || target.starts_with("../usr"))
    {
        return Ok(Some(Entry::Link { name, target }));
    }
    match mounts::copy(&path, READ_ONLY) {
        Ok(tree) => {
            let folder = path.is_dir();
            Ok(Some(Entry::Tree { name, tree, folder }))
        }
        Err(Errno::NOENT | Errno::ACCESS) => Ok(None),
        Err(errno) => Err(Wall::Mounts.failed(format_args!("bind `{}`", path.display()), errno)),
    }
}

impl Entry {
    fn furnish(self) -> Result<(), WallFailure> {
        match self {
            Self::Link { name, target } => make_link(&format!("/etc/{name}"), target),
            Self::Tree { name, tree, folder } => {
                let path = format!("/etc/{name}");
                if folder {
                    make_dir(&path)?;
                } else {
                    make_file(&path, "")?;
                }
                mounts::attach(&tree, path.as_str()).or_wall(Wall::Mounts, format_args!("attach `{path}`"))
            }
        }
    }
}

//! Paths of the host that no in-place session may show: they would expose secrets, or break the host or the service.

use std::fs;
use std::path::{Path, PathBuf};

use headwater_contract::{Fault, FaultKind};

/// Folders that are refused with everything in them.
const SYSTEM: [&str; 6] = ["/boot", "/dev", "/etc", "/proc", "/run", "/sys"];
/// Folders that are refused themselves: sessions have their own, or they hold the data of services and users.
const WHOLE: [&str; 5] = ["/home", "/tmp", "/usr", "/var", "/var/tmp"];
/// The parts of `/usr` that people keep projects in.
const IN_USR: [&str; 2] = ["/usr/src", "/usr/local/src"];
/// Entries of a home that hold keys and credentials.
const SECRETS: [&str; 15] = [
    ".aws",
    ".azure",
    ".config/gcloud",
    ".config/gh",
    ".docker",
    ".git-credentials",
    ".gnupg",
    ".kube",
    ".local/share/keyrings",
    ".mozilla",
    ".netrc",
    ".password-store",
    ".pki",
    ".ssh",
    ".config/headwater",
];
/// The data folder of a server that was installed as a service, and that of a person, in their home.
const SERVICE_DATA: &str = "/var/lib/headwater";
const PERSONAL_DATA: &str = ".local/share/headwater";
/// Users below this number are services, whose homes are system folders.
const FIRST_PERSON: u32 = 1000;
/// The number of `nobody`.
const NOBODY: u32 = 65534;

/// The refused paths of this host.
#[derive(Debug, Default)]
pub(super) struct Refused {
    homes: Vec<PathBuf>,
    data: Vec<PathBuf>,
}

impl Refused {
    /// Reads the homes of this host. `data` is the worker's data folder.
    pub(super) fn on_this_host(data: &Path) -> Self {
        let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
        let own = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
        let homes = homes(&passwd, rustix::process::geteuid().as_raw()).chain(own);
        // As paths are compared: without links.
        let homes: Vec<_> = homes.filter_map(|home| fs::canonicalize(home).ok()).collect();
        let others = homes.iter().map(|home| home.join(PERSONAL_DATA)).chain([PathBuf::from(SERVICE_DATA)]);
        let others = others.filter_map(|data| fs::canonicalize(data).ok());
        let data = std::iter::once(data.to_owned()).chain(others).collect();
        Self { homes, data }
    }

    /// Refuses a path that contains, is or is in something that must stay hidden.
    pub(super) fn check(&self, path: &Path) -> Result<(), Fault> {
        match self.reason(path) {
            None => Ok(()),
            Some((why, hint)) => {
                let message = format!("`{}` cannot be part of an in-place session: {why}", path.display());
                Err(Fault::new(FaultKind::Invalid, message).hint(hint))
            }
        }
    }

    fn reason(&self, path: &Path) -> Option<(&'static str, &'static str)> {
        const PROJECT: &str = "use the folder of one project";
        if path == Path::new("/") {
            return Some(("it is the whole host", PROJECT));
        }
        let hint = "use a folder outside of it, or another data folder with `--data DIR`";
        let of_data = Some(("it contains, or is in, the data folder of headwater", hint));
        if self.data.iter().any(|data| path.starts_with(data)) {
            return of_data;
        }
        // A home may contain the data folder: another data folder would not help.
        if self.homes.iter().any(|home| home.starts_with(path)) {
            return Some(("it is or contains a home folder, with its keys and credentials", PROJECT));
        }
        if self.data.iter().any(|data| data.starts_with(path)) {
            return of_data;
        }
        let is_secret = |home: &PathBuf| SECRETS.iter().any(|name| path.starts_with(home.join(name)));
        if self.homes.iter().any(is_secret) {
            return Some(("it holds keys or credentials", PROJECT));
        }
        let in_usr = path.starts_with("/usr") && !IN_USR.iter().any(|folder| path.starts_with(folder));
        let is_system = SYSTEM.iter().any(|folder| path.starts_with(folder)) || in_usr;
        let is_whole = WHOLE.iter().any(|folder| path == Path::new(folder));
        (is_system || is_whole).then_some(("it is a system folder", PROJECT))
    }
}

/// The homes of people, and of this user.
fn homes(passwd: &str, own: u32) -> impl Iterator<Item = PathBuf> {
    passwd.lines().filter_map(move |line| {
        let mut fields = line.split(':').skip(2);
        let uid: u32 = fields.next()?.parse().ok()?;
        let is_person = uid == 0 || uid == own || (uid >= FIRST_PERSON && uid != NOBODY);
        let home = PathBuf::from(fields.nth(2)?);
        (is_person && home.is_absolute() && home != Path::new("/")).then_some(home)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused() -> Refused {
        let homes = vec!["/root".into(), "/home/a".into(), "/data/people/b".into()];
        Refused { homes, data: vec!["/srv/hw/data".into(), "/home/a/.local/share/headwater".into()] }
    }

    #[test]
    fn projects_are_accepted_and_what_must_stay_hidden_is_not() {
        for path in [
            "/home/a/project",
            "/home/a/.config/nvim",
            "/home/ab",
            "/root/x",
            "/srv/app",
            "/srv/hw/other",
            "/tmp/x",
            "/var/www/app",
            "/usr/src/linux",
            "/opt",
            "/data/project",
            "/etcetera",
        ] {
            assert_eq!(refused().reason(Path::new(path)), None, "{path}");
        }
        for path in [
            "/",
            "/etc",
            "/etc/ssl/private",
            "/proc/1",
            "/run/user/1000",
            "/tmp",
            "/usr",
            "/usr/bin",
            "/usr/local",
            "/var",
            "/home",
            "/home/a",
            "/root",
            "/data",
            "/data/people",
            "/home/a/.ssh",
            "/home/a/.config/gh/x",
            "/srv",
            "/srv/hw",
            "/srv/hw/data",
            "/srv/hw/data/sessions",
            "/home/a/.local",
            "/home/a/.local/share/headwater/tokens",
        ] {
            assert!(refused().reason(Path::new(path)).is_some(), "{path}");
        }
    }

    #[test]
    fn homes_are_those_of_people() {
        let passwd = "root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1::/usr/sbin:/x\n\
                      me:x:700:700::/srv/me:/x\na:x:1000:1000:,,,:/home/a:/bin/bash\n\
                      nobody:x:65534:65534::/nonexistent:/x\nb:x:1001:1001::/:/x\nbroken";
        let found: Vec<_> = homes(passwd, 700).collect();
        assert_eq!(found, ["/root", "/srv/me", "/home/a"].map(PathBuf::from));
    }
}

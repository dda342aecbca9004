//! Reporting a wall that cannot be built: its name, the kernel's error, and the fix.

use std::fmt::Display;

use rustix::io::Errno;

use crate::wire::WallFailure;

/// The walls, by the names used in doctor and in errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wall {
    /// The user of the programs, on the host and inside.
    Identity,
    /// The owners of the files of an in-place session.
    Owners,
    /// The user namespace.
    User,
    /// The mount, pid, net, ipc, uts and cgroup namespaces.
    Namespaces,
    /// The root that programs see.
    Mounts,
    /// `/proc`.
    Proc,
    /// The loopback device.
    Loopback,
    /// Capabilities and `no_new_privs`.
    Privileges,
    /// The seccomp filter.
    Seccomp,
    /// Resource limits, descriptors and other state of the process.
    Process,
}

impl Wall {
    fn name(self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Owners => super::owners::UNMAPPABLE,
            Self::User => "user namespace",
            Self::Namespaces => "namespaces",
            Self::Mounts => "mounts",
            Self::Proc => "proc",
            Self::Loopback => "loopback",
            Self::Privileges => "privileges",
            Self::Seccomp => "seccomp",
            Self::Process => "process",
        }
    }

    /// The fix for the likeliest cause of this error.
    fn fix(self, errno: Errno) -> &'static str {
        let is_denied = matches!(errno, Errno::PERM | Errno::ACCESS) && !rustix::process::geteuid().is_root();
        if is_denied
            && matches!(self, Self::User | Self::Namespaces | Self::Mounts)
            && let Some(setting) = closed_user_namespaces()
        {
            return setting;
        }
        match (self, errno) {
            (Self::User | Self::Namespaces, Errno::NOSPC) => {
                "sysctl -w user.max_user_namespaces=15000 user.max_mnt_namespaces=15000 \
                 user.max_pid_namespaces=15000 user.max_net_namespaces=15000"
            }
            (Self::User, _) => {
                "sysctl -w kernel.unprivileged_userns_clone=1 (Debian) or \
                 kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu); in a container allow user \
                 namespaces in its seccomp profile; or start the worker as root"
            }
            (Self::Namespaces, Errno::PERM) => {
                "start the worker as root with CAP_SYS_ADMIN, or as an ordinary user on a host that allows user \
                 namespaces"
            }
            (Self::Namespaces | Self::Mounts | Self::Seccomp, Errno::NOSYS) => "use kernel 5.12 or newer",
            (Self::Proc, Errno::PERM) => {
                "in a container: run it with an unmasked /proc (docker run --security-opt systempaths=unconfined; \
                 Kubernetes: procMount: Unmasked)"
            }
            (Self::Seccomp, Errno::INVAL) => "use a kernel with CONFIG_SECCOMP_FILTER",
            (Self::Owners, _) => {
                "use a folder on a file system that can map owners (ext4, XFS, Btrfs, or tmpfs since Linux 6.3), or \
                 run headwater as the user who owns the folder"
            }
            (Self::Identity, _) => {
                "give every session its own unprivileged host user, or start the worker as an ordinary user"
            }
            _ => "run `headwater doctor` on this host: it tries every wall separately",
        }
    }

    /// The failure of this wall: what was tried, and the kernel's error.
    pub(crate) fn failed(self, what: impl Display, errno: Errno) -> WallFailure {
        WallFailure {
            wall: self.name().to_owned(),
            message: format!("{what}: {errno}"),
            fix: self.fix(errno).to_owned(),
        }
    }

    /// A failure that is not an error of the kernel.
    pub(crate) fn refused(self, message: impl Display) -> WallFailure {
        WallFailure {
            wall: self.name().to_owned(),
            message: message.to_string(),
            fix: self.fix(Errno::INVAL).to_owned(),
        }
    }
}

/// The command that opens user namespaces to ordinary users, if a setting of this host closes them.
fn closed_user_namespaces() -> Option<&'static str> {
    let is = |setting: &str, value: &str| {
        std::fs::read_to_string(format!("/proc/sys/kernel/{setting}")).is_ok_and(|text| text.trim() == value)
    };
    match () {
        () if is("unprivileged_userns_clone", "0") => Some("sysctl -w kernel.unprivileged_userns_clone=1"),
        () if is("apparmor_restrict_unprivileged_userns", "1") => Some(
            "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor profile for headwater with `userns,`",
        ),
        () => None,
    }
}

/// Adds the wall and what was tried to an error.
pub(crate) trait OrWall<T> {
    /// Converts an error to the failure of a wall.
    fn or_wall(self, wall: Wall, what: impl Display) -> Result<T, WallFailure>;
}

impl<T> OrWall<T> for Result<T, Errno> {
    fn or_wall(self, wall: Wall, what: impl Display) -> Result<T, WallFailure> {
        self.map_err(|errno| wall.failed(what, errno))
    }
}

//! How a wall that cannot be built is reported: which one, what the kernel said, and what mends it.

use std::fmt::Display;

use rustix::io::Errno;

use crate::wire::WallFailure;

/// The walls, by the names that doctor and errors use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wall {
    /// Who the programs are on the host and inside.
    Identity,
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
    /// Capabilities and the promise to gain none.
    Privileges,
    /// The filter of system calls.
    Seccomp,
    /// Resource limits, descriptors, and what else belongs to a process.
    Process,
}

impl Wall {
    fn name(self) -> &'static str {
        match self {
            Self::Identity => "identity",
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

    /// What mends it: the likeliest cause of this error for this wall.
    fn fix(self, errno: Errno) -> &'static str {
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
            (Self::Namespaces | Self::Mounts | Self::Seccomp, Errno::NOSYS) => "use a kernel from 5.12 on",
            (Self::Proc, Errno::PERM) => {
                "in a container: run it with an unmasked /proc (docker run --security-opt systempaths=unconfined; \
                 Kubernetes: procMount: Unmasked)"
            }
            (Self::Seccomp, Errno::INVAL) => "use a kernel with CONFIG_SECCOMP_FILTER",
            (Self::Identity, _) => {
                "give every session an unprivileged host user of its own, or start the worker as one"
            }
            _ => "run `headwater doctor` on this host: it tries every wall by itself",
        }
    }

    /// Turns what the kernel said of `what` into the failure of this wall.
    pub(crate) fn failed(self, what: impl Display, errno: Errno) -> WallFailure {
        WallFailure {
            wall: self.name().to_owned(),
            message: format!("{what}: {errno}"),
            fix: self.fix(errno).to_owned(),
        }
    }

    /// A failure that the kernel had no part in.
    pub(crate) fn refused(self, message: impl Display) -> WallFailure {
        WallFailure {
            wall: self.name().to_owned(),
            message: message.to_string(),
            fix: self.fix(Errno::INVAL).to_owned(),
        }
    }
}

/// Says what was being done when the kernel refused.
pub(crate) trait OrWall<T> {
    /// Names the wall and the deed.
    fn or_wall(self, wall: Wall, what: impl Display) -> Result<T, WallFailure>;
}

impl<T> OrWall<T> for Result<T, Errno> {
    fn or_wall(self, wall: Wall, what: impl Display) -> Result<T, WallFailure> {
        self.map_err(|errno| wall.failed(what, errno))
    }
}

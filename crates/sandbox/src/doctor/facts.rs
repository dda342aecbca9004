//! Facts about this host, and what they say about a refusal: the command or setting that fixes it.

use std::collections::BTreeMap;
use std::fs;

use super::Check;

/// What a trial is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Topic {
    /// The user namespace.
    UserNamespace,
    /// Another namespace, by its name in `user.max_NAME_namespaces`.
    Namespace(&'static str),
    /// Mounts and the root.
    Mounts,
    /// `/proc`.
    Proc,
    /// The loopback device of a session.
    Loopback,
    /// Capabilities, `no_new_privs`.
    Privileges,
    /// The seccomp filter.
    Filter,
    /// A required system call.
    Call,
}

/// Facts about this host and this process.
#[derive(Debug, Clone, Default)]
pub(super) struct Facts {
    /// Whether this process is root (of the host, or of a container).
    pub(super) root: bool,
    /// The user of this process.
    uid: u32,
    /// The host user of a session, if this process is root.
    pub(super) session_uid: Option<u32>,
    /// The kernel's release.
    release: String,
    /// Effective capabilities, by bit.
    capabilities: u64,
    /// Whether this process itself is under a seccomp filter.
    filtered: bool,
    /// Whether this process's user namespace maps the session's user.
    uid_is_mapped: bool,
    /// The kernel settings of [`SYSCTLS`] that exist.
    sysctls: BTreeMap<&'static str, u64>,
}

/// The capabilities that root needs, by bit, and what for.
const CAPABILITIES: [(u32, &str); 9] = [
    (0, "CHOWN"),        // give a workspace to the session's user
    (1, "DAC_OVERRIDE"), // measure and remove that user's files
    (3, "FOWNER"),       // the same
    (5, "KILL"),         // end a session
    (6, "SETGID"),       // become the session's user
    (7, "SETUID"),       // the same
    (8, "SETPCAP"),      // drop capabilities permanently
    (12, "NET_ADMIN"),   // bring up its loopback device
    (21, "SYS_ADMIN"),   // namespaces and mounts
];

/// Kernel settings that limit namespaces and pipes.
const SYSCTLS: [&str; 11] = [
    "kernel.unprivileged_userns_clone",
    "kernel.apparmor_restrict_unprivileged_userns",
    "user.max_user_namespaces",
    "user.max_mnt_namespaces",
    "user.max_pid_namespaces",
    "user.max_net_namespaces",
    "user.max_ipc_namespaces",
    "user.max_uts_namespaces",
    "user.max_cgroup_namespaces",
    "fs.pipe-max-size",
    "fs.pipe-user-pages-soft",
];

/// The first kernel with `mount_setattr`, the newest system call that the walls need.
const OLDEST_KERNEL: (u32, u32) = (5, 12);

/// Enough namespaces for any number of sessions that fits on a machine.
const SUGGESTED_NAMESPACES: u64 = 15_000;

const UNKNOWN_USER: &str = "set `uid_base` in headwater.toml to the first of a range of users in \
    /proc/self/uid_map that nobody else uses, or start it as an ordinary user";

/// The trial's host user, counted from the first host user of sessions: far above all sessions.
const TRIAL_UID_OFFSET: u32 = 0x00ff_0000;

const IN_A_CONTAINER: &str = "this process is under a seccomp filter, as in a container: relax it \
    (docker run --security-opt seccomp=unconfined; Kubernetes: securityContext.seccompProfile.type: Unconfined)";

impl Facts {
    /// Reads the facts of this host.
    pub(super) fn of_this_host(first_uid: u32) -> Self {
        let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
        let above = first_uid.saturating_add(TRIAL_UID_OFFSET);
        let session_uid = if maps_uid(&map, above) { above } else { first_uid };
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let root = rustix::process::geteuid().is_root();
        let sysctl = |name: &'static str| {
            let text = fs::read_to_string(format!("/proc/sys/{}", name.replace('.', "/"))).ok()?;
            Some((name, text.trim().parse().ok()?))
        };
        Self {
            root,
            uid: rustix::process::geteuid().as_raw(),
            session_uid: root.then_some(session_uid),
            uid_is_mapped: maps_uid(&map, session_uid),
            release: rustix::system::uname().release().to_string_lossy().into_owned(),
            capabilities: field(&status, "CapEff")
                .and_then(|text| u64::from_str_radix(text, 16).ok())
                .unwrap_or(0),
            filtered: field(&status, "Seccomp") == Some("2"),
            sysctls: SYSCTLS.into_iter().filter_map(sysctl).collect(),
        }
    }

    /// The value of a kernel setting, if it exists.
    pub(super) fn sysctl(&self, name: &str) -> Option<u64> {
        self.sysctls.get(name).copied()
    }

    /// Checks the kernel's version.
    pub(super) fn kernel(&self) -> Check {
        let (major, minor) = OLDEST_KERNEL;
        if version(&self.release).is_some_and(|version| version < OLDEST_KERNEL) {
            let detail = format!("Linux {}, but {major}.{minor} or newer is required", self.release);
            return Check::failure("kernel", detail, format!("use kernel {major}.{minor} or newer"));
        }
        Check::fine("kernel", format!("Linux {} ({major}.{minor} or newer is required)", self.release))
    }

    /// Checks the user of this process and its capabilities.
    pub(super) fn user(&self) -> Check {
        if !self.root {
            let detail = format!("ordinary user {}: sessions run in user namespaces of this user", self.uid);
            return Check::fine("user", detail);
        }
        if let Some(uid) = self.session_uid.filter(|_| !self.uid_is_mapped) {
            let detail = format!("root of a user namespace (a container) that does not map host user {uid}");
            return Check::failure("user", detail, UNKNOWN_USER);
        }
        let missing: Vec<_> = self.missing_capabilities().collect();
        if missing.is_empty() {
            return Check::fine("user", "root: every session gets its own unprivileged host user");
        }
        let detail = format!("root without the capabilities {}", missing.join(", "));
        Check::failure("user", detail, self.capability_fix())
    }

    fn missing_capabilities(&self) -> impl Iterator<Item = &'static str> {
        let has = self.capabilities;
        CAPABILITIES
            .into_iter()
            .filter(move |(bit, _)| self.root && has >> bit & 1 == 0)
            .map(|(_, name)| name)
    }

    fn capability_fix(&self) -> String {
        let options: Vec<_> = self.missing_capabilities().map(|name| format!("--cap-add {name}")).collect();
        format!(
            "start it with them (docker run {}; systemd: no CapabilityBoundingSet= without them), or start it \
             as an ordinary user",
            options.join(" ")
        )
    }

    /// How to fix a refusal.
    pub(super) fn fix(&self, topic: Topic, errno: i32) -> String {
        let refused = matches!(errno, libc::EPERM | libc::EACCES);
        if topic == Topic::UserNamespace && self.root && !self.uid_is_mapped {
            return UNKNOWN_USER.to_owned();
        }
        let namespace = match topic {
            Topic::UserNamespace => Some("user"),
            Topic::Namespace(name) => Some(name),
            _ => None,
        };
        match (topic, errno) {
            (_, libc::ENOSPC) if namespace.is_some() => return self.too_few(namespace.unwrap_or_default()),
            (_, libc::ENOSYS) if !self.filtered => {
                let (major, minor) = OLDEST_KERNEL;
                return format!("use kernel {major}.{minor} or newer (this is {})", self.release);
            }
            (_, libc::EINVAL) if namespace.is_some() || topic == Topic::Filter => {
                return "use a kernel built with namespaces and seccomp filters (CONFIG_*_NS, \
                        CONFIG_SECCOMP_FILTER)"
                    .to_owned();
            }
            _ => {}
        }
        if refused && self.missing_capabilities().next().is_some() {
            return self.capability_fix();
        }
        if refused && !self.root && self.sysctl("kernel.unprivileged_userns_clone") == Some(0) {
            return set("kernel.unprivileged_userns_clone", 1);
        }
        if refused && !self.root && self.sysctl("kernel.apparmor_restrict_unprivileged_userns") == Some(1) {
            return set("kernel.apparmor_restrict_unprivileged_userns", 0);
        }
        if topic == Topic::Proc && refused {
            return "in a container: give it an unmasked /proc (docker run --security-opt systempaths=unconfined; \
                    Kubernetes: securityContext.procMount: Unmasked)"
                .to_owned();
        }
        if self.filtered && (refused || errno == libc::ENOSYS) {
            return IN_A_CONTAINER.to_owned();
        }
        "a security module (AppArmor, SELinux), a chroot or a limit of this process denies it: `dmesg | tail` and \
         `ulimit -a` may show which; or start it as another user"
            .to_owned()
    }

    /// The fix if namespaces of this kind have run out, or none are allowed.
    fn too_few(&self, namespace: &str) -> String {
        let name = format!("user.max_{namespace}_namespaces");
        match self.sysctl(&name) {
            Some(most) if most >= SUGGESTED_NAMESPACES => {
                format!("end some sessions or containers: all {most} of {name} are in use")
            }
            _ => set(&name, SUGGESTED_NAMESPACES),
        }
    }
}

/// How to change a kernel setting now and permanently.
fn set(name: &str, value: u64) -> String {
    format!("sysctl -w {name}={value} (as root on the host; to keep it, add a line in /etc/sysctl.d/)")
}

/// The value of a line of `/proc/*/status`.
pub(super) fn field<'a>(status: &'a str, key: &str) -> Option<&'a str> {
    status.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':')).map(str::trim)
}

/// Whether a uid map contains a user. Its lines are: first uid inside, first uid outside, count.
fn maps_uid(map: &str, uid: u32) -> bool {
    map.lines().any(|line| {
        let mut numbers = line.split_whitespace().filter_map(|number| number.parse::<u64>().ok());
        let (first, many) = (numbers.next(), numbers.nth(1));
        first.zip(many).is_some_and(|(first, many)| (first..first + many).contains(&u64::from(uid)))
    })
}

/// The first two numbers of a release.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ordinary(sysctls: &[(&'static str, u64)]) -> Facts {
        Facts { uid: 1000, sysctls: sysctls.iter().copied().collect(), ..Facts::default() }
    }

    #[test]
    fn versions_and_fields_are_read_as_the_kernel_writes_them() {
        assert_eq!(version("6.18.44-fc-v490"), Some((6, 18)));
        assert_eq!(version("5.4-generic"), Some((5, 4)));
        assert_eq!(version("six"), None);
        let status = "Name:\tx\nCapEff:\t00000000a80425fb\nSeccomp_filters:\t1\nSeccomp:\t2\n";
        assert_eq!(field(status, "CapEff"), Some("00000000a80425fb"));
        assert_eq!(field(status, "Seccomp"), Some("2"));
        assert_eq!(field(status, "Cap"), None);
    }

    #[test]
    fn an_old_kernel_fails() {
        let facts = |release: &str| Facts { release: release.into(), ..Facts::default() };
        assert!(!facts("5.10.0-8-amd64").kernel().ok);
        assert!(facts("5.12.0").kernel().ok);
        assert!(facts("7.0-rc1").kernel().ok);
    }

    #[test]
    fn the_setting_that_forbids_user_namespaces_is_named() {
        let debian = ordinary(&[("kernel.unprivileged_userns_clone", 0)]);
        let fix = debian.fix(Topic::UserNamespace, libc::EPERM);
        assert!(fix.starts_with("sysctl -w kernel.unprivileged_userns_clone=1"), "{fix}");
        let ubuntu = ordinary(&[("kernel.apparmor_restrict_unprivileged_userns", 1)]);
        let fix = ubuntu.fix(Topic::UserNamespace, libc::EACCES);
        assert!(fix.starts_with("sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"), "{fix}");
        let none = ordinary(&[("user.max_user_namespaces", 0)]);
        let fix = none.fix(Topic::UserNamespace, libc::ENOSPC);
        assert!(fix.starts_with("sysctl -w user.max_user_namespaces=15000"), "{fix}");
        let used_up = ordinary(&[("user.max_net_namespaces", 96_349)]);
        let fix = used_up.fix(Topic::Namespace("net"), libc::ENOSPC);
        assert!(fix.contains("all 96349 of user.max_net_namespaces"), "{fix}");
    }

    #[test]
    fn a_user_unknown_in_the_container_is_reported() {
        assert!(maps_uid("         0          0 4294967295\n", 0x7100_0000));
        assert!(!maps_uid("0 100000 65536\n", 65_536));
        assert!(maps_uid("0 100000 65536\n70000 1 2\n", 70_001));
        assert!(!maps_uid("", 0));
        let facts = Facts { root: true, session_uid: Some(7), uid_is_mapped: false, ..Facts::default() };
        assert!(!facts.user().ok);
        assert!(facts.fix(Topic::UserNamespace, libc::EINVAL).contains("uid_base"));
    }

    #[test]
    fn missing_capabilities_of_root_are_named() {
        let container = Facts {
            root: true,
            capabilities: 0xa804_25fb,
            filtered: true,
            uid_is_mapped: true,
            ..Facts::default()
        };
        let check = container.user();
        assert!(!check.ok);
        assert_eq!(check.detail, "root without the capabilities NET_ADMIN, SYS_ADMIN");
        let fix = container.fix(Topic::Namespace("mnt"), libc::EPERM);
        assert!(fix.contains("--cap-add NET_ADMIN --cap-add SYS_ADMIN"), "{fix}");
        let whole = Facts { capabilities: u64::MAX, ..container };
        assert!(whole.user().ok);
        assert!(whole.fix(Topic::Mounts, libc::EPERM).contains("seccomp=unconfined"));
        assert!(whole.fix(Topic::Proc, libc::EPERM).contains("Unmasked"));
    }
}

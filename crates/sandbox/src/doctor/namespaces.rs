//! Namespaces, each tried separately: a new one must differ from the old one.

use std::fs;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;

use rustix::net::{AddressFamily, SocketFlags, SocketType};
use rustix::process::{DumpableBehavior, Gid, Uid};
use rustix::thread::{CapabilitySet, CapabilitySets, UnshareFlags};

use super::Check;
use super::child::{continue_in_child, in_child};
use super::facts::{Facts, Topic};
use super::refusal::{Finding, OrRefused, Refusal, last_errno, needed};
use crate::walls::INSIDE_ID;

/// A kind of namespace: its name for people, the kernel's flag, its link in `/proc/self/ns`, its name in
/// sysctls.
struct Kind {
    name: &'static str,
    flag: UnshareFlags,
    link: &'static str,
    sysctl: &'static str,
}

const KINDS: [Kind; 6] = [
    Kind { name: "mount namespace", flag: UnshareFlags::NEWNS, link: "mnt", sysctl: "mnt" },
    Kind { name: "pid namespace", flag: UnshareFlags::NEWPID, link: "pid", sysctl: "pid" },
    Kind { name: "net namespace", flag: UnshareFlags::NEWNET, link: "net", sysctl: "net" },
    Kind { name: "ipc namespace", flag: UnshareFlags::NEWIPC, link: "ipc", sysctl: "ipc" },
    Kind { name: "uts namespace", flag: UnshareFlags::NEWUTS, link: "uts", sysctl: "uts" },
    Kind { name: "cgroup namespace", flag: UnshareFlags::NEWCGROUP, link: "cgroup", sysctl: "cgroup" },
];

/// Tries each kind of namespace in a child process.
pub(super) fn check(facts: &Facts) -> Vec<Check> {
    let user = in_child(|| become_session_user(facts));
    let reached = user.is_ok() || facts.root;
    let mut checks = vec![needed("user namespace", Topic::UserNamespace, facts, user)];
    for kind in &KINDS {
        checks.push(if reached {
            let tried = in_child(|| {
                enter_owner(facts)?;
                another(kind)
            });
            needed(kind.name, Topic::Namespace(kind.sysctl), facts, tried)
        } else {
            not_reached(kind.name, facts)
        });
    }
    checks.push(if reached {
        needed("loopback", Topic::Loopback, facts, in_child(|| loopback(facts)))
    } else {
        not_reached("loopback", facts)
    });
    checks
}

/// The check of a wall that cannot even be tried.
pub(super) fn not_reached(name: &str, facts: &Facts) -> Check {
    if facts.root {
        return Check::failure(name, "not tried: requires the namespaces", "fix the namespaces first");
    }
    let detail = "not tried: an ordinary user requires the user namespace for it";
    Check::failure(name, detail, "fix `user namespace` first")
}

/// Becomes the owner of a session's namespaces: root stays root, an ordinary user creates a user namespace.
pub(super) fn enter_owner(facts: &Facts) -> Result<(), Refusal> {
    if facts.root { Ok(()) } else { user_namespace() }
}

/// Becomes the user of a session's programs.
pub(super) fn become_session_user(facts: &Facts) -> Finding {
    let Some(host) = facts.session_uid else {
        user_namespace()?;
        return Ok("this user, mapped to 1000 inside".to_owned());
    };
    let (uid, gid) = (Uid::from_raw(host), Gid::from_raw(host));
    let what = format!("become host user {host}");
    rustix::thread::set_keep_capabilities(true).or_refused(&what)?;
    rustix::thread::set_thread_groups(&[]).or_refused(&what)?;
    rustix::thread::set_thread_res_gid(gid, gid, gid).or_refused(&what)?;
    rustix::thread::set_thread_res_uid(uid, uid, uid).or_refused(&what)?;
    let admin = CapabilitySet::SYS_ADMIN;
    let sets = CapabilitySets { effective: admin, permitted: admin, inheritable: CapabilitySet::empty() };
    rustix::thread::set_capabilities(None, sets).or_refused(&what)?;
    user_namespace()?;
    Ok("a dedicated host user, mapped to 1000 inside".to_owned())
}

fn user_namespace() -> Result<(), Refusal> {
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let before = link("user")?;
    unshare(UnshareFlags::NEWUSER).or_refused("create a user namespace")?;
    // A change of credentials makes a process non-dumpable, and then its maps belong to root.
    rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable).or_refused("own the maps")?;
    for (file, text) in [
        ("setgroups", "deny".to_owned()),
        ("uid_map", format!("{INSIDE_ID} {uid} 1")),
        ("gid_map", format!("{INSIDE_ID} {gid} 1")),
    ] {
        fs::write(format!("/proc/self/{file}"), text).or_refused(format_args!("write /proc/self/{file}"))?;
    }
    if link("user")? == before || rustix::process::geteuid().as_raw() != INSIDE_ID {
        return Err(Refusal::unexpected("the user namespace is not in force"));
    }
    Ok(())
}

fn another(kind: &Kind) -> Finding {
    if kind.flag == UnshareFlags::NEWPID {
        return pid(kind);
    }
    let before = link(kind.link)?;
    unshare(kind.flag).or_refused(format_args!("create a new {}", kind.name))?;
    if link(kind.link)? == before {
        return Err(Refusal::unexpected(format_args!("the new {} is the old one", kind.name)));
    }
    Ok("a new one for each session".to_owned())
}

/// A pid namespace has no link until it has a process.
fn pid(kind: &Kind) -> Finding {
    unshare(kind.flag).or_refused(format_args!("create a new {}", kind.name))?;
    continue_in_child()?;
    match std::process::id() {
        1 => Ok("a new one for each session".to_owned()),
        other => {
            Err(Refusal::unexpected(format_args!("the first process of a pid namespace has pid {other}")))
        }
    }
}

/// The identity of a namespace of this process.
fn link(name: &str) -> Result<String, Refusal> {
    let path = format!("/proc/self/ns/{name}");
    let target = fs::read_link(&path).or_refused(format_args!("read {path}"))?;
    Ok(target.to_string_lossy().into_owned())
}

/// Moves this process into new namespaces.
pub(super) fn unshare(flags: UnshareFlags) -> Result<(), rustix::io::Errno> {
    // SAFETY: trials run in a process that has one thread.
    unsafe { rustix::thread::unshare_unsafe(flags) }
}

/// A new network namespace has only a loopback device, which is down. Brings it up and connects over it.
fn loopback(facts: &Facts) -> Finding {
    enter_owner(facts)?;
    unshare(UnshareFlags::NEWNET).or_refused("create a net namespace")?;
    if TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|l| TcpStream::connect(l.local_addr()?)).is_ok() {
        return Err(Refusal::unexpected("a new network namespace has devices"));
    }
    bring_up()?;
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| TcpStream::connect(listener.local_addr()?))
        .or_refused("connect to 127.0.0.1 in a new network namespace")?;
    Ok("each session has its own, and no other device".to_owned())
}

fn bring_up() -> Result<(), Refusal> {
    let socket = rustix::net::socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)
        .or_refused("open a socket")?;
    // SAFETY: all-zero bytes are a valid `ifreq`.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(*b"lo") {
        *to = libc::c_char::from_ne_bytes([from]);
    }
    request.ifr_ifru.ifru_flags = libc::c_short::try_from(libc::IFF_UP | libc::IFF_RUNNING).unwrap_or(0);
    // SAFETY: `request` outlives the call, which reads an `ifreq` from it.
    match unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) } {
        0 => Ok(()),
        _ => Err(last_errno()).or_refused("bring up the loopback device"),
    }
}

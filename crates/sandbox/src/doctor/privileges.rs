//! Privileges and the seccomp filter.

use std::fs;

use rustix::io::Errno;
use rustix::thread::{CapabilitySet, CapabilitySets, UnshareFlags};

use super::Check;
use super::child::in_child;
use super::facts::{Facts, Topic, field};
use super::namespaces::{become_session_user, not_reached, unshare};
use super::refusal::{Finding, OrRefused, Refusal, last_errno, needed};
use crate::walls::seccomp;

/// Above every capability of any kernel.
const CAPABILITIES_END: libc::c_ulong = 64;

/// The request that fakes terminal input.
const TIOCSTI: libc::Ioctl = 0x5412;

/// Checks that privileges can be dropped and that the filter refuses calls.
pub(super) fn check(facts: &Facts) -> Vec<Check> {
    let name = "privileges";
    let privileges = if in_child(|| become_session_user(facts)).is_ok() {
        let tried = in_child(|| {
            become_session_user(facts)?;
            privileges()
        });
        needed(name, Topic::Privileges, facts, tried)
    } else {
        not_reached(name, facts)
    };
    vec![privileges, needed("seccomp", Topic::Filter, facts, in_child(filter))]
}

/// Drops all privileges and checks that they are gone.
fn privileges() -> Finding {
    for capability in 0..CAPABILITIES_END {
        // SAFETY: the call takes numbers only.
        if unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) } != 0 {
            match last_errno() {
                Errno::INVAL if capability > 0 => break,
                errno => return Err(errno).or_refused("empty the bounding set of capabilities"),
            }
        }
    }
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    rustix::thread::set_capabilities(None, sets).or_refused("drop capabilities")?;
    rustix::thread::set_no_new_privs(true).or_refused("forbid new privileges")?;
    let status = fs::read_to_string("/proc/self/status").or_refused("read /proc/self/status")?;
    match left(&status) {
        None => Ok("no capabilities, and no_new_privs".to_owned()),
        Some(left) => Err(Refusal::unexpected(format_args!("privileges are left: {left}"))),
    }
}

/// The first privilege that a process still has, from the text of its `/proc/*/status`.
pub(super) fn left(status: &str) -> Option<String> {
    let zero = |text: &str| text.bytes().all(|byte| byte == b'0');
    let sets = ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"];
    let set = sets.into_iter().find(|set| !field(status, set).is_some_and(zero));
    let line = set.or((field(status, "NoNewPrivs") != Some("1")).then_some("NoNewPrivs"));
    line.map(|line| format!("{line}: {}", field(status, line).unwrap_or("unknown")))
}

/// Installs the filter of sessions. The same call before shows that it is the filter that refuses it.
fn filter() -> Finding {
    let before = fake_input();
    rustix::thread::set_no_new_privs(true).or_refused("forbid new privileges")?;
    seccomp::load(&seccomp::program(1, crate::wire::KernelLimits::default()))
        .or_refused("install the seccomp filter")?;
    match (unshare(UnshareFlags::empty()), fake_input(), before) {
        (Err(Errno::PERM), Errno::PERM, Errno::BADF) => {
            Ok("the seccomp filter is in force: unshare and TIOCSTI are denied".to_owned())
        }
        other => Err(Refusal::unexpected(format_args!("the seccomp filter does not deny: {other:?}"))),
    }
}

/// The kernel's error for an attempt to fake input without a terminal.
fn fake_input() -> Errno {
    let byte = 0_u8;
    // SAFETY: the descriptor is invalid, so the kernel never uses the pointer, which is valid anyway.
    match unsafe { libc::ioctl(-1, TIOCSTI, &raw const byte) } {
        0 => Errno::IO,
        _ => last_errno(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLEAN: &str = "CapInh:\t0000000000000000\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n\
                         CapBnd:\t0000000000000000\nCapAmb:\t0000000000000000\nNoNewPrivs:\t1\n";

    #[test]
    fn whatever_privilege_is_left_is_named() {
        assert_eq!(left(CLEAN), None);
        assert_eq!(left(&CLEAN.replace("NoNewPrivs:\t1", "NoNewPrivs:\t0")).unwrap(), "NoNewPrivs: 0");
        let bounding = CLEAN.replace("CapBnd:\t0000000000000000", "CapBnd:\t0000000000200000");
        assert_eq!(left(&bounding).unwrap(), "CapBnd: 0000000000200000");
        assert_eq!(left("").unwrap(), "CapInh: unknown");
    }

    #[test]
    fn the_filter_of_sessions_is_really_in_force_in_a_child() {
        let found = in_child(filter).unwrap();
        assert!(found.contains("in force"), "{found}");
    }
}

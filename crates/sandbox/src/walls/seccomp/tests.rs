//! The compiled filter, compared with its lists and rules.

use libc::{EAFNOSUPPORT, ENOSYS, EPERM, EPROTONOSUPPORT, c_long};

use super::bpf::Answer::{self, Allow, Fail, Kill};
use super::machine::{Call, run};
use super::program;
use super::syscalls;
use crate::wire::KernelLimits;

const COOKIE: u64 = 0x0123_4567_89ab_cdef;

#[cfg(target_arch = "x86_64")]
const ARCH: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCH: u32 = 0xc000_00b7;

fn answer(number: c_long, arguments: [u64; 6]) -> u32 {
    let call = Call { number: u32::try_from(number).unwrap(), arch: ARCH, arguments };
    run(&program(COOKIE, KernelLimits { aio: true, ..KernelLimits::default() }), &call).0
}

#[track_caller]
fn assert_answer(number: c_long, arguments: &[u64], expected: Answer) {
    let mut all = [0; 6];
    all[..arguments.len()].copy_from_slice(arguments);
    assert_eq!(answer(number, all), expected.value(), "call {number} with {arguments:x?}");
}

/// Whether a rule checks the arguments of a call.
fn is_checked(number: c_long) -> bool {
    let others = [
        libc::SYS_clone,
        libc::SYS_socket,
        libc::SYS_socketpair,
        libc::SYS_ioctl,
        libc::SYS_fallocate,
        libc::SYS_personality,
        libc::SYS_prlimit64,
        libc::SYS_setrlimit,
        libc::SYS_setpriority,
        libc::SYS_ioprio_set,
    ];
    others.contains(&number) || syscalls::ON_A_PROCESS.contains(&number)
}

#[test]
fn every_number_gets_the_answer_of_its_list() {
    let end = c_long::try_from(syscalls::KNOWN_END).unwrap();
    for number in (0..1024).filter(|number| !is_checked(*number)) {
        let expected = if syscalls::absent().any(|n| n == number) || number >= end {
            Fail(ENOSYS)
        } else if syscalls::allowed().any(|n| n == number) {
            Allow
        } else if syscalls::unassigned().any(|n| n == number) {
            Fail(ENOSYS)
        } else {
            Fail(EPERM)
        };
        assert_answer(number, &[u64::MAX; 6], expected);
        assert_answer(number, &[], expected);
    }
}

#[test]
fn no_call_is_on_two_lists() {
    let mut all: Vec<c_long> =
        syscalls::allowed().chain(syscalls::absent()).chain(syscalls::ON_A_PROCESS).collect();
    assert!(!all.iter().any(|number| syscalls::unassigned().any(|n| n == *number)));
    let count = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), count);
}

#[test]
fn system_calls_that_would_break_a_wall_are_refused() {
    let refused = [
        libc::SYS_unshare,
        libc::SYS_setns,
        libc::SYS_mount,
        libc::SYS_umount2,
        libc::SYS_pivot_root,
        libc::SYS_chroot,
        libc::SYS_open_tree,
        libc::SYS_move_mount,
        libc::SYS_fsopen,
        libc::SYS_fsconfig,
        libc::SYS_fsmount,
        libc::SYS_fspick,
        libc::SYS_mount_setattr,
        libc::SYS_bpf,
        libc::SYS_perf_event_open,
        libc::SYS_userfaultfd,
        libc::SYS_io_uring_setup,
        libc::SYS_io_uring_enter,
        libc::SYS_io_uring_register,
        libc::SYS_keyctl,
        libc::SYS_add_key,
        libc::SYS_request_key,
        libc::SYS_kexec_load,
        libc::SYS_init_module,
        libc::SYS_finit_module,
        libc::SYS_delete_module,
        libc::SYS_swapon,
        libc::SYS_swapoff,
        libc::SYS_reboot,
        libc::SYS_open_by_handle_at,
        libc::SYS_name_to_handle_at,
        libc::SYS_quotactl,
        libc::SYS_acct,
        libc::SYS_syslog,
        libc::SYS_settimeofday,
        libc::SYS_clock_settime,
        libc::SYS_clock_adjtime,
        libc::SYS_adjtimex,
        libc::SYS_pidfd_getfd,
        libc::SYS_mq_open,
        libc::SYS_fanotify_init,
        libc::SYS_sethostname,
    ];
    for number in refused {
        assert_answer(number, &[], Fail(EPERM));
    }
    assert_answer(libc::SYS_clone3, &[], Fail(ENOSYS));
}

#[test]
fn another_architecture_ends_the_process_and_x32_does_not_exist() {
    let i386 = 0x4000_0003;
    let call = Call { number: 4, arch: i386, arguments: [0; 6] };
    assert_eq!(
        run(&program(COOKIE, KernelLimits { aio: true, ..KernelLimits::default() }), &call).0,
        Kill.value()
    );
    for number in [0x4000_0000, 0x4000_0001, 0x4000_0209, u32::MAX] {
        let call = Call { number, arch: ARCH, arguments: [0; 6] };
        assert_eq!(
            run(&program(COOKIE, KernelLimits { aio: true, ..KernelLimits::default() }), &call).0,
            Fail(ENOSYS).value()
        );
    }
}

#[test]
fn files_are_made_smaller_but_not_allocated_ahead() {
    const KEEP_SIZE: u64 = 1;
    const ZERO_RANGE: u64 = 0x10;
    const INSERT_RANGE: u64 = 0x20;
    const UNSHARE_RANGE: u64 = 0x40;
    for mode in [0, KEEP_SIZE, ZERO_RANGE, ZERO_RANGE | KEEP_SIZE, INSERT_RANGE, UNSHARE_RANGE] {
        assert_answer(libc::SYS_fallocate, &[3, mode, 0, 4096], Fail(libc::EOPNOTSUPP));
    }
    for mode in [0x2 | KEEP_SIZE, 0x8] {
        assert_answer(libc::SYS_fallocate, &[3, mode, 0, 4096], Allow);
    }
    for request in [0x4030_5828, 0x4030_582a, 0x4030_5839] {
        assert_answer(libc::SYS_ioctl, &[3, request], Fail(EPERM));
    }
    assert_answer(libc::SYS_ioctl, &[3, 0x4030_582b], Allow); // punches a hole
}

#[test]
fn clone_makes_processes_and_threads_but_no_namespace() {
    let thread = 0x003d_0f00;
    assert_answer(libc::SYS_clone, &[u64::from(libc::SIGCHLD.unsigned_abs())], Allow);
    assert_answer(libc::SYS_clone, &[thread], Allow);
    let namespaces = [
        libc::CLONE_NEWNS,
        libc::CLONE_NEWCGROUP,
        libc::CLONE_NEWUTS,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWNET,
    ];
    for flag in namespaces {
        assert_answer(libc::SYS_clone, &[u64::from(flag.unsigned_abs()) | thread], Fail(EPERM));
    }
}

#[test]
fn sockets_are_local_internet_or_questions_about_routes() {
    for (family, protocol, expected) in [
        (libc::AF_UNIX, 0, Allow),
        (libc::AF_INET, 0, Allow),
        (libc::AF_INET, libc::IPPROTO_TCP, Allow),
        (libc::AF_INET6, libc::IPPROTO_UDP, Allow),
        (libc::AF_INET, libc::IPPROTO_SCTP, Fail(EPROTONOSUPPORT)),
        (libc::AF_INET6, libc::IPPROTO_MPTCP, Fail(EPROTONOSUPPORT)),
        (libc::AF_NETLINK, libc::NETLINK_ROUTE, Allow),
        (libc::AF_NETLINK, libc::NETLINK_NETFILTER, Fail(EAFNOSUPPORT)),
        (libc::AF_NETLINK, libc::NETLINK_KOBJECT_UEVENT, Fail(EAFNOSUPPORT)),
        (libc::AF_VSOCK, 0, Fail(EAFNOSUPPORT)),
        (libc::AF_ALG, 0, Fail(EAFNOSUPPORT)),
        (libc::AF_PACKET, 0, Fail(EAFNOSUPPORT)),
        (libc::AF_BLUETOOTH, 0, Fail(EAFNOSUPPORT)),
    ] {
        let arguments = [family, libc::SOCK_DGRAM, protocol].map(|value| u64::from(value.unsigned_abs()));
        assert_answer(libc::SYS_socket, &arguments, expected);
        // The kernel takes an int: the upper half must not matter.
        let dirty = [arguments[0] | (7 << 32), arguments[1], arguments[2] | (9 << 32)];
        assert_answer(libc::SYS_socket, &dirty, expected);
    }
    assert_answer(libc::SYS_socketpair, &[1], Allow);
    assert_answer(libc::SYS_socketpair, &[40], Fail(EAFNOSUPPORT));
}

#[test]
fn terminal_input_cannot_be_faked_whatever_the_upper_half_says() {
    for request in [0x5412, 0x541c, 0x5423] {
        assert_answer(libc::SYS_ioctl, &[0, request], Fail(EPERM));
        assert_answer(libc::SYS_ioctl, &[0, request | (1 << 32)], Fail(EPERM));
    }
    assert_answer(libc::SYS_ioctl, &[0, 0x5401], Allow);
}

#[test]
fn only_harmless_personalities_pass() {
    for allowed in [0, 0xffff_ffff, 0x0004_0000] {
        assert_answer(libc::SYS_personality, &[allowed], Allow);
    }
    for refused in [8, 0x0040_0000, 0x0044_0000] {
        assert_answer(libc::SYS_personality, &[refused], Fail(EPERM));
    }
}

#[test]
fn the_tag_of_a_process_is_set_with_the_cookie_only() {
    let (tag, files, new) = (15, 7, 0x7fff_0000_1000);
    let call = libc::SYS_prlimit64;
    assert_answer(call, &[0, tag, new, 0, 0, COOKIE], Allow);
    assert_answer(call, &[77, tag, new, 0, 0, COOKIE], Allow);
    for wrong in [0, 1, u64::MAX, COOKIE ^ 1, COOKIE ^ (1 << 63), COOKIE & 0xffff_ffff, COOKIE << 32] {
        assert_answer(call, &[0, tag, new, 0, 0, wrong], Fail(EPERM));
    }
    assert_answer(call, &[0, tag | (1 << 32), new, 0, 0, 0], Fail(EPERM));
    assert_answer(call, &[0, files, new], Allow);
    // Only the upper half of the pointer set, and only the lower.
    assert_answer(call, &[0, tag, 1 << 40], Fail(EPERM));
    assert_answer(call, &[0, tag, 0x1000], Fail(EPERM));
    // Queries.
    assert_answer(call, &[0, tag, 0, new], Allow);
    assert_answer(call, &[1, files, 0, new], Allow);
    assert_answer(libc::SYS_setrlimit, &[tag, new], Fail(EPERM));
    assert_answer(libc::SYS_setrlimit, &[files, new], Allow);
}

#[test]
fn init_cannot_be_limited_starved_or_signalled() {
    assert_answer(libc::SYS_prlimit64, &[1, 7, 0x1000], Fail(EPERM));
    assert_answer(libc::SYS_prlimit64, &[1, 15, 0x1000, 0, 0, COOKIE], Fail(EPERM));
    for number in syscalls::ON_A_PROCESS {
        assert_answer(number, &[1], Fail(EPERM));
        assert_answer(number, &[1 | (5 << 32)], Fail(EPERM));
        assert_answer(number, &[2], Allow);
        assert_answer(number, &[0], Allow);
    }
    for (number, user) in [(libc::SYS_setpriority, 2), (libc::SYS_ioprio_set, 3)] {
        assert_answer(number, &[0, 1, 19], Fail(EPERM));
        assert_answer(number, &[1, 1, 19], Fail(EPERM));
        assert_answer(number, &[user, 0, 19], Fail(EPERM));
        assert_answer(number, &[user, 1000, 19], Fail(EPERM));
        assert_answer(number, &[0, 0, 19], Allow);
        assert_answer(number, &[1, 55, 19], Allow);
    }
}

#[test]
fn every_answer_is_found_within_a_few_steps() {
    let program = program(COOKIE, KernelLimits { aio: true, ..KernelLimits::default() });
    assert!(program.len() < 4096, "the kernel takes no longer filter: {}", program.len());
    for number in 0..1024 {
        let (_, steps) = run(&program, &Call { number, arch: ARCH, arguments: [3; 6] });
        assert!(steps <= 32, "call {number} takes {steps} steps");
    }
}

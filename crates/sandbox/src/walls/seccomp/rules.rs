//! Calls whose arguments decide, and the rule for every number.

use libc::{EAFNOSUPPORT, ENOMEM, ENOSYS, EOPNOTSUPP, EPERM, EPROTONOSUPPORT, c_long};

use super::bpf::Answer::{Allow, Fail};
use super::bpf::{Answer, Code, Test, offset};
use super::syscalls;
use crate::wire::KernelLimits;

/// What happens to one system call.
#[derive(Debug, Clone)]
pub(super) enum Rule {
    /// The same whatever its arguments are.
    Plain(Answer),
    /// These instructions decide; they end with an answer.
    Checked(Code),
}

impl Rule {
    /// Appends the instructions that answer.
    pub(super) fn emit(&self, code: &mut Code) {
        match self {
            Self::Plain(answer) => {
                code.answer(*answer);
            }
            Self::Checked(check) => code.append(check),
        }
    }
}

/// A new namespace by `clone` would give capabilities in it, and with them much more of the kernel.
const NAMESPACES: i32 = libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET;

/// Protocols of internet sockets; others would load rarely used code into the kernel.
const PROTOCOLS: [i32; 5] =
    [libc::IPPROTO_IP, libc::IPPROTO_ICMP, libc::IPPROTO_TCP, libc::IPPROTO_UDP, libc::IPPROTO_ICMPV6];

/// Fakes input of a terminal, steers a console, loads a line discipline; and, by their old names, the three requests to
/// allocate that `fallocate` is refused for (`FS_IOC_RESVSP`, `FS_IOC_RESVSP64`, `FS_IOC_ZERO_RANGE`).
const IOCTLS: [u32; 6] = [0x5412, 0x541c, 0x5423, 0x4030_5828, 0x4030_582a, 0x4030_5839];

/// What `fallocate` may do: punch a hole (and keep the size, as the kernel demands), and collapse a range. Allocating is
/// refused as on file systems that cannot do it, and libraries write instead: one call could take gigabytes in a
/// millisecond, faster than any measurement of a session's disk use.
const FALLOCATES: [u32; 2] = [0x3, 0x8];

/// Plain Linux, a question, and what debuggers ask for.
const PERSONALITIES: [u32; 3] = [0, 0xffff_ffff, 0x0004_0000];

/// `RLIMIT_RTTIME`: init's tag, see [`tag_cookie`](crate::walls::tag_cookie).
const TAG: u32 = 15;

/// init inside its own pid namespace. It has the same user as the programs, so that the kernel alone would let them.
const INIT: u32 = 1;

/// The rule for every number from 0 on.
pub(super) fn by_number(cookie: u64, kernel: KernelLimits) -> Vec<Rule> {
    let mut rules = vec![Rule::Plain(Fail(EPERM)); syscalls::KNOWN_END];
    let mut set = |number: c_long, rule: Rule| {
        if let Some(slot) = usize::try_from(number).ok().and_then(|index| rules.get_mut(index)) {
            *slot = rule;
        }
    };
    syscalls::unassigned().for_each(|number| set(number, Rule::Plain(Fail(ENOSYS))));
    syscalls::allowed().for_each(|number| set(number, Rule::Plain(Allow)));
    syscalls::absent().for_each(|number| set(number, Rule::Plain(Fail(ENOSYS))));
    if !kernel.aio {
        for number in syscalls::AIO {
            set(number, Rule::Plain(Fail(ENOSYS)));
        }
    }
    if !kernel.memory_is_counted {
        set(libc::SYS_memfd_create, Rule::Checked(only_with(cookie)));
        set(libc::SYS_shmget, Rule::Checked(small_segments()));
    }
    for (number, code) in checked(cookie) {
        set(number, Rule::Checked(code));
    }
    rules
}

fn checked(cookie: u64) -> Vec<(c_long, Code)> {
    let mut all = vec![
        (libc::SYS_clone, no_namespaces()),
        (libc::SYS_socket, socket()),
        (libc::SYS_socketpair, only_argument(0, &[bits(libc::AF_UNIX)], EAFNOSUPPORT)),
        (libc::SYS_ioctl, no_argument(1, &IOCTLS)),
        (libc::SYS_fallocate, only_argument(1, &FALLOCATES, EOPNOTSUPP)),
        (libc::SYS_personality, only_argument(0, &PERSONALITIES, EPERM)),
        (libc::SYS_prlimit64, prlimit(cookie)),
        (libc::SYS_setrlimit, no_argument(0, &[TAG])),
        (libc::SYS_setpriority, not_init_nor_all(bits(libc::PRIO_USER.cast_signed()))),
        (libc::SYS_ioprio_set, not_init_nor_all(IOPRIO_WHO_USER)),
    ];
    all.extend(syscalls::ON_A_PROCESS.map(|number| (number, no_argument(0, &[INIT]))));
    all
}

/// `ioprio_set` for all processes of a user, init among them.
const IOPRIO_WHO_USER: u32 = 3;

const fn bits(value: i32) -> u32 {
    value.cast_unsigned()
}

/// A System V segment of at most this size is allowed where nothing counts memory: 4096 of them, which is what the kernel
/// gives a session, are 256 MiB. What databases need to know of each other is a few bytes.
const SEGMENT_BYTES: u32 = 64 << 10;

fn small_segments() -> Code {
    let mut code = Code::default();
    code.load(offset::high(1)).skip_if(Test::Is, 0, 1).answer(Fail(ENOMEM));
    code.load(offset::low(1)).answer_if(Test::AtLeast, SEGMENT_BYTES + 1, Fail(ENOMEM)).answer(Allow);
    code
}

/// For init alone, which knows the cookie: others are told that there is no such call.
fn only_with(cookie: u64) -> Code {
    let halves = [cookie & 0xffff_ffff, cookie >> 32].map(|half| u32::try_from(half).unwrap_or(0));
    let mut code = Code::default();
    code.load(offset::low(5)).skip_if(Test::Is, halves[0], 1).answer(Fail(ENOSYS));
    code.load(offset::high(5)).answer_if(Test::Is, halves[1], Allow).answer(Fail(ENOSYS));
    code
}

fn no_namespaces() -> Code {
    let mut code = Code::default();
    code.load(offset::low(0)).answer_if(Test::AnyOf, bits(NAMESPACES), Fail(EPERM)).answer(Allow);
    code
}

/// Local, internet, and the questions about network devices that libraries ask over netlink.
fn socket() -> Code {
    let mut protocols = Code::default();
    protocols.load(offset::low(2));
    for protocol in PROTOCOLS {
        protocols.answer_if(Test::Is, bits(protocol), Allow);
    }
    protocols.answer(Fail(EPROTONOSUPPORT));
    let internet = u8::try_from(protocols.len()).unwrap_or(u8::MAX);

    let mut code = Code::default();
    code.load(offset::low(0));
    code.answer_if(Test::Is, bits(libc::AF_UNIX), Allow);
    code.skip_if(Test::Is, bits(libc::AF_INET), 1).skip_unless(Test::Is, bits(libc::AF_INET6), internet);
    code.append(&protocols);
    code.skip_unless(Test::Is, bits(libc::AF_NETLINK), 3);
    code.load(offset::low(2)).answer_if(Test::Is, bits(libc::NETLINK_ROUTE), Allow);
    code.answer(Fail(EAFNOSUPPORT));
    code
}

/// Allows these values of an argument's low half only.
fn only_argument(argument: u32, values: &[u32], errno: i32) -> Code {
    let mut code = Code::default();
    code.load(offset::low(argument));
    for value in values {
        code.answer_if(Test::Is, *value, Allow);
    }
    code.answer(Fail(errno));
    code
}

/// Allows all but these values of an argument's low half.
fn no_argument(argument: u32, values: &[u32]) -> Code {
    let mut code = Code::default();
    code.load(offset::low(argument));
    for value in values {
        code.answer_if(Test::Is, *value, Fail(EPERM));
    }
    code.answer(Allow);
    code
}

/// `(which, who, ...)`: neither init nor all processes of a user.
fn not_init_nor_all(which_user: u32) -> Code {
    let mut code = Code::default();
    code.load(offset::low(0)).answer_if(Test::Is, which_user, Fail(EPERM));
    code.load(offset::low(1)).answer_if(Test::Is, INIT, Fail(EPERM)).answer(Allow);
    code
}

/// Reading is free; init's limits and, without the cookie, anybody's tag are not to be set.
fn prlimit(cookie: u64) -> Code {
    let halves = [cookie & 0xffff_ffff, cookie >> 32].map(|half| u32::try_from(half).unwrap_or(0));
    let mut code = Code::default();
    // A null pointer to the new limit, in both halves, is a question.
    code.load(offset::low(2)).skip_unless(Test::Is, 0, 3);
    code.load(offset::high(2)).answer_if(Test::Is, 0, Allow);
    code.load(offset::low(0)).answer_if(Test::Is, INIT, Fail(EPERM));
    code.load(offset::low(1)).skip_if(Test::Is, TAG, 1).answer(Allow);
    code.load(offset::low(5)).skip_if(Test::Is, halves[0], 1).answer(Fail(EPERM));
    code.load(offset::high(5)).answer_if(Test::Is, halves[1], Allow).answer(Fail(EPERM));
    code
}

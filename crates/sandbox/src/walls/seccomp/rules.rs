//! Calls that depend on their arguments, and the rule for every call number.

use libc::{EAFNOSUPPORT, ENOMEM, ENOSYS, EOPNOTSUPP, EPERM, EPROTONOSUPPORT, c_long};

use super::bpf::Answer::{Allow, Fail};
use super::bpf::{Answer, Code, Test, offset};
use super::syscalls;
use crate::wire::KernelLimits;

/// The rule for one system call.
#[derive(Debug, Clone)]
pub(super) enum Rule {
    /// The same answer for all arguments.
    Plain(Answer),
    /// These instructions decide, and end with an answer.
    Checked(Code),
}

impl Rule {
    /// Appends the instructions of this rule.
    pub(super) fn emit(&self, code: &mut Code) {
        match self {
            Self::Plain(answer) => {
                code.answer(*answer);
            }
            Self::Checked(check) => code.append(check),
        }
    }
}

/// Namespace flags of `clone`: a new namespace would come with capabilities in it, and so with much more of
/// the kernel.
const NAMESPACES: i32 = libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET;

/// The allowed protocols of internet sockets; others would load rarely used code into the kernel.
const PROTOCOLS: [i32; 5] =
    [libc::IPPROTO_IP, libc::IPPROTO_ICMP, libc::IPPROTO_TCP, libc::IPPROTO_UDP, libc::IPPROTO_ICMPV6];

/// Requests that fake terminal input, control a console or load a line discipline; and the three older
/// requests that allocate space like `fallocate` (`FS_IOC_RESVSP`, `FS_IOC_RESVSP64`, `FS_IOC_ZERO_RANGE`).
const IOCTLS: [u32; 6] = [0x5412, 0x541c, 0x5423, 0x4030_5828, 0x4030_582a, 0x4030_5839];

/// The allowed modes of `fallocate`: punch a hole (and keep the size, as the kernel requires), and collapse a
/// range. Allocating fails as on file systems without support, and libraries write instead. One call could
/// allocate gigabytes in a millisecond, faster than the disk use of a session can be measured.
const FALLOCATES: [u32; 2] = [0x3, 0x8];

/// Allowed personalities: plain Linux, a query, and the one that debuggers set.
const PERSONALITIES: [u32; 3] = [0, 0xffff_ffff, 0x0004_0000];

/// `RLIMIT_RTTIME`, which holds init's tag; see [`tag_cookie`](crate::walls::tag_cookie).
const TAG: u32 = 15;

/// init's pid inside. It has the same user as the programs, so the kernel alone would not protect it.
const INIT: u32 = 1;

/// The rule for each call number, from 0.
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

/// `ioprio_set` for all processes of a user, init included.
const IOPRIO_WHO_USER: u32 = 3;

const fn bits(value: i32) -> u32 {
    value.cast_unsigned()
}

/// The largest System V segment that is allowed where nothing counts memory. A session can have 4096 of them,
/// which is 256 MiB. Databases need a few bytes for coordination.
const SEGMENT_BYTES: u32 = 64 << 10;

fn small_segments() -> Code {
    let mut code = Code::default();
    code.load(offset::high(1)).skip_if(Test::Is, 0, 1).answer(Fail(ENOMEM));
    code.load(offset::low(1)).answer_if(Test::AtLeast, SEGMENT_BYTES + 1, Fail(ENOMEM)).answer(Allow);
    code
}

/// Allowed only for init, which knows the cookie; for other processes it fails with `ENOSYS`.
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

/// Allowed sockets: local, internet, and netlink queries about network devices, which libraries make.
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

/// Allows only these values of an argument's low half.
fn only_argument(argument: u32, values: &[u32], errno: i32) -> Code {
    let mut code = Code::default();
    code.load(offset::low(argument));
    for value in values {
        code.answer_if(Test::Is, *value, Allow);
    }
    code.answer(Fail(errno));
    code
}

/// Allows all values of an argument's low half except these.
fn no_argument(argument: u32, values: &[u32]) -> Code {
    let mut code = Code::default();
    code.load(offset::low(argument));
    for value in values {
        code.answer_if(Test::Is, *value, Fail(EPERM));
    }
    code.answer(Allow);
    code
}

/// For `(which, who, ...)`: refuses init, and all processes of a user.
fn not_init_nor_all(which_user: u32) -> Code {
    let mut code = Code::default();
    code.load(offset::low(0)).answer_if(Test::Is, which_user, Fail(EPERM));
    code.load(offset::low(1)).answer_if(Test::Is, INIT, Fail(EPERM)).answer(Allow);
    code
}

/// Reading is allowed. Setting init's limits is not, nor, without the cookie, setting any tag.
fn prlimit(cookie: u64) -> Code {
    let halves = [cookie & 0xffff_ffff, cookie >> 32].map(|half| u32::try_from(half).unwrap_or(0));
    let mut code = Code::default();
    // A null pointer to the new limit, in both halves, is a query.
    code.load(offset::low(2)).skip_unless(Test::Is, 0, 3);
    code.load(offset::high(2)).answer_if(Test::Is, 0, Allow);
    code.load(offset::low(0)).answer_if(Test::Is, INIT, Fail(EPERM));
    code.load(offset::low(1)).skip_if(Test::Is, TAG, 1).answer(Allow);
    code.load(offset::low(5)).skip_if(Test::Is, halves[0], 1).answer(Fail(EPERM));
    code.load(offset::high(5)).answer_if(Test::Is, halves[1], Allow).answer(Fail(EPERM));
    code
}

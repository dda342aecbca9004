//! Processes outside: they can be neither seen, nor signalled, nor changed, even those of the same host user.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};
use headwater_tests::host;
use serde_json::json;

use crate::attack::{Attack, Brief, Evidence, attempt};
use crate::target::Side;

const CLASS: u32 = 1;

/// A process of the host with a secret in its environment and in its memory. Signals stay pending, so that the host
/// sees each that came.
const CANARY: &str = "
import ctypes, os, signal
secret = ctypes.create_string_buffer(os.environ['SECRET'].encode())
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
print(ctypes.addressof(secret), flush=True)
while True: signal.sigwait([signal.SIGPWR])
";

const SECRET: &str = "the-canary-sings";

fn canary(uid: u32) -> Result<(Child, u64)> {
    let mut command = Command::new("/usr/bin/python3");
    command.args(["-c", CANARY]).env("SECRET", SECRET).uid(uid).gid(uid).process_group(0);
    // Of another session would be more, but a process group is what `killpg` needs.
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let mut line = String::new();
    BufReader::new(child.stdout.take().context("its output")?).read_line(&mut line)?;
    Ok((child, line.trim().parse()?))
}

/// Whether a signal has come to the canary.
fn came(evidence: &Evidence<'_>, signal: u32) -> bool {
    let pending =
        ["SigPnd", "ShdPnd"].map(|field| host::status(evidence.number("pid"), field).unwrap_or_default());
    pending.iter().any(|bits| u64::from_str_radix(bits, 16).is_ok_and(|bits| bits >> (signal - 1) & 1 == 1))
}

fn knows_the_secret(evidence: &Evidence<'_>) -> bool {
    host::contains(&evidence.leak(), SECRET.as_bytes())
}

/// SIGHUP 1, SIGUSR1 10, SIGUSR2 12, SIGTERM 15, SIGCONT 18, SIGURG 23, SIGIO 29: one for each way.
const ATTACKS: [Attack; 10] = [
    Attack {
        name: "signals a process",
        control: Side::OpenOrdinary,
        probe: "os.kill(V['pid'], 15)",
        seen: |evidence| came(evidence, 15),
    },
    Attack {
        name: "signals a process group",
        control: Side::OpenOrdinary,
        probe: "os.killpg(V['pid'], 1)",
        seen: |evidence| came(evidence, 1),
    },
    Attack {
        name: "signals all processes of its user", // SIGURG, which nobody minds
        control: Side::OpenOrdinary,
        probe: "os.kill(-1, 23)",
        seen: |evidence| came(evidence, 23),
    },
    Attack {
        name: "signals by a descriptor of a process",
        control: Side::OpenOrdinary,
        probe: "signal.pidfd_send_signal(os.pidfd_open(V['pid']), 10)",
        seen: |evidence| came(evidence, 10),
    },
    Attack {
        name: "has the kernel signal for it",
        control: Side::OpenOrdinary,
        probe: "
import fcntl
a, b = socket.socketpair()
fcntl.fcntl(a, fcntl.F_SETOWN, V['pid'])
fcntl.fcntl(a, fcntl.F_SETFL, os.O_ASYNC)
b.send(b'x')",
        seen: |evidence| came(evidence, 29),
    },
    Attack {
        name: "traces a process",
        control: Side::OpenOrdinary,
        probe: "call(101, 0x4206, V['pid'], 0, 0)", // PTRACE_SEIZE
        seen: |evidence| host::status(evidence.number("pid"), "TracerPid").is_some_and(|pid| pid != "0"),
    },
    Attack {
        name: "reads the memory of a process",
        control: Side::OpenOrdinary,
        probe: "
found = ctypes.create_string_buffer(64)
local = ctypes.create_string_buffer(struct.pack('QQ', ctypes.addressof(found), 64))
remote = ctypes.create_string_buffer(struct.pack('QQ', V['address'], 64))
call(310, V['pid'], local, 1, remote, 1, 0)
leak(found.raw)",
        seen: knows_the_secret,
    },
    Attack {
        name: "reads /proc of other processes",
        control: Side::OpenOrdinary,
        probe: "
for pid in [p for p in os.listdir('/proc') if p.isdigit()] + [str(V['pid'])]:
    each([lambda: leak(open('/proc/%s/environ' % pid, 'rb').read())])",
        seen: knows_the_secret,
    },
    Attack {
        name: "limits a process",
        control: Side::OpenOrdinary,
        probe: "call(302, V['pid'], 7, ctypes.create_string_buffer(struct.pack('QQ', 77, 77)), 0)",
        seen: |evidence| {
            let limits =
                fs::read_to_string(format!("/proc/{}/limits", evidence.number("pid"))).unwrap_or_default();
            limits.lines().any(|line| line.starts_with("Max open files") && line.contains(" 77 "))
        },
    },
    Attack {
        name: "slows down all processes of its user",
        control: Side::OpenOrdinary,
        probe: "each([lambda: os.setpriority(os.PRIO_USER, 0, 3), lambda: os.setpriority(os.PRIO_PROCESS, V['pid'], 3)])",
        seen: |evidence| {
            let stat =
                fs::read_to_string(format!("/proc/{}/stat", evidence.number("pid"))).unwrap_or_default();
            stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(16).map(|nice| nice == "3"))
                == Some(true)
        },
    },
];

#[tokio::test]
async fn no_process_outside_is_seen_signalled_or_changed() -> Result<()> {
    attempt(CLASS, &ATTACKS, |_, uid| {
        let (mut child, address) = canary(uid)?;
        let values = json!({ "pid": child.id(), "address": address });
        let undo = move || {
            assert!(child.try_wait().is_ok_and(|ended| ended.is_none()), "the canary is dead");
            let _ = child.kill();
            let _ = child.wait();
        };
        Ok(Brief { values, undo: Box::new(undo) })
    })
    .await
}

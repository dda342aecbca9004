//! Lifetime: whatever a program does to outlive its end, nothing of it is left, and init goes on.

use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Result;
use headwater_protocol::{Children, ExecutionId, Limits, Reason, SessionId, StartSpec};
use headwater_tests::{Watcher, host};
use rustix::process::Signal;

use crate::target::{ENTRIES, Entry, Target, WALLED, with_argument};

const CLASS: u32 = 8;

/// What all tricks have in common: the last of them stays, deaf to SIGTERM.
const PRELUDE: &str = "
import ctypes, os, resource, signal, struct, subprocess, sys, time
C = ctypes.CDLL(None, use_errno=True)
def daemon():
    if os.fork(): return False
    os.setsid()
    if os.fork(): os._exit(0)
    return True
def stay():
    for number in (1, 2, 15): signal.signal(number, signal.SIG_IGN)
    while True: time.sleep(1000)
def quiet():
    for fd in range(0, 64):
        try: os.close(fd)
        except OSError: pass
";

/// A name, and what is done. Each ends with a process that stays.
const TRICKS: [(&str, &str); 9] = [
    (
        "a daemon by two forks, without descriptors",
        "if daemon(): quiet(); stay()\nprint('up', flush=True)\nstay()",
    ),
    ("deaf to SIGTERM", "print('up', flush=True)\nif daemon(): stay()\nstay()"),
    (
        "stopped",
        "if daemon(): os.kill(os.getpid(), signal.SIGSTOP)\nprint('up', flush=True)\nos.kill(os.getpid(), signal.SIGSTOP)",
    ),
    ("closed output", "print('up', flush=True)\nif daemon(): stay()\nquiet()\nstay()"),
    (
        "children that hold the pipes",
        "for _ in range(5):\n    if daemon(): stay()\nprint('up', flush=True)\nos._exit(0)",
    ),
    (
        "another tag",
        "
def tag(pid):
    limit = ctypes.create_string_buffer(struct.pack('QQ', 12345, 12345))
    for extra in (0, 1, -1, 2 ** 63 - 1):
        C.syscall(302, pid, 15, limit, None, ctypes.c_long(0), ctypes.c_long(extra))
    C.syscall(160, 15, limit)
    try: resource.setrlimit(15, (777, 777))
    except (OSError, ValueError): pass
tag(0)
if daemon():
    tag(0); tag(os.getpid()); quiet(); stay()
print('up', flush=True)
stay()",
    ),
    (
        "an end for init",
        "
limit = ctypes.create_string_buffer(struct.pack('QQ', 0, 0))
for number in range(1, 65):
    for pid in (1, -1):
        if pid == 1 or number in (18, 23, 28): # those that nobody minds, to all
            C.syscall(62, pid, number); C.syscall(200, pid, number); C.syscall(234, pid, pid, number)
for resource_number in range(16): C.syscall(302, 1, resource_number, limit, None)
try:
    fd = os.open('/proc/1', os.O_RDONLY)
    for number in (9, 19, 15, 6): C.syscall(424, fd, number, None, 0)
except OSError: pass
C.syscall(144, 1, 5, struct.pack('i', 0)); C.syscall(141, 0, 1, 19); C.syscall(251, 1, 1, 3 << 13)
if daemon(): quiet(); stay()
print('up', flush=True)
stay()",
    ),
    (
        "always on the run",
        "
if daemon():
    while True:
        try:
            if os.fork(): os._exit(0)
        except OSError: pass
print('up', flush=True)
stay()",
    ),
    (
        "other groups, sessions and parents",
        "
for _ in range(4):
    if os.fork() == 0:
        os.setsid()
        for _ in range(3):
            if os.fork() == 0: os.setpgid(0, 0); stay()
        stay()
C.prctl(36, 1, 0, 0, 0); C.prctl(1, 0, 0, 0, 0)
print('up', flush=True)
stay()",
    ),
];

fn code(trick: &str, token: &str) -> String {
    format!("{PRELUDE}{trick} # {token}")
}

fn token() -> String {
    format!("token-{}", ExecutionId::random())
}

#[tokio::test]
async fn a_timeout_ends_the_whole_tree_whatever_it_does() -> Result<()> {
    for side in WALLED {
        let target = Target::new(side, CLASS).await?;
        for (n, (name, trick)) in TRICKS.iter().enumerate() {
            let session = target.session(Limits { pids: Some(100), ..Limits::default() }).await?;
            let token = token();
            // The most important tricks are tried from every entry below.
            let mut spec = ENTRIES[n % 4].spec(&code(trick, &token));
            spec.grace_ms = Some(200);
            spec.children = Children::Kill;
            let watcher = up_in_time(&target, session, spec).await?;
            host::eventually(&format!("{side:?}: {name}: nothing is left"), async || {
                with_argument(&token).is_empty()
            })
            .await?;
            let seen = watcher.rest().await?;
            let ended = seen.verdict().reason;
            assert!(
                matches!(ended, Reason::TimedOut | Reason::Exited),
                "{side:?}: {name}: {:?}",
                seen.verdict()
            );
            let after = target.run(session, &StartSpec::shell("echo on")).await?;
            assert_eq!(after.text(), "on\n", "{side:?}: {name}: init goes on");
            target.end(session).await?;
        }
    }
    Ok(())
}

/// Starts a trick that its timeout ends after it has printed `up`: with a longer one if a busy machine needs it.
async fn up_in_time(target: &Target, session: SessionId, mut spec: StartSpec) -> Result<Watcher> {
    for timeout_ms in [1000, 5000] {
        spec.timeout_ms = Some(timeout_ms);
        let (_, mut watcher) = target.start(session, &spec).await?;
        if watcher.until_printed("up").await.is_ok() {
            return Ok(watcher);
        }
    }
    spec.timeout_ms = Some(25_000);
    let (_, mut watcher) = target.start(session, &spec).await?;
    watcher.until_printed("up").await?;
    Ok(watcher)
}

#[tokio::test]
async fn a_cancel_ends_daemons_and_deserters_from_every_entry() -> Result<()> {
    for side in WALLED {
        let target = Target::new(side, CLASS).await?;
        for trick in [TRICKS[0].1, TRICKS[2].1, TRICKS[5].1] {
            for entry in ENTRIES {
                let session = target.session(Limits::default()).await?;
                let token = token();
                let (id, mut watcher) = target.start(session, &entry.spec(&code(trick, &token))).await?;
                watcher.until_printed("up").await?;
                host::eventually("the control: they are there", async || with_argument(&token).len() > 1)
                    .await?;
                target.client.cancel(id, Some(Duration::from_millis(100))).await?;
                host::eventually("nothing is left", async || with_argument(&token).is_empty()).await?;
                assert_eq!(watcher.rest().await?.verdict().reason, Reason::Cancelled, "{side:?} {entry:?}");
                target.end(session).await?;
            }
        }
    }
    Ok(())
}

#[tokio::test]
async fn the_end_of_a_session_is_the_end_of_what_was_kept() -> Result<()> {
    for side in WALLED {
        let target = Target::new(side, CLASS).await?;
        let session = target.session(Limits::default()).await?;
        let token = token();
        for trick in [TRICKS[0].1, TRICKS[2].1, TRICKS[5].1, TRICKS[7].1] {
            let (_, mut watcher) = target.start(session, &Entry::Python.spec(&code(trick, &token))).await?;
            watcher.until_printed("up").await?;
        }
        assert!(with_argument(&token).len() >= 4);
        target.end(session).await?;
        host::eventually("nothing is left", async || with_argument(&token).is_empty()).await?;
    }
    Ok(())
}

#[tokio::test]
async fn on_the_bare_host_every_trick_outlives_its_program() -> Result<()> {
    // The control of all the above: what a plain kill of the program leaves behind.
    for (name, trick) in
        TRICKS.iter().filter(|trick| trick.0 != "an end for init" && trick.0 != "always on the run")
    {
        // A kill that comes before the trick is done shows nothing: it is tried again.
        host::eventually(&format!("{name} outlives its program"), async || {
            outlives(trick).await.is_ok_and(|outlives| outlives)
        })
        .await?;
    }
    Ok(())
}

/// Whether something of this trick is left after a kill of its program on the bare host.
async fn outlives(trick: &str) -> Result<bool> {
    let token = token();
    let mut child = Command::new("/usr/bin/python3");
    child.args(["-c", &code(trick, &token)]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = child.spawn()?;
    host::eventually("the trick is up", async || with_argument(&token).len() > 1).await?;
    child.kill()?;
    child.wait()?;
    let outlives = !with_argument(&token).is_empty();
    // What is left may still fork, so it is killed until nothing is left.
    host::eventually("the control is over", async || {
        let left = with_argument(&token);
        for pid in &left {
            let _ = host::signal(*pid, Signal::KILL);
        }
        left.is_empty()
    })
    .await?;
    Ok(outlives)
}

//! System calls that open large parts of the kernel, or ways around the filter.

use std::fs;
use std::process::Command;

use anyhow::Result;
use headwater_protocol::{Limits, StartSpec, TtySize};
use headwater_tests::host;
use serde_json::json;

use crate::attack::{Attack, Brief, Evidence, attempt, namespace};
use crate::target::{Entry, Side, Target, WALLED, compile};

const CLASS: u32 = 4;

/// Whether one of the attack's processes is in another namespace than its session's init.
fn in_another(evidence: &Evidence<'_>) -> bool {
    let kinds = ["user", "mnt", "net", "uts", "ipc", "cgroup", "pid"];
    kinds
        .iter()
        .any(|kind| evidence.pids.iter().any(|pid| namespace(*pid, kind) != namespace(evidence.init, kind)))
}

/// A key that everybody may see.
fn key_is_there(evidence: &Evidence<'_>) -> bool {
    fs::read_to_string("/proc/keys").is_ok_and(|keys| keys.contains(evidence.token))
}

const ATTACKS: [Attack; 13] = [
    Attack {
        name: "sets up an io_uring",
        control: Side::OpenRoot,
        probe: "call(425, 4, ctypes.create_string_buffer(256))",
        seen: |evidence| evidence.holds("io_uring"),
    },
    Attack {
        name: "handles page faults of the kernel's",
        control: Side::OpenRoot,
        probe: "each([lambda: call(323, 0), lambda: call(323, 1)])",
        seen: |evidence| evidence.holds("userfaultfd"),
    },
    Attack {
        name: "loads a map for bpf",
        control: Side::OpenRoot,
        probe: "call(321, 0, ctypes.create_string_buffer(struct.pack('IIII', 2, 4, 4, 1) + bytes(112)), 72)",
        seen: |evidence| evidence.holds("bpf"),
    },
    Attack {
        name: "counts events of the processor",
        control: Side::OpenRoot,
        probe: "call(298, ctypes.create_string_buffer(struct.pack('IIQ', 1, 112, 0) + bytes(200)), 0, -1, -1, 0)",
        seen: |evidence| evidence.holds("perf_event"),
    },
    Attack {
        name: "adds a key",
        control: Side::OpenRoot,
        probe: "
key = call(248, b'user', V['token'].encode(), b'x', 1, -2)
call(250, 5, key, 0x3f3f3f3f)",
        seen: key_is_there,
    },
    Attack {
        name: "traces init",
        control: Side::OpenRoot,
        probe: "call(101, 0x4206, INIT, 0, 0)",
        seen: |evidence| host::status(evidence.init, "TracerPid").is_some_and(|pid| pid != "0"),
    },
    Attack {
        name: "makes a user namespace by unshare",
        control: Side::OpenOrdinary,
        probe: "each([lambda f=f: call(272, f) for f in (0x10000000, 0x10020000, 0x50000000)])",
        seen: in_another,
    },
    Attack {
        name: "makes a user namespace by clone",
        control: Side::OpenOrdinary,
        probe: "
for flags in (0x10000011, 0x10020011):
    each([lambda: call(56, flags, 0, 0, 0, 0) or hold()])",
        seen: in_another,
    },
    Attack {
        name: "makes a user namespace by clone3",
        control: Side::OpenOrdinary,
        probe: "call(435, ctypes.create_string_buffer(struct.pack('QQQQQ', 0x10000000, 0, 0, 0, 17) + bytes(48)), 88) or hold()",
        seen: in_another,
    },
    Attack {
        name: "makes another namespace, with whatever capabilities it has",
        control: Side::OpenRoot,
        probe: "each([lambda f=f: call(272, f) for f in (0x20000, 0x40000000, 0x04000000, 0x08000000, 0x02000000)])",
        seen: in_another,
    },
    Attack {
        name: "changes the personality so that addresses can be guessed or chosen",
        control: Side::OpenRoot,
        probe: "each([lambda: call(135, 0x0400000), lambda: call(135, 0x0100000)])", // READ_IMPLIES_EXEC, MMAP_PAGE_ZERO
        seen: |evidence| {
            let read = |pid: &i32| fs::read_to_string(format!("/proc/{pid}/personality")).unwrap_or_default();
            evidence.pids.iter().any(|pid| !read(pid).trim().trim_matches('0').is_empty())
        },
    },
    Attack {
        name: "opens a message queue, which outlives its maker",
        control: Side::OpenRoot,
        probe: "call(240, V['token'].encode(), 0o102, 0o600, None); call(241, V['token'].encode())",
        seen: |evidence| evidence.holds(evidence.token),
    },
    Attack {
        name: "takes a descriptor out of another process",
        control: Side::OpenRoot,
        probe: "
target = os.fork()
if target == 0:
    C.prctl(15, b'target', 0, 0, 0)
    os.dup2(os.open('/dev/full', os.O_RDONLY), 9)
    hold()
while not os.path.exists('/proc/%d/fd/9' % target): time.sleep(0.01)
call(438, os.pidfd_open(target), 9, 0)",
        seen: |evidence| evidence.holds("/dev/full"),
    },
];

#[tokio::test]
async fn calls_that_open_the_kernel_are_refused() -> Result<()> {
    attempt(CLASS, &ATTACKS, |_, _| Ok(Brief::values(json!({})))).await
}

/// Makes a file named by its argument through a chosen way into the kernel.
const ENTRIES: &str = r#"
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <sys/syscall.h>
int main(int argc, char **argv) {
    /* The 32-bit way takes addresses of 32 bits only. */
    char *low = mmap((void *)0x10000000, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    strcpy(low, argv[2]);
    long done;
    if (argv[1][0] == '3')      /* creat is 8 there */
        __asm__ volatile("int $0x80" : "=a"(done) : "a"(8), "b"(low), "c"(0644) : "memory");
    else if (argv[1][0] == 'x') /* the same table, marked by a bit */
        done = syscall(SYS_creat | 0x40000000, low, 0644);
    else
        done = syscall(SYS_creat, low, 0644);
    return done < 0;
}
"#;

#[cfg(target_arch = "x86_64")]
#[tokio::test]
async fn the_32_bit_and_the_x32_way_into_the_kernel_are_closed() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let program = compile(folder.path(), "entries", ENTRIES)?;
    let outside = |way: &str, name: &str| {
        let ran = Command::new(&program).args([way, name]).current_dir(folder.path()).status();
        ran.is_ok() && folder.path().join(name).exists()
    };
    assert!(outside("6", "made64") && outside("3", "made32"), "the control: on the host these ways are open");
    for side in WALLED {
        let target = Target::new(side, CLASS).await?;
        let session = target.session(Limits::default()).await?;
        target.put(session, &program, "entries")?;
        let made = |name: &str| target.worker.workspace(session).join(name).exists();
        for (way, name, open) in [("6", "made64", true), ("3", "made32", false), ("x", "madex32", false)] {
            for tty in [None, Some(TtySize::default())] {
                let mut spec = StartSpec::argv(["./entries", way, name]);
                spec.tty = tty;
                target.run(session, &spec).await?;
                target.run(session, &StartSpec::shell(format!("./entries {way} {name}"))).await?;
                assert_eq!(made(name), open, "{side:?}: {name}");
            }
        }
    }
    Ok(())
}

/// Types a command into its own terminal, for the shell that reads there next.
const TYPE: &str = "
import fcntl, os, sys
for fd in (0, 1, 2, os.open('/dev/tty', os.O_RDWR)):
    for request in (0x5412, 0x5412 | 1 << 32):
        for byte in b'touch typed\\n':
            try: import ctypes; ctypes.CDLL(None).ioctl(fd, ctypes.c_ulong(request), ctypes.byref(ctypes.c_char(byte)))
            except Exception as error: print(error)
";

#[tokio::test]
async fn no_program_types_into_its_terminal() -> Result<()> {
    for (side, typed) in [(Side::OpenRoot, true), (Side::Root, false), (Side::Ordinary, false)] {
        let target = Target::new(side, CLASS).await?;
        let session = target.session(Limits::default()).await?;
        // What was typed is read, however long this takes; what was not is not waited for.
        let wait = if typed { 60 } else { 1 };
        let mut spec = StartSpec::code(
            "bash",
            format!(
                "stty -echo; /usr/bin/python3 -c \"$TYPE\"; read -r -t {wait} line; eval \"$line\"; echo read '{side:?}'"
            ),
        );
        spec.env.insert("TYPE".into(), TYPE.into());
        spec.tty = Some(TtySize::default());
        let seen = target.run(session, &spec).await?;
        assert!(seen.screen().contains("read"), "{}", seen.screen());
        assert_eq!(
            target.worker.workspace(session).join("typed").exists(),
            typed,
            "{side:?}: {}",
            seen.screen()
        );
    }
    Ok(())
}

#[tokio::test]
async fn common_calls_of_programs_are_allowed() -> Result<()> {
    for side in WALLED {
        let target = Target::new(side, CLASS).await?;
        let session = target.session(Limits::default()).await?;
        let code = "
import os, signal, subprocess, threading, socket, tempfile, multiprocessing
done = []
t = threading.Thread(target=lambda: done.append(1)); t.start(); t.join()
assert subprocess.check_output(['echo', 'x']) == b'x\\n'
a, b = socket.socketpair(); a.send(b'x')
assert b.recv(1) == b'x'
with tempfile.TemporaryFile() as f: f.write(b'x')
multiprocessing.Lock()
print('fine', *done)";
        let seen = target.run(session, &Entry::Python.spec(code)).await?;
        assert_eq!(seen.text(), "fine 1\n", "{side:?}: {}", seen.errors());
    }
    Ok(())
}

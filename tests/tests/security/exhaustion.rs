//! Exhaustion: an attacker gets what the session may have and no more, and the neighbour goes on being answered.

use std::fs;

use anyhow::Result;
use headwater_protocol::{ExecutionId, Limits, Reason};
use headwater_tests::{Collected, Watcher, host};

use crate::attack::descriptors;
use crate::target::{ENTRIES, Entry, Side, Target, WALLED, neighbour_is_answered, with_argument};

const CLASS: u32 = 9;

/// What there is of an attack while it stays.
struct Exhaustion {
    token: String,
    id: ExecutionId,
    watcher: Watcher,
}

impl Exhaustion {
    /// Starts the attack, which prints `full` when it can get no more; the neighbour is answered all the while.
    async fn start(target: &Target, limits: Limits, entry: Entry, code: &str) -> Result<Self> {
        let (attacker, neighbour) = (target.session(limits).await?, target.session(Limits::default()).await?);
        let token = format!("token-{}", ExecutionId::random());
        let code = format!(
            "import os, resource, signal, sys, threading, time\n{code}\nprint('fu' + 'll', flush=True)\nsignal.pause() # {token}"
        );
        let (id, mut watcher) = target.start(attacker, &entry.spec(&code)).await?;
        let (full, calm) =
            tokio::join!(watcher.until_printed("full"), neighbour_is_answered(target, neighbour));
        full?;
        calm?;
        neighbour_is_answered(target, neighbour).await?;
        Ok(Self { token, id, watcher })
    }

    fn processes(&self) -> Vec<i32> {
        with_argument(&self.token)
    }

    fn sum(&self, of: impl Fn(i32) -> usize) -> usize {
        self.processes().into_iter().map(of).sum()
    }

    async fn stop(self, target: &Target) -> Result<Collected> {
        target.client.cancel(self.id, Some(std::time::Duration::ZERO)).await?;
        let token = self.token;
        host::eventually("the attack is over", async || with_argument(&token).is_empty()).await?;
        self.watcher.rest().await
    }
}

fn threads(pid: i32) -> usize {
    host::status(pid, "Threads").and_then(|count| count.parse().ok()).unwrap_or(0)
}

const FORKS: &str = "
for _ in range(120):
    try:
        if os.fork() == 0: signal.pause()
    except OSError: break";

const THREADS: &str = "
for _ in range(120):
    try: threading.Thread(target=lambda: time.sleep(1000), daemon=True).start()
    except RuntimeError: break";

#[tokio::test]
async fn processes_and_threads_end_at_the_limit() -> Result<()> {
    for side in WALLED {
        let target = Target::new(side, CLASS).await?;
        for (pids, entries) in [(48, &ENTRIES[..]), (400, &ENTRIES[..1])] {
            for (entry, code) in entries.iter().flat_map(|entry| [(*entry, FORKS), (*entry, THREADS)]) {
                let limits = Limits { pids: Some(pids), ..Limits::default() };
                let attack = Exhaustion::start(&target, limits, entry, code).await?;
                let count = attack.sum(threads);
                if pids == 48 {
                    assert!((20..=48).contains(&count), "{side:?} {entry:?}: {count} tasks");
                } else {
                    assert!(count > 100, "the control: with more allowed there are more: {count}");
                }
                attack.stop(&target).await?;
            }
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_fork_bomb_is_ended_and_nobody_else_notices() -> Result<()> {
    let bomb = "
def bomb():
    while True:
        try: os.fork()
        except OSError: pass
        print('fu' + 'll', flush=True)
bomb()";
    for side in WALLED {
        let target = Target::new(side, CLASS).await?;
        for entry in ENTRIES {
            let limits = Limits { pids: Some(64), output_bytes: Some(1 << 16), ..Limits::default() };
            let attack = Exhaustion::start(&target, limits, entry, bomb).await?;
            let count = attack.processes().len();
            assert!((2..=64).contains(&count), "{side:?} {entry:?}: {count} processes");
            attack.stop(&target).await?;
        }
    }
    Ok(())
}

#[tokio::test]
async fn memory_ends_at_the_limit() -> Result<()> {
    for side in WALLED {
        let target = Target::new(side, CLASS).await?;
        let code =
            "import time\nkept = []\nfor _ in range(60):\n    kept.append(b'x' * (8 << 20))\nprint('all')";
        for entry in ENTRIES {
            for (limit, fits) in [(96_u64 << 20, false), (1 << 30, true)] {
                let limits = Limits { memory_bytes: Some(limit), ..Limits::default() };
                let (session, neighbour) =
                    (target.session(limits).await?, target.session(Limits::default()).await?);
                let spec = entry.spec(code);
                let (seen, calm) =
                    tokio::join!(target.run(session, &spec), neighbour_is_answered(&target, neighbour));
                let seen = seen?;
                calm?;
                let verdict = seen.verdict();
                let got = verdict.usage.max_rss_bytes;
                if fits {
                    assert!(verdict.code == Some(0) && got > 400 << 20, "the control: {verdict:?}");
                    continue;
                }
                assert!(
                    got < limit + (32 << 20) && verdict.code != Some(0),
                    "{side:?} {entry:?}: {verdict:?}"
                );
                // A shell continues when its child is ended, and without a cgroup the program gets an error.
                if side == Side::Root && entry != Entry::Shell {
                    assert_eq!(verdict.reason, Reason::Oom, "{entry:?}: {verdict:?}");
                }
            }
        }
    }
    Ok(())
}

#[tokio::test]
async fn the_private_folders_are_no_larger_than_documented() -> Result<()> {
    let code = "
for folder in ('/tmp', '/dev/shm'):
    fd = os.open(folder + '/file', os.O_CREAT | os.O_RDWR)
    at = 0
    while True:
        try: os.posix_fallocate(fd, at, 64 << 20); at += 64 << 20
        except OSError: break
    n = 0
    while True:
        try: os.symlink('x', folder + '/%d' % n); n += 1
        except OSError: break";
    for side in WALLED {
        let target = Target::new(side, CLASS).await?;
        // Memory enough that it is the folders' own limits that count.
        let limits = Limits { memory_bytes: Some(6 << 30), ..Limits::default() };
        let attack = Exhaustion::start(&target, limits, Entry::Python, code).await?;
        let pid = attack.processes()[0];
        for folder in ["tmp", "dev/shm"] {
            let place = format!("/proc/{pid}/root/{folder}");
            let size = std::os::unix::fs::MetadataExt::blocks(&fs::metadata(format!("{place}/file"))?) * 512;
            let count = fs::read_dir(&place)?.count();
            assert!((512 << 20..=1 << 30).contains(&size), "{side:?}: {folder} took {size} bytes");
            assert!((1000..=100_000).contains(&count), "{side:?}: {folder} took {count} files");
        }
        // The control: the file system of the host would have taken more.
        let host = rustix::fs::statvfs("/tmp")?;
        assert!(host.f_bavail * host.f_frsize > 1 << 30 && host.f_favail > 100_000);
        attack.stop(&target).await?;
    }
    Ok(())
}

#[tokio::test]
async fn shared_memory_counts_where_the_kernel_can_count_it() -> Result<()> {
    // Without a cgroup there is no limit on it but the size of the folders: said so, and so not tried.
    let target = Target::new(Side::Root, CLASS).await?;
    for (limit, fits) in [(64_u64 << 20, false), (1 << 30, true)] {
        for code in [
            "import mmap; m = mmap.mmap(-1, 300 << 20); [m.__setitem__(n, 1) for n in range(0, 300 << 20, 4096)]",
            "import os; fd = os.memfd_create('x'); [os.write(fd, bytes(1 << 20)) for _ in range(300)]",
            "f = open('/dev/shm/x', 'wb'); [f.write(bytes(1 << 20)) for _ in range(300)]",
            "f = open('/tmp/x', 'wb'); [f.write(bytes(1 << 20)) for _ in range(300)]",
        ] {
            let limits = Limits { memory_bytes: Some(limit), ..Limits::default() };
            let session = target.session(limits).await?;
            let seen = target.run(session, &Entry::Python.spec(code)).await?;
            let expected = if fits { Reason::Exited } else { Reason::Oom };
            assert_eq!(seen.verdict().reason, expected, "{limit}: {code}: {:?}", seen.verdict());
            target.end(session).await?;
        }
    }
    Ok(())
}

/// Fills the workspace, slowly enough to be caught. Many files: a single one ends at the limit by itself.
const FILL: &str = "
import os, time
for n in range(150):
    with open('big%d' % n, 'wb') as f: f.write(bytes(1 << 20))
    time.sleep(0.03)
";

const LITTER: &str = "
import os, time
for n in range(3000):
    os.mkdir('d%d' % n)
    time.sleep(0.002)
";

#[tokio::test]
async fn disk_and_inodes_end_at_the_limit() -> Result<()> {
    for side in WALLED {
        let target = Target::new(side, CLASS).await?;
        let neighbour = target.session(Limits::default()).await?;
        let small = Limits { disk_bytes: Some(16 << 20), inodes: Some(300), ..Limits::default() };
        for (entry, code) in
            [(Entry::Argv, FILL), (Entry::Shell, LITTER), (Entry::Python, LITTER), (Entry::Pty, FILL)]
        {
            let session = target.session(small.clone()).await?;
            let mut spec = entry.spec(&format!("{code}time.sleep(100)"));
            spec.grace_ms = Some(100);
            let (seen, calm) =
                tokio::join!(target.run(session, &spec), neighbour_is_answered(&target, neighbour));
            calm?;
            assert_eq!(seen?.verdict().reason, Reason::DiskLimit, "{side:?} {entry:?}");
            let count = fs::read_dir(target.worker.workspace(session))?.count();
            let most = if code == FILL { 150 } else { 3000 };
            assert!(count < most, "{side:?}: {count} files or folders");
        }
        for code in [FILL, LITTER] {
            let session = target.session(Limits::default()).await?;
            let seen = target.run(session, &Entry::Python.spec(code)).await?;
            assert_eq!(seen.verdict().code, Some(0), "the control: with more allowed it goes through");
        }
    }
    Ok(())
}

#[tokio::test]
async fn descriptors_end_at_the_limit() -> Result<()> {
    let code = "
kept = []
while len(kept) < 200:
    try: kept.append(os.open('/dev/null', os.O_RDONLY))
    except OSError: break
each = [lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))]
try: each[0]()
except (OSError, ValueError): pass
while len(kept) < 200:
    try: kept.append(os.open('/dev/null', os.O_RDONLY))
    except OSError: break";
    for side in WALLED {
        let target = Target::new(side, CLASS).await?;
        for entry in ENTRIES {
            for (open_files, least, most) in [(64, 60, 64), (1000, 200, 210)] {
                let limits = Limits { open_files: Some(open_files), ..Limits::default() };
                let attack = Exhaustion::start(&target, limits, entry, code).await?;
                let most_held =
                    attack.processes().into_iter().map(|pid| descriptors(pid).len()).max().unwrap_or(0);
                assert!(
                    (least..=most).contains(&most_held),
                    "{side:?} {entry:?}: {most_held} of {open_files}"
                );
                attack.stop(&target).await?;
            }
        }
    }
    Ok(())
}

#[tokio::test]
async fn spinning_processors_and_pipes_full_of_memory_do_not_stop_a_neighbour() -> Result<()> {
    let spin = "
for _ in range(8):
    if os.fork() == 0:
        while True: pass";
    let pipes = "
import fcntl
for _ in range(300):
    try:
        a, b = os.pipe()
        fcntl.fcntl(b, 1031, 1 << 20)
        os.set_blocking(b, False)
        while True: os.write(b, bytes(65536))
    except (BlockingIOError, PermissionError): pass
    except OSError: break";
    let watches = "
import ctypes, select
C = ctypes.CDLL(None)
kept = [select.epoll() for _ in range(100)]
for n in range(1000):
    if C.inotify_init() < 0: break";
    for side in WALLED {
        let target = Target::new(side, CLASS).await?;
        for (entry, code) in
            [(Entry::Argv, spin), (Entry::Shell, pipes), (Entry::Python, watches), (Entry::Pty, spin)]
        {
            let attack = Exhaustion::start(&target, Limits::default(), entry, code).await?;
            assert!(!attack.processes().is_empty(), "the control: the attack is on");
            attack.stop(&target).await?;
        }
    }
    Ok(())
}

#[tokio::test]
async fn processor_time_ends_at_the_limit() -> Result<()> {
    for side in WALLED {
        let target = Target::new(side, CLASS).await?;
        let session = target.session(Limits { cpu_ms: Some(1000), ..Limits::default() }).await?;
        for entry in ENTRIES {
            let code = "import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass";
            let seen = target.run(session, &entry.spec(code)).await?;
            assert!(seen.verdict().code != Some(0), "{side:?} {entry:?}: {:?}", seen.verdict());
            assert!(
                (900..4000).contains(&seen.verdict().usage.cpu_ms),
                "{side:?} {entry:?}: {:?}",
                seen.verdict()
            );
        }
        let seen = target.run(session, &Entry::Python.spec("sum(range(1000))")).await?;
        assert_eq!(seen.verdict().code, Some(0), "the control");
    }
    Ok(())
}

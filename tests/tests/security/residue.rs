//! Residue: a session finds nothing of one that was before it, even with the same host user; nor does the host.

use std::fs;
use std::process::Command;

use anyhow::Result;
use headwater_protocol::{ExecutionId, Limits, SessionSpec, StartSpec};
use headwater_tests::{Options, host};

use crate::target::{ENTRIES, Entry, Side, Target, WALLED, with_argument};

const CLASS: u32 = 11;

/// Leaves something everywhere a program can: files, shared memory, semaphores, queues, sockets, processes.
const LEAVE: &str = "
import ctypes, os, socket, time
C = ctypes.CDLL(None, use_errno=True)
for folder in ('/tmp', '/dev/shm', '/workspace', '/var/tmp'):
    open(folder + '/' + TOKEN, 'w').write(TOKEN)
for make in (lambda: C.shmget(KEY, 4096, 0o1666), lambda: C.semget(KEY, 1, 0o1666), lambda: C.msgget(KEY, 0o1666)):
    assert make() >= 0
s = socket.socket(socket.AF_UNIX); s.bind('\\0' + TOKEN); s.listen()
if os.fork() == 0:
    os.setsid()
    open('/workspace/up', 'w').close()
    time.sleep(1000)
while not os.path.exists('/workspace/up'): time.sleep(0.01)
print('left')
";

/// Looks for it, and writes down what it finds.
const LOOK: &str = "
import ctypes, os, socket
C = ctypes.CDLL(None, use_errno=True)
found = open('/workspace/found', 'a')
for folder in ('/tmp', '/dev/shm', '/workspace', '/var/tmp'):
    if os.path.exists(folder + '/' + TOKEN): found.write('file ')
for get in (lambda: C.shmget(KEY, 4096, 0o666), lambda: C.semget(KEY, 1, 0o666), lambda: C.msgget(KEY, 0o666)):
    if get() >= 0: found.write('ipc ')
try: socket.socket(socket.AF_UNIX).connect('\\0' + TOKEN); found.write('socket ')
except OSError: pass
for pid in os.listdir('/proc'):
    if pid.isdigit() and int(pid) != os.getpid():
        try:
            if TOKEN.encode() in open('/proc/%s/cmdline' % pid, 'rb').read() and pid != str(os.getppid()): found.write('process ')
        except OSError: pass
";

fn fill(code: &str, token: &str) -> String {
    format!("KEY = 0x4877{}\nTOKEN = '{token}'\n{code}", &token[token.len() - 4..])
}

/// Whether the host's own lists show a key.
fn ipc_of_the_host(token: &str) -> bool {
    let key =
        u32::from_str_radix(&format!("4877{}", &token[token.len() - 4..]), 16).expect("digits").to_string();
    ["shm", "sem", "msg"].iter().any(|kind| {
        let list = fs::read_to_string(format!("/proc/sysvipc/{kind}")).expect("a list");
        list.lines().any(|line| line.split_whitespace().next() == Some(&key))
    })
}

#[tokio::test]
async fn the_next_session_of_the_same_host_user_finds_nothing() -> Result<()> {
    for side in WALLED {
        // Without a pool the host user that is free again is taken at once.
        let target = Target::with(side, CLASS, Options { pool: Some(0), ..Options::default() }).await?;
        for entry in ENTRIES {
            let token = ExecutionId::random().to_string();
            let first = target.session(Limits::default()).await?;
            let uid = target.host_uid(first)?;
            let (_, mut watcher) = target.start(first, &entry.spec(&fill(LEAVE, &token))).await?;
            watcher.until_printed("left").await?;
            target.run(first, &Entry::Python.spec(&fill(LOOK, &token))).await?;
            let found = |session| fs::read_to_string(target.worker.workspace(session).join("found"));
            let seen = found(first)?;
            for what in ["file file file file", "ipc ipc ipc", "process"] {
                assert!(seen.contains(what), "the control: the same session finds it: {seen}");
            }
            assert!(!ipc_of_the_host(&token), "{side:?}: on the host");
            target.end(first).await?;

            let second = target.session(Limits::default()).await?;
            assert_eq!(target.host_uid(second)?, uid, "the control: the same host user");
            target.run(second, &Entry::Python.spec(&fill(LOOK, &token))).await?;
            assert_eq!(found(second)?, "", "{side:?} {entry:?}");
            target.end(second).await?;
            host::eventually("no process is left", async || with_argument(&token).is_empty()).await?;
        }
    }
    Ok(())
}

#[tokio::test]
async fn two_sessions_at_once_share_nothing_and_no_host_user() -> Result<()> {
    for side in WALLED {
        let target = Target::new(side, CLASS).await?;
        let (first, second) =
            (target.session(Limits::default()).await?, target.session(Limits::default()).await?);
        let token = ExecutionId::random().to_string();
        let (_, mut watcher) = target.start(first, &Entry::Python.spec(&fill(LEAVE, &token))).await?;
        watcher.until_printed("left").await?;
        target.run(second, &Entry::Shell.spec(&fill(LOOK, &token))).await?;
        assert_eq!(fs::read_to_string(target.worker.workspace(second).join("found"))?, "", "{side:?}");
        if side == Side::Root {
            assert_ne!(target.host_uid(first)?, target.host_uid(second)?);
        }
    }
    Ok(())
}

#[tokio::test]
async fn nothing_of_a_users_is_left_on_the_disk_when_its_session_has_ended() -> Result<()> {
    let target = Target::with(Side::Root, CLASS, Options { pool: Some(0), ..Options::default() }).await?;
    let session = target.session(Limits::default()).await?;
    let uid = target.host_uid(session)?.to_string();
    let owned = || {
        let found =
            Command::new("find").arg(target.worker.data()).args(["-uid", &uid]).output().expect("find runs");
        String::from_utf8_lossy(&found.stdout).into_owned()
    };
    for entry in ENTRIES {
        target
            .run(
                session,
                &entry.spec(
                    "import os; os.makedirs('a/b/c', exist_ok=True); open('a/f', 'w').close(); print('x')",
                ),
            )
            .await?;
    }
    assert!(owned().lines().count() >= 5, "the control: {}", owned());
    target.end(session).await?;
    assert_eq!(owned(), "");
    Ok(())
}

#[tokio::test]
async fn cgroups_mounts_and_inits_go_with_their_session() -> Result<()> {
    for side in WALLED {
        let target = Target::with(side, CLASS, Options { pool: Some(0), ..Options::default() }).await?;
        let session = target.session(Limits::default()).await?;
        let token = format!("token-{}", ExecutionId::random());
        let stay = format!("import signal; print('up', flush=True); signal.pause() # {token}");
        let (_, mut watcher) = target.start(session, &Entry::Python.spec(&stay)).await?;
        watcher.until_printed("up").await?;
        let init = host::init_of(with_argument(&token)[0])?;
        let cgroups = host::cgroups(target.worker.data(), session);
        assert_eq!(cgroups.is_empty(), side == Side::Ordinary, "the control: {cgroups:?}");
        target.end(session).await?;
        assert!(!host::is_alive(init) && with_argument(&token).is_empty(), "{side:?}");
        assert!(cgroups.iter().all(|folder| !folder.exists()), "{side:?}: {cgroups:?}");
        assert_eq!(host::mounts(target.worker.data()), Vec::<String>::new(), "{side:?}");
        let socket = target.worker.data().join("sessions").join(session.to_string()).join("init.sock");
        assert!(!socket.exists(), "{side:?}");
    }
    Ok(())
}

#[tokio::test]
async fn variables_and_input_of_one_session_are_not_in_the_next() -> Result<()> {
    for side in WALLED {
        let target = Target::new(side, CLASS).await?;
        let secret = ExecutionId::random().to_string();
        let spec =
            SessionSpec { env: [("SECRET".to_owned(), secret.clone())].into(), ..SessionSpec::default() };
        let first = target.client.create_session(None, &spec).await?.id;
        let mut input = StartSpec::shell("env; cat; history");
        input.stdin = headwater_protocol::Stdin::Given(secret.clone().into_bytes().into());
        let seen = target.run(first, &input).await?;
        assert_eq!(seen.text().matches(&secret).count(), 2, "the control: the first has both");
        for session in [target.session(Limits::default()).await?, target.session(Limits::default()).await?] {
            let look = "env; cat /proc/*/environ; cat /proc/1/environ; cat; ls -la / /tmp /workspace; ipcs";
            for spec in
                [StartSpec::shell(look), Entry::Pty.spec("import os; os.system('env; cat /proc/*/environ')")]
            {
                let seen = target.run(session, &spec).await?;
                assert!(
                    !format!("{}{}{}", seen.text(), seen.errors(), seen.screen()).contains(&secret),
                    "{side:?}"
                );
            }
        }
    }
    Ok(())
}

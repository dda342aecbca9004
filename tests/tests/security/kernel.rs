//! Resources of the kernel that all sessions of a host share: AIO contexts, terminals, inotify instances, and memory that
//! no resource limit counts.

use anyhow::{Context, Result, ensure};
use headwater_protocol::{Limits, SessionSpec};
use headwater_tests::Options;

use crate::target::{Entry, Side, Target, WALLED};

const CLASS: u32 = 18;

async fn target(side: Side, config: &str) -> Result<Target> {
    let config = Some(format!("pool = 1\n{config}"));
    Target::with(side, CLASS, Options { config, ..Options::default() }).await
}

async fn prints(target: &Target, code: &str) -> Result<String> {
    let session = target.session(Limits::default()).await?;
    Ok(target.run(session, &Entry::Argv.spec(code)).await?.text())
}

const AIO: &str = "
import ctypes
C = ctypes.CDLL(None, use_errno=True)
context = ctypes.c_ulong(0)
made = C.syscall(206, 1, ctypes.byref(context))
print('made' if made == 0 else ctypes.get_errno())";

#[tokio::test]
async fn no_session_takes_aio_contexts_of_the_host_unless_it_is_allowed() -> Result<()> {
    for side in WALLED {
        let said = prints(&target(side, "").await?, AIO).await?;
        ensure!(said.trim() == "38", "{side:?}: ENOSYS makes libraries fall back, not {said}");
        let said = prints(&target(side, "allow_aio = true\n").await?, AIO).await?;
        ensure!(said.trim() == "made", "the control, {side:?}: {said}");
    }
    Ok(())
}

const TERMINALS: &str = "
import os
count = 0
try:
    while count < 200: os.openpty(); count += 1
except OSError: pass
print(count)";

#[tokio::test]
async fn a_session_is_limited_in_terminals_and_leaves_the_rest_to_others() -> Result<()> {
    for side in WALLED {
        let said = prints(&target(side, "").await?, TERMINALS).await?;
        ensure!(said.trim() == "64", "{side:?}: {said}");
        let fewer = target(side, "[terminals]\nof_session = 8\n").await?;
        let said = prints(&fewer, TERMINALS).await?;
        ensure!(said.trim() == "8", "the control: the setting decides, {side:?}: {said}");
        // While one session holds all it may have, another gets a terminal.
        let session = fewer.session(Limits::default()).await?;
        let hold = format!("{TERMINALS}\nprint('ho' + 'ld', flush=True)\nimport signal; signal.pause()");
        let (_, mut holder) = fewer.start(session, &Entry::Argv.spec(&hold)).await?;
        holder.until_printed("hold").await?;
        let other = fewer.session(Limits::default()).await?;
        let seen = fewer.run(other, &Entry::Pty.spec("import os; print(os.isatty(0))")).await?;
        ensure!(seen.screen().contains("True"), "{side:?}: {}", seen.screen());
    }
    Ok(())
}

#[tokio::test]
async fn an_owner_at_its_terminal_limit_is_refused_and_others_are_not() -> Result<()> {
    let target = target(Side::Root, "[terminals]\nof_owner = 2\n").await?;
    let session_of = async |owner: &str| {
        let metadata = [("headwater.owner".to_owned(), owner.to_owned())].into();
        let spec = SessionSpec { metadata, ..SessionSpec::default() };
        target.client.create_session(None, &spec).await.map(|session| session.id)
    };
    let stay = Entry::Pty.spec("import signal; signal.pause()");
    let kept = target.client.start(session_of("ann").await?, None, &stay).await?;
    target.client.start(session_of("ann").await?, None, &stay).await?;
    let third = session_of("ann").await?;
    let refused = target.client.start(third, None, &stay).await.unwrap_err().to_string();
    ensure!(refused.contains("2 terminals of this owner"), "{refused}");
    let seen = target.run(third, &Entry::Argv.spec("print('without')")).await?;
    ensure!(seen.text().contains("without"), "the control: other executions are not meant");
    target.client.start(session_of("bob").await?, None, &stay).await?;
    target.client.cancel(kept.id, Some(std::time::Duration::ZERO)).await?;
    headwater_tests::host::eventually("the terminal comes back", async || {
        target.client.start(third, None, &stay).await.is_ok()
    })
    .await
}

const INSTANCES: &str = "
import ctypes, signal
C = ctypes.CDLL(None, use_errno=True)
count = 0
while count < 2000 and C.inotify_init1(0) >= 0: count += 1
print('errno', ctypes.get_errno() if count < 2000 else 0, flush=True)
print('fu' + 'll', flush=True)
signal.pause()";

#[tokio::test]
async fn watches_of_the_api_work_while_a_session_holds_every_inotify_instance_of_its_user() -> Result<()> {
    let target = target(Side::Ordinary, "").await?;
    let (attacker, watched) =
        (target.session(Limits::default()).await?, target.session(Limits::default()).await?);
    let (id, mut attack) = target.start(attacker, &Entry::Argv.spec(INSTANCES)).await?;
    attack.until_printed("full").await?;
    let said = attack.seen.text();
    ensure!(said.contains("errno 24"), "the control: the kernel gives no more: {said}");
    // More than once: what a watch had goes back to those that are kept.
    for round in 0..20 {
        let mut watch = target.client.watch_tree(watched, "".into(), true).await?;
        watch.next().await?.context("that the watch is ready")?;
        std::fs::write(target.worker.workspace(watched).join(format!("file{round}")), "x")?;
        let info = watch.next().await?.context("a change")?;
        ensure!(!info.changes.is_empty());
    }
    target.client.cancel(id, Some(std::time::Duration::ZERO)).await?;
    Ok(())
}

const MEMORY: &str = "
import ctypes, os
C = ctypes.CDLL(None, use_errno=True)
try: os.memfd_create('x'); print('memfd')
except OSError as error: print('no memfd', error.errno)
print('small', C.shmget(0, 4096, 0o1600) >= 0, 'large', C.shmget(0, 1 << 20, 0o1600) >= 0)";

#[tokio::test]
async fn memory_that_nothing_counts_is_refused_where_no_cgroup_counts_it() -> Result<()> {
    let said = prints(&target(Side::Ordinary, "").await?, MEMORY).await?;
    ensure!(said.contains("no memfd 38") && said.contains("small True large False"), "{said}");
    // The control: where a cgroup counts it, it works.
    let said = prints(&target(Side::Root, "").await?, MEMORY).await?;
    ensure!(said.starts_with("memfd") && said.contains("large True"), "{said}");
    // Input and long code still work: init makes its own files in memory.
    let ordinary = target(Side::Ordinary, "").await?;
    let session = ordinary.session(Limits::default()).await?;
    let mut spec = headwater_protocol::StartSpec::shell("cat");
    spec.stdin = headwater_protocol::Stdin::Given("typed".into());
    let seen = ordinary.run(session, &spec).await?;
    ensure!(seen.text().contains("typed"), "{}", seen.text());
    Ok(())
}

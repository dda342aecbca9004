//! The last output of a program arrives before its verdict, every time.

use anyhow::Result;
use headwater_contract::FollowOptions;
use headwater_protocol::{ExecutionId, Reason, StartSpec, TtySize};
use headwater_tests::{Options, TestWorker, collect};
use tokio::task::JoinSet;

/// Both print 5,000 bytes to stdout and 5 to stderr with one write each; then one leaves at once, the other is killed.
const LEAVES: &str = "printf '%05000d' 7; printf 'error' >&2; exit 3";
const IS_KILLED: &str = "printf '%05000d' 7; printf 'error' >&2; kill -9 $$";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_last_output_of_a_thousand_programs_arrives_before_their_verdict() -> Result<()> {
    let worker = TestWorker::with(Options { pool: Some(4), ..Options::default() }).await?;
    let client = worker.client().await?;
    let mut sessions = Vec::new();
    for _ in 0..4 {
        sessions.push(worker.session().await?);
    }
    let mut all = JoinSet::new();
    for lane in 0..8_usize {
        let (client, session) = (client.clone(), sessions[lane % 4]);
        all.spawn(async move {
            for n in 0..125 {
                let (killed, tty) = (n % 2 == 1, n % 5 == 4);
                let mut spec = StartSpec::shell(if killed { IS_KILLED } else { LEAVES });
                spec.tty = tty.then(TtySize::default);
                // Only until `exited`: what comes after the verdict does not count.
                let follower =
                    client.run(session, ExecutionId::random(), &spec, FollowOptions::default()).await?;
                let seen = collect(follower).await?;
                let printed = if tty { seen.screen() } else { seen.text() + &seen.errors() };
                anyhow::ensure!(
                    printed == format!("{:05000}error", 7),
                    "{lane}.{n}: {} bytes",
                    printed.len()
                );
                let verdict = seen.verdict();
                let end =
                    if killed { (Reason::Signalled, None, Some(9)) } else { (Reason::Exited, Some(3), None) };
                anyhow::ensure!(
                    (verdict.reason, verdict.code, verdict.signal) == end,
                    "{lane}.{n}: {verdict:?}"
                );
            }
            anyhow::Ok(())
        });
    }
    while let Some(lane) = all.join_next().await {
        lane??;
    }
    Ok(())
}

#[tokio::test]
async fn a_full_pipe_is_read_to_its_end_after_a_kill() -> Result<()> {
    let worker = crate::worker().await?;
    let session = worker.session().await?;
    let code = "$| = 1; for (1 .. 40) { syswrite STDOUT, 'x' x 25_000 } kill 9, $$";
    for _ in 0..20 {
        let seen = worker.run_in(session, &StartSpec::argv(["perl", "-e", code])).await?;
        assert_eq!((seen.stdout.len(), seen.verdict().signal), (1_000_000, Some(9)));
        assert_eq!(seen.verdict().stdout_bytes, 1_000_000);
    }
    Ok(())
}

#[tokio::test]
async fn a_child_that_makes_the_shared_pipe_nonblocking_does_not_hurt_the_next_writer() -> Result<()> {
    let worker = crate::worker().await?;
    let code = "use Fcntl; for (*STDOUT, *STDERR) { fcntl($_, F_SETFL, fcntl($_, F_GETFL, 0) | O_NONBLOCK) }";
    for writer in
        ["head -c 1000000 /dev/zero", "perl -e 'exit(syswrite(STDOUT, \"\\0\" x 1_000_000) != 1_000_000)'"]
    {
        let seen = worker.run(&StartSpec::shell(format!("perl -e '{code}'; {writer}"))).await?;
        assert_eq!((seen.stdout.len(), seen.verdict().code), (1_000_000, Some(0)), "{}", seen.errors());
    }
    Ok(())
}

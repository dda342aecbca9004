//! Output arrives: all of it, in order, by stream, while the program runs.

use anyhow::Result;
use headwater_contract::FollowOptions;
use headwater_protocol::{EventKind, ExecutionState, Reason, StartSpec, Stdin, Stream};
use headwater_tests::{Watcher, collect_until_closed};

use crate::worker;

#[tokio::test]
async fn a_quick_command_prints_and_exits() -> Result<()> {
    let worker = worker().await?;
    let seen = worker.run(&StartSpec::shell("echo \"Hello\"")).await?;
    assert_eq!(seen.text(), "Hello\n");
    assert_eq!((seen.verdict().reason, seen.verdict().code), (Reason::Exited, Some(0)));
    assert!(seen.closed);
    Ok(())
}

#[tokio::test]
async fn a_command_that_prints_nothing_starts_exits_and_closes() -> Result<()> {
    let worker = worker().await?;
    let seen = worker.run(&StartSpec::shell("exit 7")).await?;
    assert_eq!((seen.events, seen.started, seen.closed), (3, true, true));
    assert_eq!((seen.verdict().reason, seen.verdict().code), (Reason::Exited, Some(7)));
    Ok(())
}

#[tokio::test]
async fn standard_error_is_kept_apart() -> Result<()> {
    let worker = worker().await?;
    let seen = worker.run(&StartSpec::shell("ls /nonexistent_folder_12345")).await?;
    assert!(seen.stdout.is_empty());
    assert!(seen.errors().contains("/nonexistent_folder_12345"), "{}", seen.errors());
    assert_eq!(seen.verdict().code, Some(2));
    Ok(())
}

#[tokio::test]
async fn a_mix_of_both_streams_is_separated_and_counted() -> Result<()> {
    let worker = worker().await?;
    let seen = worker.run(&StartSpec::shell("echo one; echo two >&2; echo three; echo four >&2")).await?;
    assert_eq!((seen.text().as_str(), seen.errors().as_str()), ("one\nthree\n", "two\nfour\n"));
    let verdict = seen.verdict();
    assert_eq!((verdict.stdout_bytes, verdict.stderr_bytes, verdict.output_bytes), (10, 9, 0));
    Ok(())
}

#[tokio::test]
async fn output_of_a_long_command_arrives_in_steps() -> Result<()> {
    let worker = worker().await?;
    // Each line arrives while the program waits for the next input.
    let mut spec = StartSpec::shell("for i in 1 2 3; do echo $i; read x; done; echo end");
    spec.stdin = Stdin::Open;
    let id = worker.begin(&spec).await?;
    let client = worker.client().await?;
    let (mut stdin, mut text) = (client.stdin(id).await?, Vec::new());
    let mut follower = client.follow(id, collect_until_closed()).await?;
    while let Some(event) = follower.next().await? {
        let EventKind::Output { bytes, .. } = event.kind else { continue };
        text.push(String::from_utf8(bytes.to_vec())?);
        if text.len() < 4 {
            let state = client.execution(id).await?.state;
            assert!(matches!(state, ExecutionState::Running { .. }), "after {text:?}: {state:?}");
            stdin.write("\n".into()).await?;
        }
    }
    assert_eq!(text, ["1\n", "2\n", "3\n", "end\n"]);
    Ok(())
}

#[tokio::test]
async fn output_without_a_newline_comes_before_the_program_ends() -> Result<()> {
    let worker = worker().await?;
    let mut spec = StartSpec::shell("printf prompt:; read answer; echo got $answer");
    spec.stdin = Stdin::Open;
    let id = worker.begin(&spec).await?;
    let mut watcher = worker.watch(id).await?;
    watcher.until_printed("prompt:").await?;
    worker.client().await?.stdin(id).await?.write("it\n".into()).await?;
    assert_eq!(watcher.rest().await?.text(), "prompt:got it\n");
    Ok(())
}

#[tokio::test]
async fn merged_output_is_in_exact_order() -> Result<()> {
    let worker = worker().await?;
    let mut spec = StartSpec::shell("i=0; while [ $i -lt 500 ]; do echo o$i; echo e$i >&2; i=$((i+1)); done");
    spec.merge_output = true;
    let seen = worker.run(&spec).await?;
    let expected: String = (0..500).map(|i| format!("o{i}\ne{i}\n")).collect();
    assert_eq!(seen.screen(), expected);
    assert!(seen.stdout.is_empty() && seen.stderr.is_empty());
    assert_eq!(seen.verdict().output_bytes, expected.len() as u64);
    Ok(())
}

#[tokio::test]
async fn binary_output_is_exact_to_the_byte() -> Result<()> {
    let worker = worker().await?;
    let code = "binmode STDOUT; print pack('C*', 0..255) x 2000; print \"\\xff\\xfe\\x00\\r\\n\\xc3\"";
    let seen = worker.run(&StartSpec::argv(["perl", "-e", code])).await?;
    let mut expected: Vec<u8> = (0..=255).cycle().take(256 * 2000).collect();
    expected.extend_from_slice(b"\xff\xfe\x00\r\n\xc3");
    assert!(seen.stdout == expected, "{} bytes of {}", seen.stdout.len(), expected.len());
    Ok(())
}

#[tokio::test]
async fn streamed_and_stored_output_are_equal() -> Result<()> {
    let worker = worker().await?;
    let line = "for i in 1 2 3 4 5; do seq $((i*1000)); seq $((i*1000)) >&2; sleep 0.02; done";
    let id = worker.begin(&StartSpec::shell(line)).await?;
    let streamed = worker.read(id).await?;
    let again = worker.read(id).await?;
    assert_eq!((&streamed.stdout, &streamed.stderr), (&again.stdout, &again.stderr));
    let info = worker.client().await?.execution(id).await?;
    let folder = worker.data().join("sessions").join(info.session_id.to_string());
    let log = folder.join("executions").join(id.to_string());
    assert!(std::fs::read(log.join("stdout"))? == streamed.stdout, "the raw file differs");
    assert!(std::fs::read(log.join("stderr"))? == streamed.stderr, "the raw file differs");
    assert_eq!((info.stdout_bytes, info.last_seq), (streamed.stdout.len() as u64, streamed.last));
    assert_eq!(info.state.verdict(), Some(streamed.verdict()));
    Ok(())
}

#[tokio::test]
async fn a_client_that_goes_away_misses_nothing() -> Result<()> {
    let worker = worker().await?;
    let mut spec = StartSpec::shell("echo first; read go; echo second");
    spec.stdin = Stdin::Open;
    let id = worker.begin(&spec).await?;
    let mut watcher: Watcher = worker.watch(id).await?;
    watcher.until_printed("first").await?;
    drop(watcher);
    worker.client().await?.stdin(id).await?.write("go\n".into()).await?;
    let info = worker.client().await?.wait(id, headwater_tests::host::PATIENCE, true).await?;
    assert!(matches!(info.state, ExecutionState::Closed { .. }), "it runs to its end with nobody watching");
    assert_eq!(worker.read(id).await?.text(), "first\nsecond\n");
    Ok(())
}

#[tokio::test]
async fn a_program_that_closes_its_output_runs_on_and_its_end_is_seen() -> Result<()> {
    let worker = worker().await?;
    let line = "echo before; exec >&- 2>&-; sleep 0.3; echo lost; exit 5";
    let seen = worker.run(&StartSpec::shell(line)).await?;
    assert_eq!((seen.text().as_str(), seen.verdict().code), ("before\n", Some(5)));
    assert!(seen.verdict().duration_ms >= 300, "{:?}", seen.verdict());
    Ok(())
}

#[tokio::test]
async fn a_flood_on_one_stream_does_not_hold_up_the_other() -> Result<()> {
    let worker = worker().await?;
    for (line, stream) in [
        ("yes & sleep 0.1; echo word >&2; wait", Stream::Stderr),
        ("yes >&2 & sleep 0.1; echo word; wait", Stream::Stdout),
    ] {
        let mut spec = StartSpec::shell(line);
        spec.limits.output_bytes = Some(1 << 20);
        let id = worker.begin(&spec).await?;
        let client = worker.client().await?;
        let options = FollowOptions { streams: vec![stream], ..FollowOptions::default() };
        let mut follower = client.follow(id, options).await?;
        loop {
            match follower.next().await?.expect("it runs").kind {
                EventKind::Output { bytes, .. } => {
                    assert_eq!(&bytes[..], b"word\n");
                    break;
                }
                // It came, and the flood has pushed it out of what is kept before it was read: stated, not held up.
                EventKind::Gap { stream: of, from_byte, to_byte } => {
                    assert_eq!((of, from_byte, to_byte), (stream, 0, 5));
                    break;
                }
                _ => {}
            }
        }
        client.cancel(id, Some(std::time::Duration::ZERO)).await?;
    }
    Ok(())
}

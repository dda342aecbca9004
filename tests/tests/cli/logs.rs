//! `headwater logs`: what was printed, again, live, from any position.

use std::process::Stdio;

use anyhow::{Context, Result};

use crate::command::{Engine, answer, headwater, lines_of_json, objects, run, start, wait};
use crate::worker;

/// Runs a shell line in the background and waits until its log is closed; its id.
fn closed(worker: &impl Engine, line: &str) -> Result<String> {
    let id = answer(worker, &["run", "--detach", "--shell", line])?;
    anyhow::ensure!(run(worker, &["logs", "-f", &id])?.code == Some(0));
    Ok(id)
}

#[tokio::test]
async fn a_detached_execution_can_be_followed_from_the_beginning_to_its_end() -> Result<()> {
    let worker = worker().await?;
    let line = "echo one; echo two >&2; read line; echo $line";
    let id = answer(&worker, &["run", "--detach", "--stdin", "open", "--shell", line])?;
    let mut following = start(&worker, &["logs", "--follow", &id])?;
    following.stdout.until_printed("one\n")?;
    following.stderr.until_printed("two\n")?;
    assert_eq!(objects(&worker, &["ps", "--json"])?[0]["state"], "running");
    // Without -f: the output so far, at once.
    let now = run(&worker, &["logs", &id])?;
    assert_eq!((now.code, now.text().as_str(), now.errors().as_str()), (Some(0), "one\n", "two\n"));
    let mut attached = start(&worker, &["attach", &id])?;
    attached.write(b"three\n")?;
    let (attached, followed) = (attached.finish()?, following.finish()?);
    assert_eq!((attached.code, attached.text().as_str()), (Some(0), "one\nthree\n"));
    assert_eq!((followed.code, followed.text().as_str()), (Some(0), "one\nthree\n"));
    Ok(())
}

#[tokio::test]
async fn resuming_after_a_seq_returns_exactly_the_rest() -> Result<()> {
    let worker = worker().await?;
    let id = closed(&worker, "for i in $(seq 20); do echo line $i; sleep 0.01; done; echo e >&2")?;
    // Followed live, events are small: one for each line at best.
    let all = answer(&worker, &["logs", &id])? + "\n";
    let expected: String = (1..=20).map(|i| format!("line {i}\n")).collect();
    assert_eq!(all, expected);
    let last =
        objects(&worker, &["ps", "--all", "--json"])?[0]["last_seq"].as_u64().context("no last_seq")?;
    for after in 0..=last {
        let after = after.to_string();
        let rest = run(&worker, &["logs", "--after", &after, &id])?;
        assert!(expected.ends_with(&rest.text()), "after {after}: {}", rest.text());
        let events = lines_of_json(&run(&worker, &["logs", "--json", "--after", &after, &id])?.stdout)?;
        assert!(events.iter().all(|event| event["seq"].as_u64() > after.parse().ok()), "{events:?}");
        let text: String =
            events.iter().filter(|e| e["type"] == "stdout").filter_map(|e| e["text"].as_str()).collect();
        assert_eq!(text, rest.text());
    }
    assert_eq!(
        run(&worker, &["logs", "--after", "1", &id])?.text(),
        expected,
        "after `started` all is to come"
    );
    Ok(())
}

#[tokio::test]
async fn one_stream_can_be_asked_for() -> Result<()> {
    let worker = worker().await?;
    let id = closed(&worker, "echo out; echo err >&2")?;
    for (stream, out, err) in [("stdout", "out\n", ""), ("stderr", "", "err\n"), ("output", "", "")] {
        let done = run(&worker, &["logs", "--stream", stream, &id])?;
        assert_eq!((done.text().as_str(), done.errors().as_str()), (out, err), "{stream}");
    }
    let both = run(&worker, &["logs", "--stream", "stdout", "--stream", "stderr", &id])?;
    assert_eq!((both.text().as_str(), both.errors().as_str()), ("out\n", "err\n"));
    Ok(())
}

#[tokio::test]
async fn a_tail_is_as_long_as_it_was_asked_for_and_states_the_rest() -> Result<()> {
    let worker = worker().await?;
    let id = closed(&worker, "seq 200000")?;
    let all: String = (1..=200_000).map(|n| format!("{n}\n")).collect();
    for (tail, bytes) in [("40", 40), ("4Ki", 4096), ("0", 0), ("10Mi", all.len())] {
        let done = run(&worker, &["logs", "--tail", tail, &id])?;
        assert_eq!(done.errors(), "", "{tail}");
        assert!(done.text() == all[all.len() - bytes..], "{tail}: {} bytes", done.stdout.len());
    }
    let events = objects(&worker, &["logs", "--tail", "40", "--json", &id])?;
    let gap = events.iter().find(|event| event["type"] == "gap").context("no gap")?;
    assert_eq!((&gap["from_byte"], &gap["to_byte"]), (&0.into(), &(all.len() - 40).into()));
    // The chunk that was cut is whole without a tail, and it is the last one.
    let chunk = events.iter().find(|event| event["type"] == "stdout").context("no output")?;
    assert_eq!(chunk["text"], all[all.len() - 40..]);
    assert_eq!(run(&worker, &["logs", "--after", &chunk["seq"].to_string(), &id])?.text(), "");
    let whole = run(&worker, &["logs", "--after", &gap["seq"].to_string(), &id])?.text();
    assert!(whole.len() >= 40 && all.ends_with(&whole));
    Ok(())
}

#[tokio::test]
async fn a_reader_that_began_with_a_tail_misses_no_later_output() -> Result<()> {
    let worker = worker().await?;
    let line = "echo before; read line; seq 300000";
    let id = answer(&worker, &["run", "--detach", "--stdin", "open", "--shell", line])?;
    let mut attached = start(&worker, &["attach", &id])?;
    attached.stdout.until_printed("before\n")?;
    // A tail of what is in the log by now.
    let mut following = start(&worker, &["logs", "-f", "--tail", "4", &id])?;
    following.stdout.until_printed("ore\n")?;
    attached.write(b"\n")?;
    let all: String = (1..=300_000).map(|n| format!("{n}\n")).collect();
    for (done, began) in [(attached.finish()?, "before\n"), (following.finish()?, "ore\n")] {
        assert_eq!((done.code, done.errors().as_str()), (Some(0), ""));
        assert!(done.text() == format!("{began}{all}"), "{} bytes after {began}", done.stdout.len());
    }
    Ok(())
}

#[tokio::test]
async fn a_log_past_its_limit_states_what_is_missing() -> Result<()> {
    let worker = worker().await?;
    let words = ["run", "--detach", "--output-limit", "256Ki", "--shell", "seq 200000"];
    let id = answer(&worker, &words)?;
    // A fast follower has seen all before it was dropped; a later reader has not.
    let done = run(&worker, &["logs", "-f", &id])?;
    let done = if done.stderr.is_empty() { run(&worker, &["logs", &id])? } else { done };
    assert!(done.errors().contains("of stdout are missing (bytes "), "{}", done.errors());
    assert!(done.text().starts_with("1\n2\n3\n") && done.text().ends_with("\n199999\n200000\n"));
    Ok(())
}

#[tokio::test]
async fn a_reader_that_leaves_early_is_not_an_error() -> Result<()> {
    let worker = worker().await?;
    let id = closed(&worker, "seq 1000000")?;
    for words in
        [&["logs", &id][..], &["logs", "--json", &id], &["ps", "--all"], &["sessions", "list", "--all"]]
    {
        let mut command = headwater(&worker, words);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        drop(child.stdout.take());
        let errors = crate::command::Stream::new(child.stderr.take().context("no stderr")?);
        assert_eq!(wait(&mut child)?.code(), Some(0), "{words:?}");
        assert_eq!(String::from_utf8(errors.rest()?)?, "", "{words:?}");
    }
    Ok(())
}

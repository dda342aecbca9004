//! Output: nothing is drained, lost or capped, and what is cut can be read.

use anyhow::Result;
use headwater_tests::host::eventually;
use headwater_tools::Progress;
use serde_json::json;
use tokio::sync::watch;

use crate::{Desk, request};

/// Everything that `read_output` returns, page by page.
async fn read_all(desk: &Desk, number: u64, mut after: u64, max_bytes: u64) -> Result<String> {
    let (mut all, mut skip) = (String::new(), 0);
    loop {
        let asked =
            json!({"session_id": number, "after_seq": after, "skip_bytes": skip, "max_bytes": max_bytes});
        let page = desk.call("read_output", asked).await?;
        let text = page.text();
        all.push_str(&text[..text.rfind('[').unwrap_or(text.len())]);
        if page.json()["more"] == false {
            return Ok(all);
        }
        (after, skip) =
            (page.json()["after_seq"].as_u64().unwrap(), page.json()["skip_bytes"].as_u64().unwrap());
    }
}

#[tokio::test]
async fn output_beyond_a_mebibyte_is_cut_with_exact_counts_and_can_be_read_whole() -> Result<()> {
    let desk = Desk::new().await?;
    let expected: String = (1..=300_000).map(|n| format!("{n}\n")).collect();
    let started = desk.begin("echo up; read x; seq 1 300000").await?;
    desk.client.stdin(started.execution()).await?.write("\n".into()).await?;
    let reply = desk.rest(started.number()?).await?;
    let tokens = expected.len().div_ceil(4);
    assert_eq!(reply.json()["original_token_count"], tokens);
    let output = reply.output();
    let warning = format!(
        "Warning: truncated output (original token count: {tokens})\nTotal output lines: 300000\n\n1\n2\n"
    );
    assert!(output.starts_with(&warning), "{}", &output[..200]);
    let (head, tail) = output.split_once(" tokens truncated…").expect("a marker");
    assert!(head.contains("…") && tail.contains("\n300000\n[left out: "), "{}", &tail[tail.len() - 300..]);
    let (number, after) = (reply.number_after("session_id ")?, reply.number_after("after_seq ")?);
    assert!(after > 0, "the position is in the middle");
    let rest = read_all(&desk, number, after, 100_000).await?;
    assert!(expected.ends_with(&rest) && rest.len() > expected.len() / 2, "{} bytes", rest.len());
    let shown = head.rsplit_once('…').expect("the marker").0.len() - warning.len();
    assert!(rest.len() + shown + warning.len() > expected.len(), "the page begins before the cut");
    assert!(read_all(&desk, number, 0, 1 << 20).await? == format!("up\n{expected}"), "the whole output");
    Ok(())
}

#[tokio::test]
async fn output_that_is_not_read_between_calls_is_kept_whole() -> Result<()> {
    let desk = Desk::new().await?;
    let first = desk.begin("echo up; read x; seq 1 200000; echo done").await?;
    let number = first.number()?;
    let asked = json!({"session_id": number, "chars": "\n", "yield_time_ms": 250, "max_output_tokens": 0});
    let second = desk.call("write_stdin", asked).await?;
    // The end, and not a match: the second result may have had the last line already.
    let last = json!({"session_ids": [number], "max_output_tokens": 1_000_000});
    let third = desk.call("wait", last).await?;
    let expected: String = (1..=200_000).map(|n| format!("{n}\n")).collect();
    let tokens = |reply: &crate::Reply| reply.json()["original_token_count"].as_u64().unwrap();
    if tokens(&second) == 0 {
        assert_eq!(third.printed(), format!("{expected}done\n"));
    } else {
        assert!(tokens(&second) + tokens(&third) >= (expected.len() as u64 + 5) / 4);
    }
    assert!(read_all(&desk, number, 0, 1 << 20).await? == format!("up\n{expected}done\n"));
    Ok(())
}

#[tokio::test]
async fn a_character_that_a_poll_cuts_stays_whole() -> Result<()> {
    let desk = Desk::new().await?;
    let cmd = r"printf 'up\303'; read x; printf '\251 \360\237'; read x; printf '\231\202\n'";
    let first = desk.begin(cmd).await?;
    assert_eq!(first.printed(), "up\n", "the note begins a line");
    let number = first.number()?;
    let poll = json!({"session_id": number, "chars": "\n", "yield_time_ms": 250});
    let mut seen = desk.call("write_stdin", poll.clone()).await?.printed().to_owned();
    while !seen.contains(' ') {
        seen.push_str(desk.call("write_stdin", json!({"session_id": number})).await?.printed());
    }
    assert_eq!(seen, "é ");
    desk.call("write_stdin", poll).await.map(|reply| seen.push_str(reply.printed()))?;
    seen.push_str(desk.rest(number).await.map(|reply| reply.printed().to_owned())?.as_str());
    assert!(seen.starts_with("é 🙂\n") && !seen.contains('\u{fffd}'), "{seen:?}");
    Ok(())
}

#[tokio::test]
async fn an_ended_command_can_be_polled_again_and_again() -> Result<()> {
    let desk = Desk::new().await?;
    let number = desk.begin("echo up; sleep 0.1; echo last; exit 7").await?.number()?;
    let first = desk.rest(number).await?;
    assert_eq!((first.exit_code(), first.printed()), (Some(7), "last\n"));
    for tool in ["write_stdin", "wait", "write_stdin"] {
        let arguments =
            if tool == "wait" { json!({"session_ids": [number]}) } else { json!({"session_id": number}) };
        let again = desk.call(tool, arguments).await?;
        assert_eq!(again.exit_code(), Some(7));
        let place =
            format!("no new output; read_output with session_id {number} reads all of its output again");
        assert!(again.output().contains(&place), "{}", again.text());
    }
    assert_eq!(read_all(&desk, number, 0, 1000).await?, "up\nlast\n");
    Ok(())
}

#[tokio::test]
async fn read_output_does_not_move_what_a_poll_returns() -> Result<()> {
    let desk = Desk::new().await?;
    let started = desk.begin("echo up; read x; echo one; read x").await?;
    let (number, id) = (started.number()?, started.execution());
    desk.client.stdin(id).await?.write("\n".into()).await?;
    eventually("it has printed", async || {
        desk.client.execution(id).await.is_ok_and(|execution| execution.output_bytes == 7)
    })
    .await?;
    for _ in 0..2 {
        assert_eq!(read_all(&desk, number, 0, 1000).await?, "up\none\n");
    }
    let polled = desk
        .call("write_stdin", json!({"session_id": number, "chars": "\n", "yield_time_ms": 30_000}))
        .await?;
    assert_eq!((polled.exit_code(), polled.printed()), (Some(0), "one\n"), "{}", polled.text());
    let last = desk.call("read_output", json!({"session_id": number})).await?;
    assert!(last.text().ends_with("[end of the output; exited with code 0]"), "{}", last.text());
    Ok(())
}

#[tokio::test]
async fn read_output_selects_streams_and_lines_and_refuses_what_does_not_exist() -> Result<()> {
    let desk = Desk::new().await?;
    let command = "seq 1 1000; echo error one >&2; echo fine; echo error two >&2";
    let reply = desk.call("shell_command", json!({"command": command})).await?;
    let number = reply.json()["session_id"].as_u64().unwrap();
    let read = async |arguments: serde_json::Value| {
        let mut all = json!({"session_id": number});
        all.as_object_mut().unwrap().extend(arguments.as_object().unwrap().clone());
        Ok::<_, anyhow::Error>(desk.call("read_output", all).await?.text().to_owned())
    };
    let errors = read(json!({"stream": "stderr"})).await?;
    assert_eq!(errors, "error one\nerror two\n[end of the output; exited with code 0]");
    let found = read(json!({"grep": "^99|two$"})).await?;
    assert!(found.starts_with("99\n990\n"), "{found}");
    assert!(found.contains("error two\n") && found.contains("[12 of 1003 lines match]"), "{found}");
    let error = desk.refused("read_output", json!({"session_id": number, "after_seq": 999_999})).await?;
    assert!(error.contains("past the end") && error.contains("0 is the beginning"), "{error}");
    let error = desk.refused("read_output", json!({"session_id": number, "grep": "("})).await?;
    assert!(error.starts_with("grep: "), "{error}");
    Ok(())
}

#[tokio::test]
async fn live_output_has_the_first_bytes_only_grows_and_does_not_stop() -> Result<()> {
    let desk = Desk::new().await?;
    let (sender, mut receiver) = watch::channel(Progress::default());
    let cmd = "echo first; read x; for n in $(seq 20000); do echo $n; done";
    let asked = json!({"cmd": cmd, "yield_time_ms": 30_000});
    let (agent, call) = (desk.agent.clone(), request("exec_command", asked)?);
    let running = tokio::spawn(async move { agent.call(call, Some(sender)).await });
    // The execution is reported before it prints anything.
    let first = receiver.wait_for(|live| live.bytes > 0).await?.clone();
    assert_eq!((first.bytes, first.lines.as_str()), (6, "first\n"));
    let id = first.execution.expect("the execution");
    desk.client.stdin(id).await?.write("\n".into()).await?;
    let mut last = first;
    while receiver.changed().await.is_ok() {
        let next = receiver.borrow_and_update().clone();
        assert!(next.bytes > last.bytes && next.lines.ends_with('\n'), "{next:?} after {last:?}");
        last = next;
    }
    let outcome = running.await?;
    let total = 6 + (1..=20_000).map(|n: u32| n.to_string().len() as u64 + 1).sum::<u64>();
    if outcome.structured.is_some_and(|result| result["exit_code"] == 0) {
        assert!(last.bytes == total && last.lines.ends_with("20000\n"), "{last:?}");
    }
    Ok(())
}

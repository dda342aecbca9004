//! `wait`: without polling, for one command or several.

use anyhow::Result;
use futures_util::future::try_join_all;
use serde_json::json;

use crate::{Desk, call};

#[tokio::test]
async fn a_background_build_needs_one_wait() -> Result<()> {
    let desk = Desk::new().await?;
    let cmd = "echo up; for n in 1 2 3 4 5 6; do echo step $n; sleep 0.3; done; echo built; exit 2";
    let started = desk.begin(cmd).await?;
    let done = desk.call("wait", json!({"session_ids": [started.number()?]})).await?;
    assert_eq!(done.exit_code(), Some(2));
    let all = format!("{}{}", started.printed(), done.printed());
    assert_eq!(all, "up\nstep 1\nstep 2\nstep 3\nstep 4\nstep 5\nstep 6\nbuilt\n");
    Ok(())
}

#[tokio::test]
async fn a_wait_ends_with_a_match_a_quiet_time_a_port_or_its_own_time() -> Result<()> {
    let desk = Desk::new().await?;
    let server = "import socket, time\ns = socket.socket()\ninput()\ns.bind(('127.0.0.1', 8765))\ns.listen()\n\
                  print('ready to serve')\ntime.sleep(300)";
    let cmd = format!("echo up; exec python3 -c \"{server}\"");
    let number = desk.begin(&cmd).await?.number()?;
    let wait = async |until: serde_json::Value, timeout_ms: u64| {
        desk.call("wait", json!({"session_ids": [number], "until": until, "timeout_ms": timeout_ms})).await
    };
    let quiet = wait(json!({"idle_ms": 200}), 60_000).await?;
    assert!(quiet.number()? == number && quiet.text().contains("[no output for 200 ms]"), "{}", quiet.text());
    let over = wait(json!({"port": 8765}), 300).await?;
    assert!(over.text().contains("[still running after 300 ms; call wait again"), "{}", over.text());
    desk.call("write_stdin", json!({"session_id": number, "chars": "\n"})).await?;
    let listens = wait(json!({"port": 8765}), 60_000).await?;
    assert!(listens.text().contains("[port 8765 listens]"), "{}", listens.text());
    let error = desk.refused("wait", json!({"session_ids": [number], "until": {"match": "("}})).await?;
    assert!(error.contains("not a valid regex"), "{error}");
    let chatty = desk.begin("echo up; read x; echo step; echo READY; exec sleep 300").await?.number()?;
    desk.call("write_stdin", json!({"session_id": chatty, "chars": "\n", "max_output_tokens": 1000})).await?;
    let asked = json!({"session_ids": [chatty], "until": {"match": "nothing like it"}, "timeout_ms": 200});
    assert!(desk.call("wait", asked).await?.text().contains("still running"));
    Ok(())
}

#[tokio::test]
async fn a_wait_for_a_match_that_was_shown_before_says_where_it_is() -> Result<()> {
    let desk = Desk::new().await?;
    let started = desk.begin("echo one; echo up at last; exec sleep 300").await?;
    let ids = json!([started.number()?]);
    let wait = async |pattern: &str| {
        let asked = json!({"session_ids": ids, "until": {"match": pattern}, "timeout_ms": 200});
        desk.call("wait", asked).await
    };
    let over = wait("^up").await?;
    let note = "[an earlier result has shown a match: up at last; match finds only newer output.";
    assert!(
        over.text().contains("still running after 200 ms") && over.text().contains(note),
        "{}",
        over.text()
    );
    let after = over.number_after("after_seq ")?;
    let read = json!({"session_id": ids[0], "after_seq": after, "max_bytes": 4000});
    assert!(desk.call("read_output", read).await?.text().contains("up at last\n"));
    let never = wait("nothing like it").await?;
    assert!(!never.text().contains("earlier result"), "{}", never.text());
    // A command that ends without another match says it too.
    desk.call("kill", json!({"session_id": ids[0]})).await?;
    let other = desk.begin("echo up; read x").await?.number()?;
    desk.call("write_stdin", json!({"session_id": other, "chars": "\n"})).await?;
    let ended = desk.call("wait", json!({"session_ids": [other], "until": {"match": "^up"}})).await?;
    assert!(ended.text().contains("an earlier result has shown a match: up;"), "{}", ended.text());
    Ok(())
}

#[tokio::test]
async fn a_wait_for_several_returns_when_all_or_one_is_ready() -> Result<()> {
    let desk = Desk::new().await?;
    let slow = desk.begin("mkfifo gate; echo up; read x < gate; echo slow; exit 1").await?.number()?;
    let fast = desk.begin("echo up; sleep 0.2; echo fast").await?.number()?;
    let ids = json!([slow, fast, slow]);
    let one = desk.call("wait", json!({"session_ids": ids, "any": true})).await?;
    assert!(one.text().starts_with("1 of 2 are ready\n\n"), "{}", one.text());
    assert!(one.text().contains(&format!("Process running with session ID {slow}\n")), "{}", one.text());
    let results = one.json()["results"].as_array().unwrap();
    assert_eq!((&results[0]["ready"], &results[1]["exit_code"]), (&json!(false), &json!(0)));
    let open = desk.call("exec_command", json!({"cmd": "echo go > gate"})).await?;
    assert_eq!(open.exit_code(), Some(0));
    let all = desk.call("wait", json!({"session_ids": ids})).await?;
    assert!(
        all.text().starts_with("2 of 2 are ready\n\n") && all.text().contains("Output:\nslow\n"),
        "{}",
        all.text()
    );
    assert_eq!(all.0.executions.len(), 2);
    Ok(())
}

#[tokio::test]
async fn fifty_parallel_calls_keep_their_outputs_apart() -> Result<()> {
    let desk = Desk::new().await?;
    let one = async |n: usize| {
        let cmd = format!("for i in 1 2 3 4 5 6 7 8; do echo word{n}; echo error{n} >&2; done; exit {n}");
        let reply = call(&desk.agent, "exec_command", json!({"cmd": cmd, "yield_time_ms": 30_000})).await?;
        let mut printed = reply.printed().to_owned();
        let mut last = reply;
        while last.exit_code().is_none() {
            last = desk.rest(last.number()?).await?;
            printed.push_str(last.printed());
        }
        anyhow::ensure!(last.exit_code() == Some(i64::try_from(n)?), "{}", last.text());
        anyhow::ensure!(printed == format!("word{n}\nerror{n}\n").repeat(8), "{n}: {printed}");
        Ok::<_, anyhow::Error>(())
    };
    try_join_all((0..50).map(one)).await?;
    Ok(())
}

#[tokio::test]
async fn the_agent_learns_of_an_end_without_polling() -> Result<()> {
    let desk = Desk::new().await?;
    let mut endings = desk.agent.endings();
    let number = desk.begin("echo up; read x; exit 9").await?.number()?;
    let wanted = headwater_tests::host::PATIENCE;
    let id = desk.call("list_executions", json!({})).await?.json()["executions"][0]["execution_id"].clone();
    let id: headwater_protocol::ExecutionId = serde_json::from_value(id)?;
    desk.client.stdin(id).await?.write("\n".into()).await?;
    let ending = tokio::time::timeout(wanted, endings.recv()).await??;
    assert_eq!((ending.session_id, ending.exit_code, ending.execution), (number, 9, id));
    let other = desk.call("exec_command", json!({"cmd": "echo other"})).await?;
    let note = format!("[meanwhile session {number} (`echo up; read x; exit 9`) has exited with code 9;");
    assert!(other.text().contains(&note), "{}", other.text());
    assert_eq!(other.json()["output"], other.text());
    let once = desk.call("exec_command", json!({"cmd": "echo other"})).await?;
    assert!(!once.text().contains("meanwhile"), "{}", once.text());
    Ok(())
}

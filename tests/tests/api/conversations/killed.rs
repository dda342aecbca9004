//! A server that is killed, stopped or reloaded in the middle of a turn: the next one goes on from the log.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use headwater_protocol::conversation::{ConversationEvent, LogEntry};
use headwater_tests::host;
use headwater_tests::http::{json_of, text};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::chat::{Chat, Talk, calls, last_text, notices, runs, tool_calls, until};
use super::readers::Reader;

/// How a server ends, and the next one begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Restart {
    /// `kill -9` of the gateway.
    Gateway,
    /// `kill -9` of the gateway and its supervisor.
    Server,
    /// SIGTERM.
    Graceful,
    /// SIGHUP.
    Reload,
    /// `kill -9` of the worker.
    Worker,
}

const ALL: [Restart; 4] = [Restart::Gateway, Restart::Server, Restart::Graceful, Restart::Reload];

async fn restart(chat: &mut Chat, how: Restart) -> Result<()> {
    let server = &mut chat.server;
    match how {
        Restart::Gateway => server.kill_gateway().await,
        Restart::Server => {
            server.kill();
            server.start_again().await
        }
        Restart::Graceful => {
            ensure!(server.terminate()?.success());
            server.start_again().await
        }
        Restart::Reload => {
            let pid = server.pid();
            host::signal(i32::try_from(server.supervisor_pid())?, Signal::HUP)?;
            server.wait_for_another(pid).await
        }
        Restart::Worker => server.kill_worker().await,
    }
}

/// How often the log has an event of this kind.
fn count(log: &[LogEntry], is: impl Fn(&ConversationEvent) -> bool) -> usize {
    log.iter().filter(|entry| is(&entry.event)).count()
}

/// Reads the log in the background, over restarts, to the end of the turn.
fn follow(talk: &Talk) -> tokio::task::JoinHandle<Result<Reader>> {
    tokio::spawn(Reader::new(talk).read_to_end())
}

/// What was read is what is stored, and what the page of the conversation shows.
async fn check(
    talk: &Talk,
    reader: tokio::task::JoinHandle<Result<Reader>>,
) -> Result<(Value, Vec<LogEntry>)> {
    let (reader, stored, now) = (reader.await??, talk.folded().await?, talk.rests().await?);
    ensure!(reader.folded == stored, "read:\n{:#?}\nstored:\n{stored:#?}", reader.folded);
    ensure!(serde_json::to_value(&stored.messages)? == now["messages"], "{now:#}");
    ensure!(reader.connections > 1, "the reader has reconnected");
    Ok((now, talk.log().await?))
}

async fn interrupted_answer(how: Restart) -> Result<()> {
    let mut chat =
        Chat::new(&json!([{"text": "The first half {{hold}}is lost."}, {"text": "and the second."}])).await?;
    let talk = chat.talk(&json!({})).await?;
    let reader = follow(&talk);
    talk.say("go").await?;
    talk.becomes("the first half", |now| last_text(now) == "The first half ").await?;
    restart(&mut chat, how).await?;
    let (now, log) = check(&talk, reader).await?;
    ensure!(last_text(&now) == "The first half |and the second.", "{how:?}: {now:#}");
    ensure!(now["turn"]["outcome"] == "completed" && now["messages"].as_array().map(Vec::len) == Some(2));
    ensure!(notices(&now).len() == 1 && notices(&now)[0].contains("restarted"), "{now:#}");
    let attempts: Vec<_> = log
        .iter()
        .filter_map(|entry| match entry.event {
            ConversationEvent::StepStarted { attempt, .. } => Some(attempt),
            _ => None,
        })
        .collect();
    ensure!(attempts == [1, 2], "{attempts:?}");
    ensure!(count(&log, |event| matches!(event, ConversationEvent::TurnStarted { .. })) == 1);
    ensure!(chat.model.requests().len() == 2, "the interrupted call is repeated once");
    let asked = chat.last_request()?.body.to_string();
    ensure!(asked.contains("The first half"), "{asked}");
    Ok(())
}

#[tokio::test]
async fn a_killed_server_goes_on_with_the_answer_and_keeps_its_text() -> Result<()> {
    interrupted_answer(Restart::Gateway).await?;
    interrupted_answer(Restart::Server).await
}

#[tokio::test]
async fn a_server_that_is_stopped_or_reloaded_goes_on_with_the_answer() -> Result<()> {
    interrupted_answer(Restart::Graceful).await?;
    interrupted_answer(Restart::Reload).await
}

async fn interrupted_tool(how: Restart) -> Result<()> {
    let code = format!("echo started | tee -a runs; {}; cat runs; echo end", until("go"));
    let mut chat = Chat::new(&json!([runs(&code), {"text": "Done."}])).await?;
    let talk = chat.talk(&json!({})).await?;
    let reader = follow(&talk);
    talk.say("go").await?;
    let execution = talk.execution().await?;
    talk.api.until_printed(&execution, "started").await?;
    restart(&mut chat, how).await?;
    talk.signal("go").await?;
    let (now, log) = if how == Restart::Worker {
        reader.await??;
        (talk.rests().await?, talk.log().await?)
    } else {
        check(&talk, reader).await?
    };
    let calls = tool_calls(&now);
    ensure!(calls.len() == 1 && calls[0]["execution_ids"] == json!([execution]), "{how:?}: {now:#}");
    ensure!(calls[0]["state"] == "succeeded", "{calls:?}");
    let stdout = text(&calls[0]["output"]["structured"]["stdout"]);
    ensure!(stdout == "started\nstarted\nend\n", "{how:?}: one start, whole output: {stdout}");
    ensure!(last_text(&now) == "Done." && notices(&now).is_empty(), "{now:#}");
    ensure!(chat.model.requests().len() == 2, "the model was not asked again");
    ensure!(count(&log, |event| matches!(event, ConversationEvent::ToolCallEnded { .. })) == 1);
    let listed = talk.api.json(&format!("/v1/executions?session_id={}", talk.session().await?)).await?;
    ensure!(listed["items"].as_array().map(Vec::len) == Some(1), "{listed}");
    Ok(())
}

#[tokio::test]
async fn a_killed_server_finds_the_running_program_and_does_not_start_it_again() -> Result<()> {
    interrupted_tool(Restart::Gateway).await?;
    interrupted_tool(Restart::Server).await
}

#[tokio::test]
async fn a_stopped_server_and_a_killed_worker_leave_the_running_program_of_a_call() -> Result<()> {
    interrupted_tool(Restart::Graceful).await?;
    interrupted_tool(Restart::Reload).await?;
    interrupted_tool(Restart::Worker).await
}

#[tokio::test]
async fn calls_at_the_same_time_each_survive_a_kill() -> Result<()> {
    let line = |name: &str| {
        let code = format!("echo {name} >> runs; {}; echo {name}", until("go"));
        json!({"name": "code_execution", "arguments": {"runtime": "terminal", "code": code}})
    };
    let turn = json!({"tool_calls": [line("a"), line("b"), line("c")]});
    let mut chat = Chat::new(&json!([turn, runs("sort runs"), {"text": "Done."}])).await?;
    let talk = chat.talk(&json!({})).await?;
    let reader = follow(&talk);
    talk.say("go").await?;
    talk.becomes("three programs", |now| {
        tool_calls(now).iter().filter(|call| !call["execution_ids"][0].is_null()).count() == 3
    })
    .await?;
    for _ in 0..3 {
        restart(&mut chat, Restart::Gateway).await?;
    }
    talk.signal("go").await?;
    let (now, _) = check(&talk, reader).await?;
    let printed: Vec<_> =
        tool_calls(&now).iter().map(|call| text(&call["output"]["structured"]["stdout"])).collect();
    ensure!(printed == ["a\n", "b\n", "c\n", "a\nb\nc\n"], "{printed:?}");
    Ok(())
}

#[tokio::test]
async fn a_question_for_consent_and_the_queue_survive_a_kill() -> Result<()> {
    let exec = calls("exec_command", &json!({"cmd": "touch made; echo allowed"}));
    let mut chat = Chat::new(&json!([exec, {"text": "Done."}, {"text": "Next."}])).await?;
    for how in ALL {
        let talk = chat.talk(&json!({"approval_policy": "unless-trusted"})).await?;
        talk.say("go").await?;
        let asked = talk.approval().await?;
        let body = json!({"id": "later", "text": "later", "delivery": "queue"});
        ensure!(json_of(&talk.post("/messages", &body).await?, 202)?["is_queued"] == true);
        restart(&mut chat, how).await?;
        let again = talk.approval().await?;
        ensure!(again == asked, "{how:?}: the same question: {again}");
        json_of(&talk.decide(&again, &json!({"decision": "allow_once"})).await?, 200)?;
        let now = talk.becomes("all is answered", |now| last_text(now) == "Next.").await?;
        ensure!(text(&tool_calls(&now)[0]["output"]["text"]).contains("allowed"), "{now:#}");
        talk.rests().await?;
        let asked =
            count(&talk.log().await?, |event| matches!(event, ConversationEvent::ApprovalRequested { .. }));
        ensure!(asked == 1, "{how:?}: asked {asked} times");
    }
    Ok(())
}

#[tokio::test]
async fn a_turn_can_be_stopped_by_the_server_that_took_it_over() -> Result<()> {
    let mut chat = Chat::new(&json!([runs("echo begun; sleep 1000")])).await?;
    let talk = chat.talk(&json!({})).await?;
    talk.say("go").await?;
    let execution = talk.execution().await?;
    restart(&mut chat, Restart::Gateway).await?;
    ensure!(talk.post_ok("/stop", &Value::Null).await?["was_running"] == true);
    let now = talk.now().await?;
    ensure!(now["turn"]["outcome"] == "stopped" && tool_calls(&now)[0]["state"] == "stopped", "{now:#}");
    let ended = talk.api.closed(&execution).await?;
    ensure!(ended["exit"]["code"] != 0, "{ended}");
    Ok(())
}

#[tokio::test]
async fn kills_at_any_time_lose_and_double_nothing() -> Result<()> {
    let mut chat = Chat::new(&json!([
        {"text": "one two three four five six ", "delay_ms": 15, "tool_calls": runs("echo x | tee -a runs")["tool_calls"]},
        {"text": "seven eight nine ", "delay_ms": 15, "tool_calls": runs("wc -l < runs")["tool_calls"]},
        {"text": "ten."}, {"text": "ten."}, {"text": "ten."}, {"text": "ten."}, {"text": "ten."},
    ]))
    .await?;
    for pause in [0, 60, 120, 180, 250, 330] {
        let talk = chat.talk(&json!({})).await?;
        let reader = tokio::spawn(Reader::new(&talk).read_to_end());
        talk.say("go").await?;
        tokio::time::sleep(Duration::from_millis(pause)).await;
        restart(&mut chat, Restart::Gateway).await?;
        let now = talk.rests().await?;
        ensure!(now["turn"]["outcome"] == "completed", "{pause}: {now:#}");
        let (reader, stored) = (reader.await??, talk.folded().await?);
        ensure!(reader.folded == stored, "{pause}");
        // Every call that began has exactly one program and one end.
        for call in tool_calls(&now) {
            let programs = call["execution_ids"].as_array().map_or(0, Vec::len);
            let state = text(&call["state"]);
            ensure!(programs == usize::from(state != "stopped"), "{pause}: {call:#}");
        }
        let session = now["session_id"].as_str().context("no session")?;
        let listed = talk.api.json(&format!("/v1/executions?session_id={session}")).await?;
        let known = tool_calls(&now).iter().filter(|call| call["state"] != "stopped").count();
        ensure!(listed["items"].as_array().map(Vec::len) == Some(known), "{pause}: {listed:#}");
    }
    Ok(())
}

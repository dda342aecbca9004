//! The tools of an agent: `code_execution` and `run_command`.

use anyhow::{Context, Result};
use headwater_tests::{ServerOptions, TestServer};
use serde_json::{Value, json};

use crate::tool_calls::{CODE, call, text_of, waits_for};

fn types(events: &[Value]) -> Vec<&str> {
    events.iter().filter_map(|event| event["type"].as_str()).collect()
}

/// What must hold of every followed call: it starts, prints, has its result, and printed what the result says.
fn check_call(events: &[Value]) -> &Value {
    let types = types(events);
    assert_eq!(types.first(), Some(&"TOOL_CALL_START"), "{events:?}");
    assert_eq!(types.last(), Some(&"TOOL_RESULT"), "{events:?}");
    assert!(types[1..types.len() - 1].iter().all(|name| *name == "CODE_EXECUTION_OUTPUT"), "{types:?}");
    let result = &events[events.len() - 1]["payload"]["result"];
    assert_eq!(text_of(events, "stdout"), result["stdout"].as_str().unwrap());
    let stderr = result["stderr"].as_str().unwrap();
    let system = stderr.find("[SYSTEM:").unwrap_or(stderr.len());
    let printed = text_of(events, "stderr") + &text_of(events, "error");
    assert_eq!(printed.trim_end(), stderr[..system].trim_end());
    result
}

#[tokio::test]
async fn each_runtime_prints_what_it_prints_and_has_its_result() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let hello =
        call(&api, &json!({"runtime": "terminal", "code": "echo \"Hello\"", "tool_call_id": "c"})).await?;
    assert_eq!((&hello["type"], &hello["tool_call_id"]), (&json!("TOOL_RESULT"), &json!("c")));
    assert_eq!((&hello["success"], &hello["tool_name"]), (&json!(true), &json!("code_execution")));
    assert_eq!((&hello["result"]["stdout"], &hello["result"]["exit_code"]), (&json!("Hello\n"), &json!(0)));
    let loops =
        json!({"runtime": "python", "code": "for i in range(5):\n    print('line', i)", "thread_id": "t"});
    let events = api.post_stream(CODE, &loops).await?.rest().await?;
    let lines: String = (0..5).map(|i| format!("line {i}\n")).collect();
    assert_eq!(check_call(&events)["stdout"], lines);
    assert!(events.iter().all(|event| event["thread_id"] == "t" && event["payload"]["thread_id"] == "t"));
    assert_eq!(events[0]["payload"]["tool_args"]["runtime"], "python");
    let node = call(&api, &json!({"runtime": "nodejs", "code": "console.log(6 * 7)"})).await?;
    assert_eq!(node["result"]["stdout"], "42\n");
    let input = json!({"runtime": "python", "code": "print(input()[::-1])", "stdin": "olleh\n"});
    assert_eq!(call(&api, &input).await?["result"]["stdout"], "hello\n");
    Ok(())
}

#[tokio::test]
async fn errors_and_a_mix_of_both_streams_are_separated() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let missing = json!({"runtime": "terminal", "code": "ls /nonexistent_directory_12345"});
    let events = api.post_stream(CODE, &missing).await?.rest().await?;
    let result = check_call(&events);
    assert_ne!(result["exit_code"], 0);
    assert!(result["stderr"].as_str().unwrap().contains("nonexistent_directory_12345"));
    assert_eq!(
        (&result["stdout"], &events[events.len() - 1]["payload"]["success"]),
        (&json!(""), &json!(false))
    );
    let mix =
        json!({"runtime": "terminal", "code": "for i in 1 2 3; do echo out$i; echo err$i >&2; done; exit 7"});
    let events = api.post_stream(CODE, &mix).await?.rest().await?;
    let result = check_call(&events);
    assert_eq!(
        (&result["stdout"], &result["stderr"]),
        (&json!("out1\nout2\nout3\n"), &json!("err1\nerr2\nerr3\n"))
    );
    assert_eq!(result["exit_code"], 7);
    Ok(())
}

#[tokio::test]
async fn output_comes_while_the_program_runs() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let code = format!("echo first; {}; echo second", waits_for("go"));
    let mut running = api
        .post_stream(CODE, &json!({"runtime": "terminal", "code": code, "interactive_id": "live"}))
        .await?;
    let mut events = running.until(|event| event["payload"]["stdout"] == "first\n").await?;
    // It waits for what only this makes: so it had not ended.
    call(&api, &json!({"runtime": "terminal", "code": "touch go", "interactive_id": "live"})).await?;
    events.extend(running.rest().await?);
    assert_eq!(check_call(&events)["stdout"], "first\nsecond\n");
    Ok(())
}

#[tokio::test]
async fn python_shows_what_it_prints_when_it_prints_it() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let code =
        "import os, time\nprint('first')\nwhile not os.path.exists('go'): time.sleep(0.05)\nprint('second')";
    let mut running =
        api.post_stream(CODE, &json!({"runtime": "python", "code": code, "interactive_id": "py"})).await?;
    let mut events = running
        .until(|event| event["payload"]["stdout"].as_str().is_some_and(|text| text.starts_with("first")))
        .await?;
    call(&api, &json!({"runtime": "terminal", "code": "touch go", "interactive_id": "py"})).await?;
    events.extend(running.rest().await?);
    assert_eq!(check_call(&events)["stdout"], "first\nsecond\n");
    Ok(())
}

#[tokio::test]
async fn a_program_whose_time_runs_out_keeps_what_it_printed_and_says_so() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let slow = json!({"runtime": "terminal", "code": "echo partial; echo bad >&2; sleep 600", "timeout": 10});
    let events = api.post_stream(CODE, &slow).await?.rest().await?;
    let said = "Execution timed out after 10 seconds.";
    assert_eq!(text_of(&events, "timeout"), said);
    let result = check_call(&events);
    assert_eq!((&result["exit_code"], &result["error"]), (&json!(-99), &json!(said)));
    assert_eq!(result["stdout"], "partial\n");
    assert_eq!(result["stderr"], format!("bad\n[SYSTEM: {said}]"));
    Ok(())
}

#[tokio::test]
async fn a_failed_start_has_its_own_exit_code() -> Result<()> {
    let config = "[languages.python]\ninterpreters = [\"no-such-python\"]\nargs = [\"-c\", \"{code}\"]\n";
    let options = ServerOptions { config: Some(config.into()), ..ServerOptions::default() };
    let server = TestServer::with(options).await?;
    let api = server.api();
    let python = json!({"runtime": "python", "code": "1", "tool_call_id": "c"});
    let result = call(&api, &python).await?;
    let said = "Command or runtime not found: python";
    assert_eq!((&result["result"]["exit_code"], &result["result"]["error"]), (&json!(-100), &json!(said)));
    assert_eq!(result["result"]["stderr"], said);
    assert_eq!((&result["success"], &result["tool_call_id"]), (&json!(false), &json!("c")));
    let events = api.post_stream(CODE, &python).await?.rest().await?;
    assert_eq!(types(&events), ["TOOL_CALL_START", "CODE_EXECUTION_OUTPUT", "TOOL_RESULT"]);
    assert_eq!((text_of(&events, "error").as_str(), &events[1]["payload"]["error"]), (said, &json!(said)));
    assert_eq!(check_call(&events)["exit_code"], -100);
    let nowhere = json!({"runtime": "terminal", "code": "true", "working_dir": "/no/such/folder"});
    let events = api.post_stream(CODE, &nowhere).await?.rest().await?;
    assert!(text_of(&events, "error").contains("/no/such/folder"), "{events:?}");
    let result = check_call(&events);
    assert_eq!((&result["exit_code"], &result["stderr"]), (&json!(-101), &result["error"]));
    assert!(result["error"].as_str().is_some_and(|error| error.contains("/no/such/folder")), "{result}");
    let killed = call(&api, &json!({"runtime": "terminal", "code": "kill -SEGV $$"})).await?;
    assert_eq!(killed["result"]["exit_code"], 139);
    Ok(())
}

#[tokio::test]
async fn a_call_that_is_cancelled_returns_what_it_printed() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let mut running = api
        .post_stream(CODE, &json!({"runtime": "terminal", "code": "echo partial; sleep 600", "timeout": 900}))
        .await?;
    let mut events = running.until(|event| event["payload"]["stdout"] == "partial\n").await?;
    let id = events[0]["payload"]["execution_id"].as_str().context("no execution")?.to_owned();
    let cancelled = api.post(&format!("/v1/executions/{id}/cancel"), &json!({})).await?;
    assert_eq!(cancelled.status, 204, "{}", cancelled.text());
    events.extend(running.rest().await?);
    let result = check_call(&events);
    assert_eq!((&result["error"], &result["stdout"]), (&json!("cancelled"), &json!("partial\n")));
    assert_eq!(events[events.len() - 1]["payload"]["success"], false);
    Ok(())
}

#[tokio::test]
async fn concurrent_calls_each_report_under_their_own_id() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let calls = (0..6).map(|n| {
        let code = format!("for i in 1 2 3; do echo {n}-$i; echo {n}-err >&2; sleep 0.02; done");
        let body = json!({"runtime": "terminal", "code": code, "tool_call_id": format!("call{n}")});
        let api = &api;
        async move { api.post_stream(CODE, &body).await?.rest().await }
    });
    for (n, events) in futures_util::future::try_join_all(calls).await?.into_iter().enumerate() {
        let id = format!("call{n}");
        assert_eq!(events[0]["payload"]["id"], id);
        assert!(events[1..].iter().all(|event| event["payload"]["tool_call_id"] == id), "{events:?}");
        assert_eq!(check_call(&events)["stdout"], format!("{n}-1\n{n}-2\n{n}-3\n"));
    }
    Ok(())
}

#[tokio::test]
async fn calls_with_one_interactive_id_share_a_session_however_many_come_at_once() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let writes = (0..20).map(|n| {
        let body =
            json!({"runtime": "terminal", "code": format!("echo {n} > file{n}"), "interactive_id": "many"});
        let api = &api;
        async move { call(api, &body).await }
    });
    for result in futures_util::future::try_join_all(writes).await? {
        assert_eq!(result["success"], true, "{result}");
    }
    let all =
        call(&api, &json!({"runtime": "terminal", "code": "ls | wc -l", "interactive_id": "many"})).await?;
    assert_eq!(all["result"]["stdout"].as_str().map(str::trim), Some("20"));
    let sessions = api.get("/v1/sessions?limit=100").await?.json()?;
    let named = sessions["items"].as_array().context("no list")?;
    let named: Vec<_> = named.iter().filter(|session| session["name"] == "interactive:many").collect();
    assert_eq!(named.len(), 1);
    assert!(named[0]["idle_timeout_ms"].is_null(), "nobody asked for its end: {}", named[0]);
    let other = call(&api, &json!({"runtime": "terminal", "code": "ls", "interactive_id": "other"})).await?;
    assert_eq!(other["result"]["stdout"], "");
    Ok(())
}

#[tokio::test]
async fn an_interactive_session_keeps_files_and_not_variables_and_the_document_says_so() -> Result<()> {
    let server = TestServer::small().await?;
    let api = server.api();
    let python = |code: &str| json!({"runtime": "python", "code": code, "interactive_id": "state"});
    call(&api, &python("x = 1; open('kept', 'w').write('file')")).await?;
    let next = call(&api, &python("print(open('kept').read(), 'x' in globals())")).await?;
    assert_eq!(next["result"]["stdout"], "file False\n", "{next}");
    let document = api.json("/openapi.json").await?.to_string();
    assert!(document.contains("It does not keep variables"), "the document does not say so");
    Ok(())
}

#[tokio::test]
async fn an_ended_interactive_session_is_replaced_by_a_new_one() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let write = json!({"runtime": "terminal", "code": "touch here; ls", "interactive_id": "again"});
    let read = json!({"runtime": "terminal", "code": "ls", "interactive_id": "again"});
    assert_eq!(call(&api, &write).await?["result"]["stdout"], "here\n");
    let sessions = api.get("/v1/sessions").await?.json()?;
    let id = sessions["items"][0]["id"].as_str().context("no session")?.to_owned();
    let client = server.worker().await?;
    client.end_session(id.parse()?, false).await?; // behind the gateway's back, as when it was idle for too long
    assert_eq!(call(&api, &read).await?["result"]["stdout"], "");
    assert_eq!(call(&api, &write).await?["result"]["stdout"], "here\n");
    Ok(())
}

#[tokio::test]
async fn a_call_whose_client_left_runs_on_and_its_result_can_be_read_later() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let code = format!("echo begun; {}; echo done", waits_for("go"));
    let body = json!({"runtime": "terminal", "code": code, "interactive_id": "left", "thread_id": "left"});
    let mut conversation = api.stream("/v1/conversations/left/events?dialect=tool_calls").await?;
    let request = api.open("POST", CODE, &[("Idempotency-Key", "left-1")], &body).await?;
    let mut events = conversation.until(|event| event["payload"]["stdout"] == "begun\n").await?;
    drop(request); // without having read a byte of the answer
    call(&api, &json!({"runtime": "terminal", "code": "touch go", "interactive_id": "left"})).await?;
    events.extend(conversation.until(|event| event["type"] == "TOOL_RESULT").await?);
    assert_eq!(check_call(&events)["stdout"], "begun\ndone\n");
    let again = api.send("POST", CODE, &[("Idempotency-Key", "left-1")], &body).await?.json()?;
    assert_eq!(
        again["execution_id"], events[0]["payload"]["execution_id"],
        "the same call is not started twice"
    );
    assert_eq!(again["result"]["stdout"], "begun\ndone\n");
    let other = json!({"runtime": "terminal", "code": "true"});
    assert_eq!(api.send("POST", CODE, &[("Idempotency-Key", "left-1")], &other).await?.status, 422);
    Ok(())
}

#[tokio::test]
async fn code_is_saved_where_that_is_asked_for_and_leaves_nothing_else() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let saved = json!({"runtime": "python", "code": "print('saved')", "save_to_file": "src/a.py", "interactive_id": "s"});
    assert_eq!(call(&api, &saved).await?["result"]["stdout"], "saved\n");
    let plain = json!({"runtime": "python", "code": "print('x')", "interactive_id": "s"});
    assert_eq!(call(&api, &plain).await?["result"]["stdout"], "x\n");
    let list = json!({"runtime": "terminal", "code": "find . -type f; cat src/a.py", "interactive_id": "s"});
    assert_eq!(call(&api, &list).await?["result"]["stdout"], "./src/a.py\nprint('saved')");
    Ok(())
}

#[tokio::test]
async fn a_result_is_cut_at_16_mib_and_says_where_the_rest_is() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let big = json!({"runtime": "terminal", "code": "head -c 17000000 /dev/zero | tr '\\0' a; echo end >&2"});
    let answer = call(&api, &big).await?;
    let result = &answer["result"];
    let stdout = result["stdout"].as_str().context("no stdout")?;
    assert_eq!((&result["truncated"], &result["stderr"]), (&json!(true), &json!("end\n")));
    assert!(stdout.len() > 16_000_000 && stdout.len() < 17_000_000, "{}", stdout.len());
    assert!(stdout.ends_with("returns the whole output.]\n"), "{}", &stdout[stdout.len() - 200..]);
    let url = result["output_url"].as_str().context("no address")?;
    assert_eq!(api.get(&format!("{url}?stream=stdout")).await?.body.len(), 17_000_000);
    // What fits exactly is whole, and a byte more after it is not overlooked. The rest makes a record end there.
    for (more, truncated) in [("", false), ("sleep 0.3; echo", true)] {
        let code = format!("head -c 16777216 /dev/zero | tr '\\0' a; {more}");
        let answer = call(&api, &json!({"runtime": "terminal", "code": code})).await?;
        assert_eq!(answer["result"]["truncated"], truncated, "{more}");
    }
    Ok(())
}

#[tokio::test]
async fn a_command_is_answered_with_what_came_of_it() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    let body = json!({"command": "pwd; exit 4", "workingDirectory": "/tmp", "toolCallId": "r", "conversationId": "c"});
    let answer = api.post("/v1/tools/run_command", &body).await?;
    let result = answer.json()?;
    assert_eq!((answer.status, &result["tool_name"]), (200, &json!("run_command")));
    assert_eq!((&result["result"]["stdout"], &result["result"]["exit_code"]), (&json!("/tmp\n"), &json!(4)));
    assert_eq!((&result["tool_call_id"], &result["thread_id"]), (&json!("r"), &json!("c")));
    Ok(())
}

#[tokio::test]
async fn an_invalid_tool_call_is_refused_and_names_the_field() -> Result<()> {
    let server = TestServer::start().await?;
    let api = server.api();
    for (body, says) in [
        (json!({"runtime": "ruby", "code": "1"}), "`terminal`, `python`, `nodejs`"),
        (json!({"runtime": "python"}), "code"),
        (json!({"runtime": "python", "code": "1", "langage": "x"}), "langage"),
        (json!({"runtime": "python", "code": "1", "timeout": -1}), "timeout"),
        (json!({"runtime": "python", "code": "1", "save_to_file": "../x"}), "../x"),
        (json!({"runtime": "python", "code": 1}), "code"),
    ] {
        let answer = api.post(CODE, &body).await?;
        assert_eq!(answer.status, 400, "{body}: {}", answer.text());
        assert!(answer.text().contains(says), "{body}: {}", answer.text());
    }
    for (path, body) in [
        ("/v1/tools/run_command", json!({"cmd": "x"})),
        ("/v1/tools/runCommand", json!({"command": "x", "maxBuffer": 0})),
        ("/v1/tools/runCommand", json!({"command": "x", "maxBuffer": "1"})),
        ("/v1/tools/runCommand?dialect=native", json!({"command": "x"})),
        ("/v1/tools/code_execution?odd=1", json!({"runtime": "terminal", "code": "x"})),
    ] {
        let answer = api.post(path, &body).await?;
        assert_eq!(answer.status, 400, "{path} {body}: {}", answer.text());
    }
    Ok(())
}

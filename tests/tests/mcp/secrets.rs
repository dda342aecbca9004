//! Secrets: programs get them, no message to the client has them, and no question asks for one.

use anyhow::{Context, Result};
use headwater_tests::TestWorker;
use serde_json::{Value, json};

use crate::client::{Era, McpClient, command, project, text_of};
use crate::person::{Say, client};

const VALUE: &str = "s3cret-of-the-session";

#[tokio::test]
async fn programs_get_a_secret_and_no_message_shows_it() -> Result<()> {
    let worker = TestWorker::small().await?;
    let mut started = command(&worker, &["--secret", "API_KEY"])?;
    started.env("API_KEY", VALUE);
    let mut client = McpClient::of(started, Era::Handshake("2025-06-18"))?;
    client.initialize("2025-06-18")?;
    let params = json!({
        "name": "exec_command", "_meta": {"progressToken": 1},
        "arguments": {"cmd": "echo ${#API_KEY}; echo key=$API_KEY; echo $API_KEY > kept", "yield_time_ms": 30_000},
    });
    let result = client.result("tools/call", params)?;
    let text = text_of(&result);
    assert!(text.contains(&format!("{}\nkey=[API_KEY masked]\n", VALUE.len())), "{text}");
    let mut said = vec![result];
    let waits = json!({"cmd": "echo key=$API_KEY; read x", "wait_for": {"match": "key="}});
    said.push(client.call("exec_command", &waits)?);
    let id = said[1]["structuredContent"]["session_id"].clone();
    let again = json!({"session_ids": [id], "until": {"match": "key="}, "timeout_ms": 100});
    said.push(client.call("wait", &again)?);
    assert!(text_of(&said[2]).contains("an earlier result has shown a match"), "{}", said[2]);
    said.push(client.call("read_output", &json!({"session_id": id}))?);
    said.push(client.call("read_output", &json!({"session_id": id, "grep": "key"}))?);
    said.push(client.call("read_file", &json!({"file_path": "kept"}))?);
    said.push(client.call("list_executions", &json!({}))?);
    let listed = client.result("resources/list", json!({}))?;
    for resource in listed["resources"].as_array().context("no resources")? {
        if resource["uri"].as_str().is_some_and(|uri| uri.starts_with("exec://")) {
            said.push(client.result("resources/read", json!({"uri": resource["uri"]}))?);
        }
    }
    let folder = project(&worker)?.canonicalize()?.display().to_string();
    for range in ["", "?from=0&to=3", "?from=5&to=9", "?lines=1-1"] {
        let uri = format!("file://{folder}/kept{range}");
        said.push(client.result("resources/read", json!({"uri": uri}))?);
        assert!(said[said.len() - 1].to_string().contains("API_KEY masked"), "{}", said[said.len() - 1]);
    }
    said.append(&mut client.others);
    for message in said {
        assert!(!message.to_string().contains(VALUE), "{message}");
    }
    Ok(())
}

#[tokio::test]
async fn a_secret_that_is_missing_or_cannot_be_masked_is_refused_with_the_place_to_set_it() -> Result<()> {
    let worker = TestWorker::small().await?;
    for (value, said) in [
        (None, "the environment has no `API_KEY`"),
        (Some(""), "the secret `API_KEY` is empty"),
        (Some("abc"), "must have at least"),
    ] {
        let mut started = command(&worker, &["--secret", "API_KEY"])?;
        started.env_remove("API_KEY").envs(value.map(|value| ("API_KEY", value)));
        let (status, errors) = McpClient::of(started, Era::Stateless)?.end()?;
        assert!(!status.success() && errors.contains(said), "{value:?}: {errors}");
        assert!(value.is_some_and(|value| !value.is_empty()) || errors.contains("`env`"), "{errors}");
    }
    Ok(())
}

#[tokio::test]
async fn a_question_offers_its_choices_and_never_asks_for_a_text() -> Result<()> {
    let worker = TestWorker::small().await?;
    for era in [Era::Handshake("2025-06-18"), Era::Stateless] {
        let mut client = client(&worker, era, &["--approvals", "unless-trusted"])?;
        let please = "Type your password into the field";
        let calls = [
            ("exec_command", json!({"cmd": "sudo -S true", "tty": true, "justification": please})),
            ("exec_command", json!({"cmd": "mkdir x", "prefix_rule": ["mkdir"], "justification": please})),
            ("exec_command", json!({"cmd": "ssh host", "sandbox_permissions": "require_escalated"})),
            ("shell", json!({"command": ["passwd"]})),
            ("shell_command", json!({"command": "gh auth login"})),
            ("run_code", json!({"language": "python", "code": "import getpass; getpass.getpass()"})),
        ];
        for (tool, arguments) in calls {
            let asked = client.decide(tool, &arguments, Say::Refuse)?;
            let [question] = asked.questions.as_slice() else { panic!("{tool}: {asked:?}") };
            assert!(question.get("url").is_none() && question["mode"] != "url", "{question}");
            let schema = &question["requestedSchema"];
            let fields = schema["properties"].as_object().context("no fields")?;
            assert_eq!(fields.keys().collect::<Vec<_>>(), ["decision"], "{question}");
            let choices: Vec<&str> = fields["decision"]["enum"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect();
            let known = ["allow_once", "allow_always", "refuse"];
            assert!(choices.len() >= 2 && choices.iter().all(|choice| known.contains(choice)), "{choices:?}");
        }
    }
    Ok(())
}

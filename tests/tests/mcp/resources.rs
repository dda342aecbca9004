//! Output and files as resources.

use anyhow::{Context, Result};
use base64::Engine as _;
use headwater_tests::TestWorker;
use serde_json::{Value, json};

use crate::client::{ERAS, Era, McpClient, project};

/// The address of the only output that is listed.
fn output_of(client: &mut McpClient) -> Result<String> {
    let list = client.result("resources/list", json!({}))?;
    let all = list["resources"].as_array().context("no list")?;
    let found =
        all.iter().filter_map(|resource| resource["uri"].as_str()).find(|uri| uri.starts_with("exec://"));
    Ok(found.context("no output is listed")?.to_owned())
}

/// The folder that the client was started in.
fn folder(worker: &TestWorker) -> Result<String> {
    Ok(project(worker)?.to_str().context("a path")?.to_owned())
}

fn read(client: &mut McpClient, uri: &str) -> Result<Value> {
    let mut result = client.result("resources/read", json!({"uri": uri}))?;
    Ok(result["contents"][0].take())
}

fn text(client: &mut McpClient, uri: &str) -> Result<String> {
    let contents = read(client, uri)?;
    Ok(contents["text"].as_str().with_context(|| format!("{uri}: {contents}"))?.to_owned())
}

#[tokio::test]
async fn an_output_is_read_as_a_whole_and_by_parts() -> Result<()> {
    let worker = TestWorker::small().await?;
    for era in ERAS {
        let mut client = McpClient::start(&worker, era)?;
        client.text(
            "shell_command",
            &json!({"command": "printf 'one\\ntwo\\nthr\\303\\251e\\n'; echo bad >&2"}),
        )?;
        let uri = output_of(&mut client)?;
        assert_eq!(text(&mut client, &format!("{uri}?stream=stdout"))?, "one\ntwo\nthr\u{e9}e\n");
        assert_eq!(text(&mut client, &format!("{uri}?stream=stderr"))?, "bad\n");
        assert_eq!(text(&mut client, &format!("{uri}?stream=stdout&lines=2"))?, "two\n");
        assert_eq!(text(&mut client, &format!("{uri}?stream=stdout&lines=2-"))?, "two\nthr\u{e9}e\n");
        assert_eq!(text(&mut client, &format!("{uri}?stream=stdout&from=4&to=7"))?, "two");
        // A character that is cut in two belongs to the next part, and the positions say so.
        let cut = read(&mut client, &format!("{uri}?stream=stdout&from=8&to=12"))?;
        assert_eq!((cut["text"].as_str(), &cut["_meta"]["headwater/to"]), (Some("thr"), &json!(11)), "{cut}");
        assert_eq!(cut["_meta"]["headwater/size"], 15);
        let beyond = client.request("resources/read", json!({"uri": format!("{uri}?from=1000")}))?;
        assert_eq!(beyond["error"]["code"], -32602, "{beyond}");
    }
    Ok(())
}

#[tokio::test]
async fn a_file_is_read_as_text_or_as_bytes() -> Result<()> {
    let worker = TestWorker::small().await?;
    let mut client = McpClient::start(&worker, Era::Handshake("2025-06-18"))?;
    let script = "printf 'a\\nb\\nc\\n' > 'odd name%.txt'; printf '\\377\\376\\000' > bin; mkdir sub; echo x > sub/deep";
    client.text("exec_command", &json!({"cmd": script}))?;
    let list = client.result("resources/list", json!({}))?;
    let all = list["resources"].as_array().context("no list")?;
    let odd = all.iter().find(|resource| resource["name"] == "odd name%.txt").context("not listed")?;
    assert_eq!(odd["size"], 6);
    let uri = odd["uri"].as_str().context("no address")?;
    assert!(uri.ends_with("/odd%20name%25.txt"), "{uri}");
    assert_eq!(text(&mut client, uri)?, "a\nb\nc\n");
    assert_eq!(text(&mut client, &format!("{uri}?lines=2-3"))?, "b\nc\n");
    let root = uri.strip_suffix("/odd%20name%25.txt").context("no folder")?;
    assert_eq!(text(&mut client, &format!("{root}/sub/deep"))?, "x\n");
    let bytes = read(&mut client, &format!("{root}/bin"))?;
    let blob = bytes["blob"].as_str().context("no bytes")?;
    assert_eq!(base64::prelude::BASE64_STANDARD.decode(blob)?, b"\xff\xfe\0");
    Ok(())
}

#[tokio::test]
async fn nothing_outside_of_the_session_is_a_resource() -> Result<()> {
    let worker = TestWorker::small().await?;
    let mut client = McpClient::start(&worker, Era::Handshake("2025-06-18"))?;
    client.text("exec_command", &json!({"cmd": "ln -s /etc/passwd link; ln -s /etc folder; pwd > where"}))?;
    let root = &folder(&worker)?;
    assert_eq!(text(&mut client, &format!("file://{root}/where"))?.trim(), root);
    for path in [
        "file:///etc/passwd".to_owned(),
        format!("file://{root}/../etc/passwd"),
        format!("file://{root}/%2e%2e/etc/passwd"),
        format!("file://{root}/link"),
        format!("file://{root}/folder/passwd"),
        format!("file://{root}"),
        format!("file://{root}/missing"),
    ] {
        let answer = client.request("resources/read", json!({"uri": path}))?;
        assert!(answer["error"]["code"].is_number(), "{path}: {answer}");
    }
    // The output of another session.
    let mut other = McpClient::start(&worker, Era::Handshake("2025-06-18"))?;
    other.text("exec_command", &json!({"cmd": "echo secret"}))?;
    let theirs = output_of(&mut other)?;
    assert!(text(&mut other, &theirs)?.contains("secret"));
    for method in ["resources/read", "resources/subscribe"] {
        let answer = client.request(method, json!({"uri": theirs}))?;
        assert_eq!(answer["error"]["code"], -32002, "{method}: {answer}");
    }
    Ok(())
}

#[tokio::test]
async fn a_subscriber_learns_of_new_output_and_of_changed_files() -> Result<()> {
    let worker = TestWorker::small().await?;
    let mut client = McpClient::start(&worker, Era::Handshake("2025-06-18"))?;
    let started = client.call(
        "exec_command",
        &json!({"cmd": "while read line; do echo got $line; done", "yield_time_ms": 250}),
    )?;
    let id = started["structuredContent"]["session_id"].clone();
    let output = output_of(&mut client)?;
    client.result("resources/subscribe", json!({"uri": output}))?;
    client.text("write_stdin", &json!({"session_id": id, "chars": "one\n"}))?;
    let update = client.notification("notifications/resources/updated")?;
    assert_eq!(update["params"]["uri"], output);
    assert!(text(&mut client, &output)?.contains("got one"));
    client.result("resources/unsubscribe", json!({"uri": output}))?;

    let file = &format!("file://{}/later.txt", folder(&worker)?);
    client.result("resources/subscribe", json!({"uri": file}))?;
    // The watch begins in the background: the file is written until it is noticed.
    for round in 0.. {
        client.text(
            "exec_command",
            &json!({"cmd": format!("echo {round} > later.txt; echo other > unrelated.txt")}),
        )?;
        client.others.retain(|message| message["params"]["uri"] == file.as_str());
        if !client.others.is_empty() {
            break;
        }
        assert!(round < 1000, "no update came");
    }
    Ok(())
}

#[tokio::test]
async fn a_client_without_a_handshake_listens() -> Result<()> {
    let worker = TestWorker::small().await?;
    let mut client = McpClient::start(&worker, Era::Stateless)?;
    let started = client.call(
        "exec_command",
        &json!({"cmd": "while read line; do echo got $line; done", "yield_time_ms": 250}),
    )?;
    let id = started["structuredContent"]["session_id"].clone();
    let output = output_of(&mut client)?;
    let subscriptions = json!({"notifications": {"resourceSubscriptions": [output, "file:///etc/passwd"]}});
    let listening = client.begin("subscriptions/listen", subscriptions)?;
    let accepted = client.notification("notifications/subscriptions/acknowledged")?;
    assert_eq!(accepted["params"]["notifications"]["resourceSubscriptions"], json!([output]), "{accepted}");
    // The reader begins in the background.
    for round in 0.. {
        client.text("write_stdin", &json!({"session_id": id, "chars": format!("{round}\n")}))?;
        if client.others.iter().any(|message| message["method"] == "notifications/resources/updated") {
            break;
        }
        assert!(round < 1000, "no update came");
    }
    let update = client.notification("notifications/resources/updated")?;
    assert_eq!(update["params"]["uri"], output);
    assert_eq!(update["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], listening, "{update}");
    // The legacy method does not exist for it.
    assert_eq!(client.request("resources/subscribe", json!({"uri": output}))?["error"]["code"], -32601);
    Ok(())
}

#[tokio::test]
async fn subscriptions_have_a_limit() -> Result<()> {
    let worker = TestWorker::small().await?;
    let mut client = McpClient::start(&worker, Era::Handshake("2025-06-18"))?;
    client.text("exec_command", &json!({"cmd": "sleep 1000", "yield_time_ms": 250}))?;
    let output = output_of(&mut client)?;
    for from in 0..32 {
        client.result("resources/subscribe", json!({"uri": format!("{output}?from={from}")}))?;
    }
    let refused = client.request("resources/subscribe", json!({"uri": output}))?;
    assert!(refused["error"]["message"].as_str().is_some_and(|text| text.contains("32")), "{refused}");
    client.result("resources/unsubscribe", json!({"uri": format!("{output}?from=0")}))?;
    client.result("resources/subscribe", json!({"uri": output}))?;
    Ok(())
}

//! Secret variables of a session: programs have them, and nobody else sees them.

use anyhow::{Result, ensure};
use headwater_tests::TestServer;
use headwater_tests::host::eventually;
use headwater_tests::http::{json_of, text};
use serde_json::json;

use crate::calls::{called, content};

const SECRET: &str = "s3cret-value-of-the-key";

#[tokio::test]
async fn no_response_has_a_secret_and_the_programs_of_the_session_have_it() -> Result<()> {
    let mut server = TestServer::small().await?;
    let ann = server.user("ann", "member")?;
    let body = json!({"name": "secretive", "env": {"KEY": SECRET, "PLAIN": "shown"}, "secret_env": ["KEY"]});
    let made = ann.post("/v1/sessions", &body).await?;
    let session = text(&json_of(&made, 201)?["id"]);
    let path = format!("/v1/sessions/{session}");
    let patched = ann.patch(&path, &json!({"metadata": {"a": "b"}})).await?;
    let forked = ann.post(&format!("{path}/fork"), &json!({})).await?;
    let fork = text(&forked.json()?["id"]);
    server.kill_gateway().await?;
    server.kill_worker().await?;
    let mut answers = vec![made, patched, forked];
    for path in [path.clone(), format!("/v1/sessions/{fork}"), "/v1/sessions".into(), "/v1/audit".into()] {
        answers.push(ann.get(&path).await?);
    }
    for answer in &answers {
        ensure!(
            answer.status < 300 && !answer.text().contains(SECRET),
            "{} {}",
            answer.status,
            answer.text()
        );
    }
    let seen = ann.json(&path).await?;
    ensure!(
        seen["env"] == json!({"KEY": "", "PLAIN": "shown"}) && seen["secret_env"] == json!(["KEY"]),
        "{seen}"
    );
    for session in [&session, &fork] {
        ensure!(ann.run_in(session, "printenv KEY").await? == format!("{SECRET}\n"));
    }
    // On the same machine the command line asks the worker itself.
    let listed = server.command().args(["sessions", "list", "--json"]).output()?;
    ensure!(!String::from_utf8_lossy(&listed.stdout).contains(SECRET));
    Ok(())
}

#[tokio::test]
async fn a_secret_is_masked_in_what_a_model_reads_and_in_the_history() -> Result<()> {
    let server = TestServer::small().await?;
    let api = server.api();
    let session = api.session(&json!({"env": {"KEY": SECRET}, "secret_env": ["KEY"]})).await?;
    let q = format!("session={session}");
    let cmd = format!("echo \"key=$KEY\"; echo {SECRET}; echo $KEY >&2; sleep 0.2; echo $KEY > file");
    let path = format!("/v1/tools/exec_command?{q}");
    let mut stream = api.post_stream(&path, &json!({"cmd": cmd})).await?;
    let mut all = String::new();
    while let Some(event) = stream.next().await? {
        all += &event.data;
    }
    ensure!(all.contains("[KEY masked]") && !all.contains(SECRET), "{all}");
    for (tool, arguments) in [
        ("shell", json!({"command": ["printenv", "KEY"]})),
        ("shell_command", json!({"command": "printenv KEY"})),
        ("run_code", json!({"language": "python", "code": "import os\nprint(os.environ['KEY'])"})),
        ("read_file", json!({"file_path": "file"})),
    ] {
        let result = called(&api, tool, &q, &arguments).await?;
        ensure!(
            content(&result).contains("[KEY masked]") && !result.to_string().contains(SECRET),
            "{tool}: {result}"
        );
    }
    let path = format!("/v1/sessions/{session}/tool-calls");
    let complete =
        async || api.json(&path).await.is_ok_and(|list| list["items"].as_array().map_or(0, Vec::len) == 5);
    eventually("the history is complete", complete).await?;
    let history = api.get(&path).await?.text();
    ensure!(history.contains("[KEY masked]") && !history.contains(SECRET), "{history}");
    Ok(())
}

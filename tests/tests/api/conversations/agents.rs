//! Sub-agents: conversations below that of a person.

use anyhow::{Result, ensure};
use headwater_tests::http::{error_code, json_of, text, texts};
use serde_json::{Value, json};

use super::chat::{Chat, Talk, calls, on, runs, tool_calls, until};

fn spawn(message: &str, is_detached: bool) -> Value {
    calls("spawn_agent", &json!({"message": message, "detached": is_detached}))
}

async fn child(talk: &Talk, at: usize) -> Result<Talk> {
    let started = |now: &Value| {
        tool_calls(now).iter().filter_map(|call| call["child_id"].as_str().map(str::to_owned)).nth(at)
    };
    let now = talk.becomes("a sub-agent", |now| started(now).is_some()).await?;
    Ok(Talk { api: talk.api.clone(), id: started(&now).unwrap_or_default() })
}

fn script() -> Value {
    json!({"rules": [
        on("hang about", &[runs(&until("go")), json!({"text": "I am done."})]),
        on("ends attached", &[spawn("hang about", false), json!({"text": "{{hold}}Over."})]),
        on("ends detached", &[spawn("hang about", true), json!({"text": "Over."})]),
        on("say hello", &[json!({"text": "Hello from below."})]),
        on("only say", &[spawn("say hello", true), json!({"text": "Over."})]),
    ]})
}

#[tokio::test]
async fn a_sub_agent_is_linked_works_in_the_same_session_and_is_read_by_whoever_reads_its_parent()
-> Result<()> {
    let chat = Chat::new(&script()).await?;
    let (ann, vera, bob) = (
        chat.server.user("ann", "member")?,
        chat.server.user("vera", "member")?,
        chat.server.user("bob", "member")?,
    );
    let talk = Talk::new(&ann, &json!({"approval_policy": "unless-trusted"})).await?;
    talk.ask("ends detached").await?;
    let below = child(&talk, 0).await?;
    let now = below.now().await?;
    ensure!(now["parent_id"] == talk.id && now["owner"] == "ann", "{now:#}");
    ensure!(
        now["approval_policy"] == "unless-trusted" && now["session_id"] == talk.session().await?,
        "{now:#}"
    );
    // It is asked for below, and not in the list of a person.
    ensure!(
        texts(&ann.json(&format!("/v1/conversations?parent_id={}", talk.id)).await?, "id")
            == std::slice::from_ref(&below.id)
    );
    ensure!(texts(&ann.json("/v1/conversations").await?, "id") == std::slice::from_ref(&talk.id));
    json_of(&ann.put(&talk.path("/members/vera"), &json!({"role": "viewer"})).await?, 200)?;
    let link = json_of(&talk.post("/shares", &json!({"access": "read"})).await?, 201)?;
    let link = chat.server.api_with(&text(&link["token"]));
    let list = format!("/v1/conversations?parent_id={}", talk.id);
    for (name, api, status) in [("vera", &vera, 200), ("a link", &link, 200), ("bob", &bob, 404)] {
        for path in [below.path(""), below.path("/log"), list.clone()] {
            let found = api.get(&path).await?.status;
            ensure!(found == status, "{name}: {path}: {found}");
        }
        let written = below.by(api).post("/messages", &json!({"text": "x"})).await?.status;
        ensure!(written == if status == 200 { 403 } else { 404 }, "{name}: {written}");
    }
    // It is shared with its parent only.
    for (method, rest, body) in
        [("PUT", "/members/bob", json!({"role": "viewer"})), ("POST", "/shares", json!({"access": "read"}))]
    {
        let answer = ann.send(method, &below.path(rest), &[], &body).await?;
        ensure!(error_code(&answer, 409)? == "conflict", "{rest}");
    }
    // Deleted with its parent, whose program it ran ends.
    let asked = below.approval().await?;
    json_of(&below.decide(&asked, &json!({"decision": "allow_once"})).await?, 200)?;
    let execution = below.execution().await?;
    ensure!(
        vera.get(&format!("/v1/executions/{execution}")).await?.status == 200,
        "it belongs to the conversation"
    );
    ensure!(ann.delete(&talk.path("")).await?.status == 204);
    ensure!(error_code(&below.get("").await?, 404)? == "not_found");
    ensure!(ann.closed(&execution).await?["exit"]["code"] != 0);
    Ok(())
}

#[tokio::test]
async fn a_sub_agent_ends_with_the_turn_of_its_parent_unless_it_is_detached_also_over_a_kill() -> Result<()> {
    let mut chat = Chat::new(&script()).await?;
    let talk = chat.talk(&json!({})).await?;
    talk.say("ends attached").await?;
    let attached = child(&talk, 0).await?;
    let execution = attached.execution().await?;
    chat.held().await?;
    chat.server.kill_gateway().await?;
    // Both turns go on.
    chat.held().await?;
    ensure!(attached.now().await?["is_running"] == true);
    chat.model.release().await;
    talk.rests().await?;
    let now = attached.rests().await?;
    ensure!(now["turn"]["outcome"] == "stopped" && tool_calls(&now)[0]["state"] == "stopped", "{now:#}");
    ensure!(talk.api.closed(&execution).await?["exit"]["code"] != 0);
    let other = chat.talk(&json!({})).await?;
    other.ask("ends detached").await?;
    let detached = child(&other, 0).await?;
    detached.execution().await?;
    ensure!(detached.now().await?["is_running"] == true);
    detached.signal("go").await?;
    ensure!(detached.rests().await?["turn"]["outcome"] == "completed");
    Ok(())
}

#[tokio::test]
async fn the_number_and_depth_of_sub_agents_are_limited_by_the_server() -> Result<()> {
    let many: Vec<_> = (0..9)
        .map(|_| json!({"name": "spawn_agent", "arguments": {"message": "say hello", "detached": true}}))
        .collect();
    let script = json!({"rules": [
        on("say hello", &[json!({"text": "Hello."})]),
        on("many", &[json!({"tool_calls": many}), json!({"text": "Over."})]),
        // Each starts the next one below it, as long as it has the tool.
        {"when": {"last_user_contains": "deeper", "has_tool": "spawn_agent"},
            "turns": [spawn("deeper", true), {"text": "Below."}]},
        on("deeper", &[json!({"text": "The bottom."})]),
    ]});
    let chat = Chat::new(&script).await?;
    let talk = chat.talk(&json!({})).await?;
    let now = talk.ask("many").await?;
    let refused =
        tool_calls(&now).iter().filter(|call| text(&call["output"]["text"]).contains("the limit")).count();
    let list = talk.api.json(&format!("/v1/conversations?parent_id={}", talk.id)).await?;
    ensure!(refused == 1 && texts(&list, "id").len() == 8, "{refused}: {list:#}");
    let top = chat.talk(&json!({})).await?;
    top.ask("deeper").await?;
    let mut at = top;
    let mut depth = 0;
    while !tool_calls(&at.rests().await?).is_empty() {
        at = child(&at, 0).await?;
        depth += 1;
    }
    ensure!(depth == 2, "{depth}");
    Ok(())
}

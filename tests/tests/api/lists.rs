//! Lists: searching and filtering executions, sessions that have not ended, last activity.

use anyhow::Result;
use headwater_tests::host::eventually;
use headwater_tests::http::{error_code, json_of, text, texts};
use headwater_tests::{Api, TestServer};
use serde_json::{Value, json};

async fn ids(me: &Api, query: &str) -> Result<Vec<String>> {
    Ok(texts(&me.json(&format!("/v1/executions?{query}")).await?, "id"))
}

/// Starts an execution and waits for its end.
async fn ran(me: &Api, session: &str, body: &Value) -> Result<String> {
    let id = me.start(session, body).await?;
    me.closed(&id).await?;
    Ok(id)
}

#[tokio::test]
async fn executions_are_found_by_text_kind_and_outcome() -> Result<()> {
    let server = TestServer::small().await?;
    let me = server.api();
    let session = me.session(&json!({"name": "Night shift"})).await?;
    let other = me.session(&json!({})).await?;
    let shell = ran(&me, &session, &json!({"shell": "echo  Hello_World; exit 3"})).await?;
    let program = ran(&me, &other, &json!({"argv": ["echo", "50%", "Äpfel"]})).await?;
    let code =
        ran(&me, &other, &json!({"language": "python", "code": "import os\n\nprint('hello')"})).await?;
    let terminal = ran(
        &me,
        &other,
        &json!({"argv": ["true"], "tty": {"rows": 24, "cols": 80}, "metadata": {"a": "hello"}}),
    )
    .await?;
    let running = me.start(&other, &json!({"shell": "sleep 1000"})).await?;
    let expected: [(&str, &[&String]); 18] = [
        ("q=hello", &[&code, &shell]),
        ("q=ECHO%20hello_world", &[&shell]),
        ("q=helloxworld", &[]),
        ("q=50%25%20%C3%A4pfel", &[&program]),
        ("q=os%20PRINT(", &[&code]),
        ("q=night%20shift", &[&shell]),
        ("q=%27%20OR%201%3D1%20--", &[]),
        ("q=", &[&running, &terminal, &code, &program, &shell]),
        ("kind=shell", &[&running, &shell]),
        ("kind=program", &[&program]),
        ("kind=code", &[&code]),
        ("kind=terminal", &[&terminal]),
        ("outcome=succeeded", &[&terminal, &code, &program]),
        ("outcome=failed", &[&shell]),
        ("outcome=failed&state=running", &[]),
        ("q=hello&outcome=succeeded", &[&code]),
        ("q=hello&kind=shell&language=python", &[]),
        ("q=hello&outcome=failed&kind=shell&state=closed&owner=admin", &[&shell]),
    ];
    for (query, wanted) in expected {
        let found = ids(&me, query).await?;
        assert_eq!(found.iter().collect::<Vec<_>>(), wanted, "{query}");
    }
    assert_eq!(ids(&me, &format!("q={code}")).await?, [code.as_str()]);
    assert_eq!(ids(&me, &format!("q={}", &code[..16])).await?, [code.as_str()]);
    assert_eq!(ids(&me, &format!("q={session}")).await?, [shell.as_str()]);
    assert_eq!(ids(&me, &format!("q=echo&session_id={other}")).await?, [program.as_str()]);
    // A killed program has failed; its end is known at once.
    json_of(&me.post(&format!("/v1/executions/{running}/cancel"), &json!({"grace_ms": 0})).await?, 204)?;
    me.closed(&running).await?;
    assert_eq!(ids(&me, "outcome=failed").await?, [running, shell]);
    Ok(())
}

#[tokio::test]
async fn invalid_searches_are_refused_and_name_the_parameter() -> Result<()> {
    let server = TestServer::small().await?;
    let me = server.api();
    let long = format!("q={}", "x".repeat(201));
    for (query, named) in [
        (long.as_str(), "`q`"),
        ("outcome=running", "outcome"),
        ("outcome=", "outcome"),
        ("kind=window", "kind"),
        ("q=a&q=b", "q"),
    ] {
        let answer = me.get(&format!("/v1/executions?{query}")).await?;
        assert_eq!(error_code(&answer, 400)?, "invalid_request", "{query}");
        assert!(answer.text().contains(named), "{query}: {}", answer.text());
    }
    error_code(&me.get("/v1/sessions?ended=perhaps").await?, 400)?;
    json_of(&me.get(&format!("/v1/executions?q={}", "%C3%A4".repeat(200))).await?, 200)?;
    Ok(())
}

#[tokio::test]
async fn a_search_finds_nothing_of_others_and_operators_select_an_owner() -> Result<()> {
    let server = TestServer::small().await?;
    let (admin, ann, bob) = (server.api(), server.user("ann", "member")?, server.user("bob", "member")?);
    let (hers, his) = (ann.session(&json!({"name": "secret plan"})).await?, bob.session(&json!({})).await?);
    let hers_ran = ran(&ann, &hers, &json!({"shell": "echo same"})).await?;
    let his_ran = ran(&bob, &his, &json!({"shell": "echo same; exit 1"})).await?;
    let one_shot = json_of(&bob.post("/v1/executions", &json!({"shell": "true"})).await?, 201)?;
    assert_eq!(one_shot["owner"], "bob");
    bob.closed(&text(&one_shot["id"])).await?;

    assert_eq!(ids(&ann, "q=same").await?, [hers_ran.as_str()]);
    assert_eq!(ids(&ann, "q=same&owner=ann").await?, [hers_ran.as_str()]);
    assert!(ids(&ann, "outcome=failed").await?.is_empty());
    for query in [format!("q={his_ran}"), format!("q={his}")] {
        assert!(ids(&ann, &query).await?.is_empty(), "{query}");
    }
    assert!(ids(&bob, "q=secret").await?.is_empty());
    let refused = ann.get("/v1/executions?owner=bob").await?;
    assert_eq!(error_code(&refused, 403)?, "forbidden");
    assert_eq!(error_code(&ann.get("/v1/executions?owner=nobody").await?, 403)?, "forbidden");

    assert_eq!(ids(&admin, "q=same").await?, [his_ran.as_str(), hers_ran.as_str()]);
    let page = admin.json("/v1/executions?owner=bob").await?;
    assert_eq!((texts(&page, "owner"), texts(&page, "id").len()), (vec!["bob".to_owned(); 2], 2));
    assert_eq!(ids(&admin, "owner=bob&outcome=failed").await?, [his_ran.as_str()]);
    assert!(ids(&admin, "owner=nobody").await?.is_empty());
    assert_eq!(admin.json(&format!("/v1/executions/{hers_ran}")).await?["owner"], "ann");

    // A member searches a session that is shared with him, and what he starts there belongs to its owner.
    let member = json!({"role": "editor"});
    json_of(&ann.put(&format!("/v1/sessions/{hers}/members/bob"), &member).await?, 200)?;
    assert_eq!(ids(&bob, &format!("session_id={hers}&q=same&owner=ann")).await?, [hers_ran.as_str()]);
    assert!(ids(&bob, &format!("session_id={hers}&owner=bob")).await?.is_empty());
    let guest = json_of(
        &bob.post(&format!("/v1/sessions/{hers}/executions"), &json!({"shell": "echo guest"})).await?,
        201,
    )?;
    assert_eq!(guest["owner"], "ann");
    assert!(ids(&bob, "q=guest").await?.is_empty());
    assert_eq!(ids(&ann, "q=guest").await?, [text(&guest["id"])]);
    Ok(())
}

#[tokio::test]
async fn pages_of_a_search_show_each_once_the_newest_first() -> Result<()> {
    let server = TestServer::small().await?;
    let me = server.api();
    let session = me.session(&json!({})).await?;
    let mut wanted = Vec::new();
    for index in 0..22 {
        let line = if index % 2 == 0 { "echo wanted; exit 1" } else { "echo other; exit 1" };
        let id = ran(&me, &session, &json!({"shell": line})).await?;
        if index % 2 == 0 {
            wanted.insert(0, id);
        }
    }
    for limit in [1, 3, 9, 11, 100] {
        let (mut seen, mut cursor) = (Vec::new(), String::new());
        loop {
            let query = format!("/v1/executions?q=WANTED&outcome=failed&kind=shell&limit={limit}{cursor}");
            let page = me.json(&query).await?;
            let found = texts(&page, "id");
            assert!(found.len() == limit || page["next_cursor"].is_null(), "{page}");
            seen.extend(found);
            let Some(next) = page["next_cursor"].as_str() else { break };
            cursor = format!("&cursor={next}");
        }
        assert_eq!(seen, wanted, "{limit}");
    }
    Ok(())
}

#[tokio::test]
async fn sessions_are_searched_by_name_metadata_owner_and_id() -> Result<()> {
    let server = TestServer::small().await?;
    let (me, eve) = (server.api(), server.user("eve", "member")?);
    let mine = me.session(&json!({"name": "API server", "metadata": {"ticket": "HW-7"}})).await?;
    let hers = eve.session(&json!({"name": "api client"})).await?;
    let found = async |api: &Api, text: &str| {
        let page = api.json(&format!("/v1/sessions?q={text}")).await?;
        anyhow::Ok(texts(&page, "id"))
    };
    for text in ["api%20serv", "hw-7", &mine, &mine[..12]] {
        assert_eq!(found(&me, text).await?, [mine.as_str()], "{text}");
    }
    assert_eq!(found(&me, "API").await?, [hers.as_str(), &mine]);
    assert_eq!(found(&me, "eve").await?, [hers.as_str()]);
    assert_eq!(found(&me, "%20").await?.len(), 2, "a blank text selects everything");
    assert_eq!(found(&eve, "api").await?, [hers.as_str()], "nobody finds the sessions of others");
    assert!(found(&eve, &mine).await?.is_empty());
    json_of(&me.patch(&format!("/v1/sessions/{mine}"), &json!({"name": "renamed"})).await?, 200)?;
    assert_eq!(found(&me, "renamed").await?, [mine.as_str()]);
    assert!(found(&me, "serv").await?.is_empty());
    let long = me.get(&format!("/v1/sessions?q={}", "x".repeat(201))).await?;
    assert_eq!(error_code(&long, 400)?, "invalid_request");
    Ok(())
}

#[tokio::test]
async fn sessions_show_their_last_activity_and_those_that_have_not_ended_are_selected() -> Result<()> {
    let server = TestServer::small().await?;
    let me = server.api();
    let created = json_of(&me.post("/v1/sessions", &json!({"name": "a"})).await?, 201)?;
    let (used, idle) = (text(&created["id"]), me.session(&json!({"name": "b"})).await?);
    assert_eq!(created["last_activity_at"], created["created_at"]);
    let path = format!("/v1/sessions/{used}");
    let execution = me.start(&used, &json!({"shell": "read line", "stdin": "open"})).await?;
    let begun = text(&me.json(&path).await?["last_activity_at"]);
    assert!(begun > text(&created["created_at"]), "{begun}");
    me.write_input(&execution, b"go\n").await?;
    let exited = text(&me.closed(&execution).await?["exited_at"]);
    eventually("the end counts as activity", async || {
        me.json(&path).await.is_ok_and(|session| text(&session["last_activity_at"]) >= exited)
    })
    .await?;
    let listed = me.json("/v1/sessions").await?;
    assert_eq!(listed["items"][1]["last_activity_at"], me.json(&path).await?["last_activity_at"]);
    assert_eq!(listed["items"][0]["last_activity_at"], listed["items"][0]["created_at"]);

    let ended = me.session(&json!({})).await?;
    json_of(&me.delete(&format!("/v1/sessions/{ended}?keep_logs=true")).await?, 204)?;
    json_of(&me.post(&format!("/v1/sessions/{idle}/hibernate"), &json!({})).await?, 200)?;
    let list = async |query: &str| anyhow::Ok(texts(&me.json(&format!("/v1/sessions?{query}")).await?, "id"));
    assert_eq!(list("ended=false").await?, [idle.as_str(), used.as_str()]);
    assert_eq!(list("ended=true").await?, [ended.as_str()]);
    assert_eq!(list("ended=false&state=hibernated").await?, [idle.as_str()]);
    assert!(list("ended=true&state=ready").await?.is_empty());
    assert_eq!(list("").await?.len(), 3);
    let first = me.json("/v1/sessions?ended=false&limit=1").await?;
    let rest = format!("ended=false&limit=1&cursor={}", text(&first["next_cursor"]));
    assert_eq!((texts(&first, "id"), list(&rest).await?), (vec![idle], vec![used]));
    Ok(())
}

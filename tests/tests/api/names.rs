//! A session by its name or a unique prefix of its id, wherever a session is expected; names are unique for each owner.

use anyhow::Result;
use futures_util::future::join_all;
use headwater_tests::TestServer;
use headwater_tests::http::{error_code, json_of, text};
use serde_json::json;

#[tokio::test]
async fn a_session_is_found_by_name_and_prefix_on_native_routes_tools_and_snapshots() -> Result<()> {
    let server = TestServer::small().await?;
    let me = server.api();
    let id = me.session(&json!({"name": "my work"})).await?;
    for name in ["my%20work", &id[..14], &id[4..14], &id] {
        let at = |rest: &str| format!("/v1/sessions/{name}{rest}");
        assert_eq!(me.json(&at("")).await?["id"], id.as_str(), "{name}");
        let started = json_of(&me.post(&at("/executions"), &json!({"shell": "echo hi > file"})).await?, 201)?;
        me.closed(&text(&started["id"])).await?;
        assert_eq!(me.get(&at("/files/content?path=file")).await?.text(), "hi\n");
        let snapshot = json_of(&me.post(&at("/snapshots"), &json!({})).await?, 201)?;
        let restore = at(&format!("/snapshots/{}/restore", text(&snapshot["id"])));
        json_of(&me.post(&restore, &json!({})).await?, 200)?;
        json_of(&me.delete(&at(&format!("/snapshots/{}", text(&snapshot["id"])))).await?, 204)?;
        let changed = json_of(&me.patch(&at(""), &json!({"metadata": {"a": "b"}})).await?, 200)?;
        assert_eq!(changed["id"], id.as_str());
        assert_eq!(me.get(&at("/terminals")).await?.status, 200);
        assert_eq!(me.get(&at("/members")).await?.status, 200);
        assert_eq!(me.get(&at("/python/packages")).await?.status, 200);
        let listed = me.json(&format!("/v1/executions?session_id={name}")).await?;
        assert!(!listed["items"].as_array().is_none_or(Vec::is_empty), "{name}");
    }
    for name in ["my work", &id[..14]] {
        let call = json!({"runtime": "python", "code": "print(open('file').read())", "session_id": name});
        let result = json_of(&me.post("/v1/tools/code_execution", &call).await?, 200)?;
        assert!(result.to_string().contains("hi"), "{result}");
        let prune = json!({"session_id": name, "all": true, "dry_run": true});
        json_of(&me.post("/v1/prune", &prune).await?, 200)?;
        let token = json_of(&me.post("/v1/tokens", &json!({"sessions": [name]})).await?, 201)?;
        assert_eq!(token["sessions"], json!([id]));
    }
    assert_eq!(me.post("/v1/tokens", &json!({"sessions": ["another"]})).await?.status, 404);
    json_of(&me.post("/v1/sessions/my%20work/hibernate", &json!({})).await?, 200)?;
    assert_eq!(me.json("/v1/sessions/my%20work").await?["state"], "hibernated");
    json_of(&me.delete("/v1/sessions/my%20work").await?, 204)?;
    assert_eq!(me.get("/v1/sessions/my%20work").await?.status, 404);
    Ok(())
}

#[tokio::test]
async fn a_name_is_unique_among_the_live_sessions_of_an_owner_even_if_many_ask_at_once() -> Result<()> {
    let server = TestServer::small().await?;
    let (ann, bob) = (server.user("ann", "member")?, server.user("bob", "member")?);
    let dev = json!({"name": "dev"});
    let many = join_all((0..8).map(|_| ann.post("/v1/sessions", &dev))).await;
    let statuses: Vec<u16> = many.into_iter().map(|one| one.map(|one| one.status)).collect::<Result<_>>()?;
    assert_eq!(statuses.iter().filter(|status| **status == 201).count(), 1, "{statuses:?}");
    assert_eq!(statuses.iter().filter(|status| **status == 409).count(), 7, "{statuses:?}");
    assert_eq!(
        ann.json("/v1/sessions").await?["items"].as_array().map(Vec::len),
        Some(1),
        "the others are gone"
    );
    // Another owner has another namespace.
    let anns = text(&ann.json("/v1/sessions/dev").await?["id"]);
    let bobs = bob.session(&json!({"name": "dev"})).await?;
    assert_ne!(anns, bobs);
    assert_eq!(bob.json("/v1/sessions/dev").await?["id"], bobs.as_str());
    assert_eq!(server.api().get("/v1/sessions/dev").await?.status, 404, "the operator's own names");
    // Renaming and forking follow the same rule.
    let other = ann.session(&json!({"name": "other"})).await?;
    let path = format!("/v1/sessions/{other}");
    let refused = ann.patch(&path, &json!({"name": "dev"})).await?;
    assert_eq!(error_code(&refused, 409)?, "name_taken");
    assert_eq!(ann.json(&path).await?["name"], "other");
    let refused = ann.post(&format!("{path}/fork"), &json!({"name": "dev"})).await?;
    assert_eq!(error_code(&refused, 409)?, "name_taken");
    json_of(&ann.patch(&path, &json!({"name": "renamed"})).await?, 200)?;
    assert_eq!(ann.json("/v1/sessions/renamed").await?["id"], other.as_str());
    assert_eq!(ann.get("/v1/sessions/other").await?.status, 404);
    // The name is free again after the end, and stays unique over a restart.
    json_of(&ann.delete("/v1/sessions/dev").await?, 204)?;
    ann.session(&json!({"name": "dev"})).await?;
    let refused = ann.post("/v1/sessions", &json!({"name": "renamed"})).await?;
    assert_eq!(error_code(&refused, 409)?, "name_taken");
    Ok(())
}

#[tokio::test]
async fn a_prefix_of_several_ids_is_refused_with_the_candidates() -> Result<()> {
    let server = TestServer::small().await?;
    let me = server.api();
    let mut ids = Vec::new();
    // Of 17 ids two begin with the same digit.
    for _ in 0..17 {
        ids.push(me.session(&json!({})).await?);
    }
    let digit = |id: &String| id[4..5].to_owned();
    let twice = ids.iter().map(digit).find(|one| ids.iter().filter(|id| digit(id) == *one).count() > 1);
    let refused = me.get(&format!("/v1/sessions/{}", twice.expect("there are sixteen digits"))).await?;
    assert_eq!(error_code(&refused, 409)?, "ambiguous_id");
    assert!(refused.text().contains("ses_"), "{}", refused.text());
    let missing = me.get("/v1/sessions/nobody/files/content?path=x").await?;
    assert_eq!(error_code(&missing, 404)?, "not_found");
    Ok(())
}

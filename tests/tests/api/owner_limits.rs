//! Limits of each owner: an owner at its limit leaves room for the others, and gets its own back.

use anyhow::{Context, Result, ensure};
use headwater_tests::host::eventually;
use headwater_tests::http::{error_code, json_of, peek_status, text};
use headwater_tests::{Api, TestServer};
use serde_json::{Value, json};
use tokio::net::TcpStream;

/// Archive jobs of one session and of one owner, as the worker limits them. Four owners at their limit reach the limit of all.
const OF_SESSION: usize = 8;
const OF_OWNER: usize = 16;
const WATCHES_OF_OWNER: usize = 24;

/// A request whose response is not read, and its status.
async fn unread(api: &Api, path: &str) -> Result<(TcpStream, u16)> {
    let accept = [("Accept", "text/event-stream")];
    let stream = api.open_unread("GET", path, &accept, &Value::Null).await?;
    let status = peek_status(&stream).await?;
    Ok((stream, status))
}

/// A session with a file that is larger than all buffers.
async fn session(api: &Api) -> Result<String> {
    let session = api.session(&json!({})).await?;
    let id = api.start(&session, &json!({"shell": "head -c 16000000 /dev/zero > large"})).await?;
    ensure!(api.closed(&id).await?["exit"]["code"] == 0);
    Ok(session)
}

/// An owner below its limits can do everything.
async fn can_work(api: &Api, session: &str) -> Result<()> {
    let path = format!("/v1/sessions/{session}/files");
    ensure!(api.json(&format!("{path}/search?name=*")).await?["summary"]["matches"] == 1);
    ensure!(api.json(&format!("{path}/diff")).await?["truncated"] == false);
    ensure!(api.get(&format!("{path}/archive")).await?.body.len() > 16_000_000);
    json_of(&api.post(&format!("/v1/sessions/{session}/snapshots"), &json!({})).await?, 201)?;
    Ok(())
}

/// The limit of the owner holds in its other sessions too, and the refusal says so.
async fn is_at_its_limit(owner: &Api, path: &str, other: &str) -> Result<()> {
    let answer = owner.get(path).await?;
    let retries = answer.header("retry-after").is_some();
    ensure!(error_code(&answer, 429)? == "exhausted" && retries, "{}", answer.text());
    let answer = owner.get(&format!("/v1/sessions/{other}/files/search?name=*")).await?;
    ensure!(error_code(&answer, 429)? == "exhausted", "{}", answer.text());
    ensure!(answer.text().contains("of this owner"), "{}", answer.text());
    Ok(())
}

#[tokio::test]
async fn unread_downloads_of_four_owners_do_not_block_a_fifth_and_end() -> Result<()> {
    // Long enough that a busy machine opens all downloads before the first one ends.
    let server = TestServer::configured("[server]\nwrite_timeout = \"30s\"\n").await?;
    let (eve, mut downloads) = (server.user("eve", "member")?, Vec::new());
    let eves = session(&eve).await?;
    for name in ["ann", "bob", "cid", "dan"] {
        let owner = server.user(name, "member")?;
        for _ in 0..OF_OWNER / OF_SESSION {
            let path = format!("/v1/sessions/{}/files/archive", session(&owner).await?);
            downloads.push((owner.clone(), path));
        }
    }
    let (ann, path) = downloads.first().cloned().context("no owner")?;
    let third = session(&ann).await?;
    let mut held = Vec::new();
    for (owner, path) in downloads.iter().flat_map(|one| std::iter::repeat_n(one, OF_SESSION)) {
        let (stream, status) = unread(owner, path).await?;
        ensure!(status == 200, "an owner is refused below its limit: {status}");
        held.push(stream);
        if held.len() == OF_OWNER {
            // Those of the first owner are open. On a busy machine they may have ended before all others are.
            is_at_its_limit(&ann, path, &third).await?;
        }
    }
    // As many downloads hang as the limit of all, and another owner still works.
    can_work(&eve, &eves).await?;
    // Downloads that are not read end, and their permits are free again.
    eventually("stuck downloads end", async || ann.get(&path).await.is_ok_and(|answer| answer.status == 200))
        .await?;
    can_work(&ann, &third).await
}

#[tokio::test]
async fn an_owner_with_all_its_watches_leaves_the_others_theirs() -> Result<()> {
    let server = TestServer::configured("[server]\n").await?;
    let (ann, bob) = (server.user("ann", "member")?, server.user("bob", "member")?);
    let mut sessions = Vec::new();
    for _ in 0..2 {
        sessions.push(ann.session(&json!({})).await?);
    }
    let (mut held, mut refused) = (Vec::new(), 0);
    for n in 0..WATCHES_OF_OWNER + 2 {
        let path = format!("/v1/sessions/{}/files/watch", sessions[n % 2]);
        match unread(&ann, &path).await? {
            (stream, 200) => held.push(stream),
            (_, 429) => refused += 1,
            (_, status) => anyhow::bail!("{status}"),
        }
    }
    ensure!(held.len() == WATCHES_OF_OWNER && refused == 2, "{} and {refused}", held.len());
    let path = format!("/v1/sessions/{}/files/watch", bob.session(&json!({})).await?);
    ensure!(unread(&bob, &path).await?.1 == 200, "bob has no watch");
    held.clear();
    let path = format!("/v1/sessions/{}/files/watch", sessions[0]);
    eventually("closed watches free their permits", async || {
        unread(&ann, &path).await.is_ok_and(|(_, status)| status == 200)
    })
    .await
}

#[tokio::test]
async fn an_address_has_its_share_of_connections_and_gets_them_back() -> Result<()> {
    let server = TestServer::configured("[server]\nmax_connections_of_address = 20\n").await?;
    let me = server.api();
    let mut idle = Vec::new();
    for _ in 0..19 {
        idle.push(TcpStream::connect(server.address()).await?);
    }
    // Earlier connections may not be closed yet.
    let accepted = async || me.get("/v1/sessions").await.is_ok_and(|answer| answer.status == 200);
    eventually("the last connection is accepted", accepted).await?;
    // The connection of the last request may not be closed yet: then the idle one is refused in its place, and a later
    // request is accepted. So the answer that is checked is the one that was refused.
    let mut refused = Value::Null;
    eventually("one more is refused", async || {
        idle.extend(TcpStream::connect(server.address()).await);
        let Ok(answer) = me.get("/v1/sessions").await else { return false };
        let is_refused = answer.status == 429;
        refused = answer.json().unwrap_or_default();
        is_refused
    })
    .await?;
    ensure!(text(&refused["error"]["code"]) == "too_many_connections", "{refused}");
    idle.clear();
    eventually("closed connections free their permits", async || {
        me.get("/v1/sessions").await.is_ok_and(|answer| answer.status == 200)
    })
    .await
}

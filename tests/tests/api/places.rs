//! Places that owners share: whoever takes all that it may have leaves room for the others, and gets its own back.

use anyhow::{Result, ensure};
use headwater_tests::host::eventually;
use headwater_tests::{ServerOptions, TestServer};
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpSocket, TcpStream};

use crate::ask::{Asker, bad, good, text};

/// Places of one session and of one owner, as the worker has them; with four owners, as many as may work at once in all.
const OF_SESSION: usize = 8;
const OF_OWNER: usize = 16;
const WATCHES_OF_OWNER: usize = 24;

async fn server(config: &str) -> Result<TestServer> {
    let config = Some(format!("pool = 1\n[server]\n{config}"));
    TestServer::with(ServerOptions { config, ..ServerOptions::default() }).await
}

/// A request whose answer is not read, and the status with which it begins.
async fn unread(server: &TestServer, who: &Asker, path: &str) -> Result<(TcpStream, u16)> {
    let socket = TcpSocket::new_v4()?;
    socket.set_recv_buffer_size(16 << 10)?;
    let mut stream = socket.connect(server.address().parse()?).await?;
    let (address, token) = (server.address(), who.token());
    let head = format!(
        "GET {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
         Accept: text/event-stream\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await?;
    let mut head = [0; 12];
    eventually("an answer begins", async || stream.peek(&mut head).await.is_ok_and(|n| n == head.len()))
        .await?;
    Ok((stream, std::str::from_utf8(&head[9..])?.parse()?))
}

/// A session with a file that no buffer holds.
async fn session(who: &Asker) -> Result<String> {
    let session = who.session(&json!({})).await?;
    let id = who.start(&session, &json!({"shell": "head -c 16000000 /dev/zero > large"})).await?;
    ensure!(who.ended(&id).await?["exit"]["code"] == 0);
    Ok(session)
}

/// Whoever has done nothing yet can do everything.
async fn can_work(who: &Asker, session: &str) -> Result<()> {
    let path = format!("/v1/sessions/{session}/files");
    ensure!(who.json(&format!("{path}/search?name=*")).await?["summary"]["matches"] == 1);
    ensure!(who.json(&format!("{path}/diff")).await?["truncated"] == false);
    ensure!(who.get(&format!("{path}/archive")).await?.body.len() > 16_000_000);
    good(&who.post(&format!("/v1/sessions/{session}/snapshots"), &json!({})).await?, 201)?;
    Ok(())
}

#[tokio::test]
async fn unread_downloads_of_four_owners_leave_a_fifth_room_and_end() -> Result<()> {
    let server = server("write_timeout = \"15s\"\n").await?;
    let mut held = Vec::new();
    let mut first = None;
    let eve = Asker::user(&server, "eve", "member")?;
    let eves = session(&eve).await?;
    for name in ["ann", "bob", "cid", "dan"] {
        let who = Asker::user(&server, name, "member")?;
        for _ in 0..OF_OWNER / OF_SESSION {
            let path = format!("/v1/sessions/{}/files/archive", session(&who).await?);
            for _ in 0..OF_SESSION {
                let (stream, status) = unread(&server, &who, &path).await?;
                ensure!(status == 200, "{name} is refused what it may have: {status}");
                held.push(stream);
            }
            first.get_or_insert((who.clone(), path));
        }
    }
    let (ann, path) = first.ok_or_else(|| anyhow::anyhow!("nobody"))?;
    // All that one owner may have, in another session too, and the refusal says so.
    let answer = ann.get(&path).await?;
    ensure!(bad(&answer, 429)? == "exhausted" && answer.header("retry-after").is_some(), "{}", answer.text());
    let third = session(&ann).await?;
    let answer = ann.get(&format!("/v1/sessions/{third}/files/search?name=*")).await?;
    ensure!(bad(&answer, 429)? == "exhausted", "{}", answer.text());
    ensure!(answer.text().contains("of this owner"), "{}", answer.text());
    // As many downloads hang as may work at once, and others work all the same.
    can_work(&eve, &eves).await?;
    // Who does not read is let go, and the places are free again.
    eventually("stuck downloads end", async || ann.get(&path).await.is_ok_and(|answer| answer.status == 200))
        .await?;
    can_work(&ann, &third).await
}

#[tokio::test]
async fn an_owner_with_all_its_watches_leaves_the_others_theirs() -> Result<()> {
    let server = server("").await?;
    let (ann, bob) = (Asker::user(&server, "ann", "member")?, Asker::user(&server, "bob", "member")?);
    let mut sessions = Vec::new();
    for _ in 0..2 {
        sessions.push(ann.session(&json!({})).await?);
    }
    let (mut held, mut refused) = (Vec::new(), 0);
    for n in 0..WATCHES_OF_OWNER + 2 {
        let path = format!("/v1/sessions/{}/files/watch", sessions[n % 2]);
        match unread(&server, &ann, &path).await? {
            (stream, 200) => held.push(stream),
            (_, 429) => refused += 1,
            (_, status) => anyhow::bail!("{status}"),
        }
    }
    ensure!(held.len() == WATCHES_OF_OWNER && refused == 2, "{} and {refused}", held.len());
    let path = format!("/v1/sessions/{}/files/watch", bob.session(&json!({})).await?);
    ensure!(unread(&server, &bob, &path).await?.1 == 200, "bob has no watch");
    held.clear();
    let path = format!("/v1/sessions/{}/files/watch", sessions[0]);
    eventually("closed watches free their places", async || {
        unread(&server, &ann, &path).await.is_ok_and(|(_, status)| status == 200)
    })
    .await
}

#[tokio::test]
async fn an_address_has_its_share_of_connections_and_gets_them_back() -> Result<()> {
    let server = server("max_connections_of_address = 20\n").await?;
    let me = Asker::admin(&server);
    let mut idle = Vec::new();
    for _ in 0..19 {
        idle.push(TcpStream::connect(server.address()).await?);
    }
    ensure!(me.get("/v1/sessions").await?.status == 200, "the last place");
    idle.push(TcpStream::connect(server.address()).await?);
    let refused = async || me.get("/v1/sessions").await.is_ok_and(|answer| answer.status == 429);
    eventually("one more is refused", refused).await?;
    let told = me.get("/v1/sessions").await?.json()?;
    ensure!(text(&told["error"]["code"]) == "too_many_connections", "{told}");
    idle.clear();
    eventually("closed connections free their places", async || {
        me.get("/v1/sessions").await.is_ok_and(|answer| answer.status == 200)
    })
    .await
}

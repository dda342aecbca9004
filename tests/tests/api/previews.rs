//! Ports of sessions: listing them, and using them through a preview on an origin of its own.

use anyhow::{Context, Result, ensure};
use headwater_tests::host::eventually;
use headwater_tests::http::{self, Response, error_code, json_of, text};
use headwater_tests::{Api, TestServer};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// A web server that answers with the request as it arrived, and echoes what follows an upgrade.
const PROGRAM: &str = r#"
import http.server, os
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        if self.headers.get("Upgrade"):
            self.send_response(101); self.send_header("Connection", "Upgrade")
            self.send_header("Upgrade", self.headers["Upgrade"]); self.end_headers(); self.wfile.flush()
            while (data := self.connection.recv(4096)): self.connection.sendall(data.upper())
            self.close_connection = True
            return
        length = int(self.headers.get("Content-Length", 0))
        body = (self.requestline + "\n" + str(self.headers)).encode() + self.rfile.read(length)
        self.send_response(200)
        self.send_header("Set-Cookie", "a=1; Domain=localhost; Path=/")
        self.send_header("Content-Length", str(len(body))); self.end_headers(); self.wfile.write(body)
    do_POST = do_GET
    def log_message(self, *rest): pass
class Server(http.server.ThreadingHTTPServer):
    address_family = __import__("socket").AF_INET6 if os.environ.get("V6") else __import__("socket").AF_INET
print("ready", flush=True)
Server(("::1" if os.environ.get("V6") else "127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
"#;

async fn listen(me: &Api, session: &str, env: Value) -> Result<()> {
    let port = text(&env["PORT"]).parse::<u16>()?;
    me.start(session, &json!({"argv": ["python3", "-c", PROGRAM], "env": env})).await?;
    eventually("the program listens", async || {
        ports(me, session).await.is_ok_and(|ports| ports.contains(&json!(port)))
    })
    .await
}

async fn ports(me: &Api, session: &str) -> Result<Vec<Value>> {
    let list = me.json(&format!("/v1/sessions/{session}/ports")).await?;
    Ok(list["items"].as_array().context("no list")?.iter().map(|item| item["port"].clone()).collect())
}

/// The host name of a new preview.
async fn preview(me: &Api, session: &str, port: u16) -> Result<String> {
    let made = me.post(&format!("/v1/sessions/{session}/previews"), &json!({"port": port})).await?;
    let url = text(&json_of(&made, 201)?["url"]);
    let host = url
        .strip_prefix("http://")
        .and_then(|rest| rest.strip_suffix('/'))
        .context("an unexpected address")?;
    Ok(host.to_owned())
}

async fn get(server: &TestServer, host: &str, path: &str, headers: &[(&str, &str)]) -> Result<Response> {
    let headers = [&[("Host", host)], headers].concat();
    http::request(server.address(), "GET", path, &headers, b"").await
}

#[tokio::test]
async fn a_preview_passes_requests_to_the_program_without_any_credential_of_the_server() -> Result<()> {
    let server = TestServer::small().await?;
    let me = server.api();
    let session = me.session(&json!({})).await?;
    assert!(ports(&me, &session).await?.is_empty());
    listen(&me, &session, json!({"PORT": "8000"})).await?;
    let host = preview(&me, &session, 8000).await?;
    assert!(host.contains(".localhost:"), "{host}");

    let bearer = format!("Bearer {}", server.token());
    let cookies = format!("headwater_session={}; theme=dark", server.token());
    let sent = [
        ("Authorization", bearer.as_str()),
        ("Cookie", cookies.as_str()),
        ("Origin", &format!("http://{host}")),
    ];
    // A path that the server's own routes would rewrite.
    let answer = get(&server, &host, "/api/v1/sessions?a=b", &sent).await?;
    let seen = answer.text();
    assert_eq!(answer.status, 200, "{seen}");
    assert!(seen.starts_with("GET /api/v1/sessions?a=b HTTP/1.1\n"), "{seen}");
    assert!(!seen.contains(server.token()), "{seen}");
    for line in ["host: localhost:8000", "origin: http://localhost:8000", "cookie: theme=dark"] {
        assert!(seen.to_lowercase().contains(line), "{line} in {seen}");
    }
    assert_eq!(answer.header("set-cookie"), Some("a=1; Path=/"));
    assert_eq!(answer.header("referrer-policy"), Some("same-origin"));

    let body = vec![b'x'; 3 << 20];
    let answer = http::request(server.address(), "POST", "/", &[("Host", &host)], &body).await?;
    assert!(answer.body.ends_with(&body), "a large body passes both ways");
    Ok(())
}

#[tokio::test]
async fn a_websocket_passes_through_a_preview() -> Result<()> {
    let server = TestServer::small().await?;
    let me = server.api();
    let session = me.session(&json!({})).await?;
    listen(&me, &session, json!({"PORT": "8000"})).await?;
    let host = preview(&me, &session, 8000).await?;
    let headers = [("Host", host.as_str()), ("Connection", "Upgrade"), ("Upgrade", "websocket")];
    let mut stream = http::send(server.address(), "GET", "/", &headers, b"").await?;
    assert_eq!(http::read(&mut stream, false).await?.status, 101);
    for word in ["hello", "again"] {
        stream.write_all(word.as_bytes()).await?;
        let mut echoed = vec![0; word.len()];
        stream.read_exact(&mut echoed).await?;
        assert_eq!(String::from_utf8(echoed)?, word.to_uppercase());
    }
    Ok(())
}

#[tokio::test]
async fn a_program_that_listens_on_ipv6_only_is_reached_too() -> Result<()> {
    let server = TestServer::small().await?;
    let me = server.api();
    let session = me.session(&json!({})).await?;
    listen(&me, &session, json!({"PORT": "8006", "V6": "1"})).await?;
    let host = preview(&me, &session, 8006).await?;
    assert_eq!(get(&server, &host, "/", &[]).await?.status, 200);
    Ok(())
}

#[tokio::test]
async fn previews_of_two_sessions_are_apart_and_outlive_a_restart_of_the_server() -> Result<()> {
    let mut server = TestServer::small().await?;
    let me = server.api();
    let (one, other) = (me.session(&json!({})).await?, me.session(&json!({})).await?);
    listen(&me, &one, json!({"PORT": "8000", "V6": ""})).await?;
    let (of_one, of_other) = (preview(&me, &one, 8000).await?, preview(&me, &other, 8000).await?);
    assert_eq!(get(&server, &of_one, "/", &[]).await?.status, 200);
    let nothing = get(&server, &of_other, "/", &[("Accept", "text/html")]).await?;
    assert_eq!((nothing.status, nothing.header("refresh")), (502, Some("2")));
    assert!(nothing.text().contains("nothing listens on port 8000"), "{}", nothing.text());
    server.kill_gateway().await?;
    assert_eq!(get(&server, &of_one, "/", &[]).await?.status, 200);
    json_of(&server.api().delete(&format!("/v1/sessions/{one}")).await?, 204)?;
    assert_eq!(get(&server, &of_one, "/", &[]).await?.status, 502);
    Ok(())
}

#[tokio::test]
async fn a_preview_is_no_way_to_the_server_or_to_its_host() -> Result<()> {
    let server = TestServer::small().await?;
    let me = server.api();
    let session = me.session(&json!({})).await?;
    let port = server.address().rsplit(':').next().context("no port")?.parse::<u16>()?;
    // The port of the server itself exists on the host only, not inside the session.
    let host = preview(&me, &session, port).await?;
    assert_eq!(get(&server, &host, "/healthz", &[]).await?.status, 502);
    // A changed name, and one that only resembles a preview.
    let changed = format!("{}{}", if host.starts_with('0') { '1' } else { '0' }, &host[1..]);
    let answer = get(&server, &changed, "/healthz", &[]).await?;
    assert_eq!(answer.status, 404, "{}", answer.text());
    assert!(!answer.text().contains("status"), "{}", answer.text());
    for other in [format!("www.localhost:{port}"), host.replace(".localhost", ".example.org")] {
        assert_eq!(error_code(&get(&server, &other, "/healthz", &[]).await?, 421)?, "wrong_host");
    }
    // A page of a preview cannot use the cookie of the person who opened it.
    let origin = format!("http://{host}");
    let cookie = format!("headwater_session={}", server.token());
    let headers = [("Origin", origin.as_str()), ("Cookie", cookie.as_str())];
    let refused = http::request(server.address(), "POST", "/v1/sessions", &headers, b"{}").await?;
    ensure!(matches!(refused.status, 401 | 403), "{} {}", refused.status, refused.text());
    Ok(())
}

#[tokio::test]
async fn ports_and_previews_refuse_what_cannot_be() -> Result<()> {
    let server = TestServer::configured("[network]\nallow_full = true\n").await?;
    let me = server.api();
    let session = me.session(&json!({})).await?;
    let path = format!("/v1/sessions/{session}/previews");
    for body in [
        json!({"port": 0}),
        json!({"port": 65_536}),
        json!({"port": "8000"}),
        json!({}),
        json!({"port": 1, "x": 1}),
    ] {
        assert_eq!(error_code(&me.post(&path, &body).await?, 400)?, "invalid_request", "{body}");
    }
    // From another machine there is no name for a preview, unless one is configured.
    let headers = [("Host", "10.0.0.5:8080")];
    assert_eq!(me.send("POST", &path, &headers, &json!({"port": 8000})).await?.status, 421);

    // A session with the network of the host shows none of its ports.
    let open = me.session(&json!({"network": "full"})).await?;
    me.run_in(&open, "true").await?;
    assert!(ports(&me, &open).await?.is_empty());
    let host = preview(&me, &open, 22).await?;
    let answer = get(&server, &host, "/", &[]).await?;
    assert_eq!(answer.status, 502);
    assert!(answer.text().contains("the network of the host"), "{}", answer.text());

    json_of(&me.post(&format!("/v1/sessions/{session}/hibernate"), &json!({})).await?, 200)?;
    assert!(ports(&me, &session).await?.is_empty());
    json_of(&me.delete(&format!("/v1/sessions/{session}")).await?, 204)?;
    error_code(&me.post(&path, &json!({"port": 8000})).await?, 404)?;
    Ok(())
}

#[tokio::test]
async fn a_configured_name_is_used_for_everybody() -> Result<()> {
    let config = "[server]\npreview_url = \"https://*.preview.example\"\n";
    let server = TestServer::configured(config).await?;
    let me = server.api();
    let session = me.session(&json!({})).await?;
    listen(&me, &session, json!({"PORT": "8000"})).await?;
    let made = me.post(&format!("/v1/sessions/{session}/previews"), &json!({"port": 8000})).await?;
    let url = text(&json_of(&made, 201)?["url"]);
    let host = url.strip_prefix("https://").and_then(|rest| rest.strip_suffix('/')).context("no TLS")?;
    assert!(host.ends_with(".preview.example"), "{host}");
    assert_eq!(get(&server, host, "/", &[]).await?.status, 200);
    Ok(())
}

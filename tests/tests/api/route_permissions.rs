//! The route table: every route, over every transport, for its owner, another user, a reader, an expired and a revoked
//! token, and no token. A route without a row here fails the test: a new route must say who may use it. The rights of
//! members, links and signed-in users follow from the same rows: see `shared.rs`.

use anyhow::{Context, Result, ensure};
use futures_util::future::join_all;
use headwater_tests::host::eventually;
use headwater_tests::http::{self, Response, json_of};
use headwater_tests::{Api, TestServer};
use serde_json::{Value, json};

use crate::session_rules;

/// The headers of a WebSocket upgrade.
const UPGRADE: [(&str, &str); 4] = [
    ("Connection", "Upgrade"),
    ("Upgrade", "websocket"),
    ("Sec-WebSocket-Version", "13"),
    ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
];

/// The conversation that the rows are about.
const TALK: &str = "anns-talk";

/// Who may use a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum For {
    /// Everybody, without a token.
    All,
    /// Any token; each user sees only their own.
    Users,
    /// As `Users`, but not readers.
    Writers,
    /// The owner of what the path or the body names; for others it is not found.
    Owner,
    /// As `Owner`, but not readers.
    OwnerWrites,
    /// As `OwnerWrites`, but not members and links.
    OwnerOnly,
    /// The operator.
    Admins,
}

/// Method, path as in the OpenAPI document, who may use it, a body.
pub(crate) const TABLE: &[(&str, &str, For, &str)] = &[
    ("GET", "/healthz", For::All, ""),
    ("GET", "/readyz", For::All, ""),
    ("GET", "/login", For::All, ""),
    ("GET", "/metrics", For::Admins, ""),
    ("GET", "/v1/doctor", For::Admins, ""),
    ("GET", "/v1/settings", For::Admins, ""),
    ("GET", "/v1/info", For::Users, ""),
    ("GET", "/v1/languages", For::Users, ""),
    ("GET", "/v1/templates", For::Users, ""),
    ("GET", "/v1/usage", For::Users, ""),
    ("GET", "/v1/usage/sessions", For::Users, ""),
    ("POST", "/v1/prune", For::Writers, r#"{"dry_run":true}"#),
    ("GET", "/v1/audit", For::Users, ""),
    ("GET", "/v1/audit/export", For::Users, ""),
    ("GET", "/openapi.json", For::All, ""),
    ("GET", "/docs", For::Users, ""),
    ("GET", "/docs/style.css", For::Users, ""),
    ("GET", "/docs/script.js", For::Users, ""),
    ("GET", "/", For::Users, ""),
    ("POST", "/v1/tickets", For::Users, ""),
    ("POST", "/v1/login", For::All, r#"{"name":"nobody","password":"wrong"}"#),
    ("POST", "/v1/login/refresh", For::All, r#"{"refresh_token":"hwr_x"}"#),
    ("GET", "/v1/me", For::Users, ""),
    ("POST", "/v1/logout", For::Users, ""),
    ("POST", "/v1/users", For::Admins, r#"{"name":"zoe"}"#),
    ("GET", "/v1/users", For::Admins, ""),
    ("GET", "/v1/users/{user}", For::Owner, ""),
    ("PATCH", "/v1/users/{user}", For::OwnerWrites, "{}"),
    ("POST", "/v1/tokens", For::Writers, "{}"),
    ("GET", "/v1/tokens", For::Users, ""),
    ("DELETE", "/v1/tokens/{token}", For::OwnerWrites, ""),
    ("GET", "/v1/sessions/{id}/members", For::Owner, ""),
    ("GET", "/v1/sessions/{id}/members/{user}", For::Owner, ""),
    ("PUT", "/v1/sessions/{id}/members/{user}", For::OwnerOnly, r#"{"role":"viewer"}"#),
    ("DELETE", "/v1/sessions/{id}/members/{user}", For::OwnerOnly, ""),
    ("GET", "/v1/sessions/{id}/ports", For::Owner, ""),
    ("POST", "/v1/sessions/{id}/previews", For::OwnerWrites, r#"{"port":8000}"#),
    ("POST", "/v1/sessions/{id}/shares", For::OwnerOnly, r#"{"access":"read"}"#),
    ("GET", "/v1/sessions/{id}/shares", For::OwnerOnly, ""),
    ("DELETE", "/v1/sessions/{id}/shares/{share}", For::OwnerOnly, ""),
    ("POST", "/v1/sessions", For::Writers, "{}"),
    ("GET", "/v1/sessions", For::Users, ""),
    ("GET", "/v1/sessions/{id}", For::Owner, ""),
    ("PATCH", "/v1/sessions/{id}", For::OwnerWrites, r#"{"metadata":{"a":"b"}}"#),
    ("GET", "/v1/sessions/{id}/usage", For::Owner, ""),
    ("GET", "/v1/sessions/{id}/events", For::Owner, ""),
    // A reader sees the terminal that its owner has created.
    ("POST", "/v1/sessions/{id}/terminals", For::OwnerWrites, "{}"),
    ("GET", "/v1/sessions/{id}/terminals", For::Owner, ""),
    ("GET", "/v1/sessions/{id}/terminal", For::Owner, ""),
    ("GET", "/v1/sessions/{id}/terminals/{name}/snapshot", For::Owner, ""),
    ("DELETE", "/v1/sessions/{id}/terminals/{name}", For::OwnerWrites, ""),
    ("POST", "/v1/sessions/{id}/executions", For::OwnerWrites, r#"{"shell":"true"}"#),
    (
        "POST",
        "/v1/sessions/execute/{language}",
        For::OwnerWrites,
        r#"{"session_id":"SESSION","code":"true"}"#,
    ),
    (
        "POST",
        "/v1/sessions/execute/binary",
        For::OwnerWrites,
        r#"{"session_id":"SESSION","binary_path":"/workspace/build/main"}"#,
    ),
    ("GET", "/v1/sessions/executions/{execution_id}", For::Owner, ""),
    (
        "POST",
        "/v1/sessions/build/cpp",
        For::OwnerWrites,
        r#"{"session_id":"SESSION","source_files":[],"output_binary":"x"}"#,
    ),
    ("POST", "/v1/sessions/{id}/builds", For::OwnerWrites, r#"{"kind":"make","wait":false}"#),
    ("GET", "/v1/sessions/{id}/builds", For::Owner, ""),
    ("GET", "/v1/sessions/{id}/builds/compile-commands", For::Owner, ""),
    ("GET", "/v1/builds/{id}", For::Owner, ""),
    ("POST", "/v1/builds/{id}/cancel", For::OwnerWrites, ""),
    ("GET", "/v1/sessions/{id}/python/environment", For::Owner, ""),
    ("POST", "/v1/sessions/{id}/python/environment", For::OwnerWrites, ""),
    ("GET", "/v1/sessions/{id}/python/packages", For::Owner, ""),
    ("POST", "/v1/sessions/{id}/python/packages", For::OwnerWrites, r#"{"uninstall":["none-such"]}"#),
    ("GET", "/v1/sessions/{id}/node/packages", For::Owner, ""),
    ("POST", "/v1/sessions/{id}/node/packages", For::OwnerWrites, r#"{"uninstall":["none-such"]}"#),
    ("GET", "/v1/sessions/{id}/files", For::Owner, ""),
    ("GET", "/v1/sessions/{id}/files/stat", For::Owner, ""),
    ("PUT", "/v1/sessions/{id}/files/content", For::OwnerWrites, "x"),
    ("GET", "/v1/sessions/{id}/files/content", For::Owner, ""),
    ("HEAD", "/v1/sessions/{id}/files/content", For::Owner, ""),
    ("POST", "/v1/sessions/{id}/files/folders", For::OwnerWrites, r#"{"path":"one"}"#),
    ("POST", "/v1/sessions/{id}/files/copy", For::OwnerWrites, r#"{"from":"one","to":"two"}"#),
    ("POST", "/v1/sessions/{id}/files/move", For::OwnerWrites, r#"{"from":"two","to":"three"}"#),
    ("POST", "/v1/sessions/{id}/files/chmod", For::OwnerWrites, r#"{"path":"one","mode":"700"}"#),
    ("DELETE", "/v1/sessions/{id}/files", For::OwnerWrites, ""),
    (
        "POST",
        "/v1/sessions/files/write",
        For::OwnerWrites,
        r#"{"session_id":"SESSION","path":"/src/a","content":"x"}"#,
    ),
    ("POST", "/v1/sessions/files/read", For::Owner, r#"{"session_id":"SESSION","path":"/src/a"}"#),
    ("POST", "/v1/sessions/files/list", For::Owner, r#"{"session_id":"SESSION","directory":"/src"}"#),
    ("POST", "/v1/executions", For::Writers, r#"{"shell":"true"}"#),
    (
        "POST",
        "/v1/chat/executions",
        For::Writers,
        r#"{"message_uuid":"m","artifact_uuid":"a","execution_id":"e","timestamp":"2026-01-02T03:04:05Z",
            "language":"python","execution_time_ms":1,"status":"success"}"#,
    ),
    ("GET", "/v1/chat/executions/{message_uuid}", For::Users, ""),
    ("POST", "/v1/chat", For::Writers, r#"{"id":"anns-chat","messages":[]}"#),
    ("GET", "/v1/chat/{id}/stream", For::Owner, ""),
    ("POST", "/v1/chat/{id}/stop", For::OwnerWrites, "{}"),
    ("GET", "/v1/chat/socket", For::Users, ""),
    ("GET", "/v1/executions", For::Users, ""),
    ("GET", "/v1/executions/{id}", For::Owner, ""),
    ("GET", "/v1/executions/{id}/events", For::Owner, ""),
    ("GET", "/v1/executions/{id}/output", For::Owner, ""),
    ("HEAD", "/v1/executions/{id}/output", For::Owner, ""),
    ("GET", "/v1/executions/{id}/attach", For::Owner, ""),
    ("GET", "/v1/executions/{id}/recording", For::Owner, ""),
    ("GET", "/v1/executions/{id}/processes", For::Owner, ""),
    ("POST", "/v1/executions/{id}/stdin", For::OwnerWrites, "x"),
    ("POST", "/v1/executions/{id}/signal", For::OwnerWrites, r#"{"signal":"SIGCONT"}"#),
    ("POST", "/v1/executions/{id}/resize", For::OwnerWrites, r#"{"rows":5,"cols":5}"#),
    ("POST", "/v1/executions/{id}/rerun", For::OwnerWrites, ""),
    ("POST", "/v1/tools/code_execution", For::Writers, r#"{"runtime":"terminal","code":"true"}"#),
    ("POST", "/v1/tools/run_command", For::Writers, r#"{"command":"true"}"#),
    ("POST", "/v1/tools/runCommand", For::Writers, r#"{"command":"true"}"#),
    ("GET", "/v1/tools", For::Users, ""),
    ("POST", "/v1/tools/{tool}", For::Writers, r#"{"cmd":"true"}"#),
    ("GET", "/v1/sessions/{id}/tool-calls", For::Owner, ""),
    ("GET", "/v1/sessions/{id}/rules", For::OwnerWrites, ""),
    ("DELETE", "/v1/sessions/{id}/rules/{number}", For::OwnerWrites, ""),
    ("GET", "/v1/conversations/{id}/export", For::Owner, ""),
    ("GET", "/v1/conversations/{conversation_id}/events", For::Users, ""),
    ("GET", "/tool-progress/{conversation_id}", For::Users, ""),
    ("GET", "/v1/tool-progress/{conversation_id}", For::Users, ""),
    ("GET", "/v1/models", For::Users, ""),
    ("POST", "/v1/conversations", For::Writers, "{}"),
    ("GET", "/v1/conversations", For::Users, ""),
    ("GET", "/v1/conversations/{id}", For::Owner, ""),
    ("PATCH", "/v1/conversations/{id}", For::OwnerWrites, r#"{"title":"x"}"#),
    ("GET", "/v1/conversations/{id}/log", For::Owner, ""),
    ("POST", "/v1/conversations/{id}/messages", For::OwnerWrites, r#"{"text":"more"}"#),
    ("DELETE", "/v1/conversations/{id}/queue/{message_id}", For::OwnerWrites, ""),
    ("POST", "/v1/conversations/{id}/regenerate", For::OwnerWrites, r#"{"message_id":"first"}"#),
    ("POST", "/v1/conversations/{id}/branch", For::OwnerWrites, r#"{"message_id":"first"}"#),
    ("POST", "/v1/conversations/{id}/stop", For::OwnerWrites, ""),
    (
        "POST",
        "/v1/conversations/{id}/approvals/{approval_id}",
        For::OwnerOnly,
        r#"{"decision":"allow_once"}"#,
    ),
    ("POST", "/v1/conversations/{id}/approvals/{approval_id}", For::OwnerWrites, r#"{"decision":"deny"}"#),
    ("POST", "/v1/conversations/{id}/answers/{tool_call_id}", For::OwnerWrites, r#"{"answers":[]}"#),
    ("POST", "/v1/conversations/{id}/attachments", For::OwnerWrites, "x"),
    ("GET", "/v1/conversations/{id}/members", For::Owner, ""),
    ("PUT", "/v1/conversations/{id}/members/{user}", For::OwnerOnly, r#"{"role":"viewer"}"#),
    ("DELETE", "/v1/conversations/{id}/members/{user}", For::OwnerOnly, ""),
    ("POST", "/v1/conversations/{id}/shares", For::OwnerOnly, r#"{"access":"read"}"#),
    ("GET", "/v1/conversations/{id}/shares", For::OwnerOnly, ""),
    ("DELETE", "/v1/conversations/{id}/shares/{share}", For::OwnerOnly, ""),
    ("GET", "/v1/sessions/{id}/files/watch", For::Owner, ""),
    ("GET", "/v1/sessions/{id}/files/search", For::Owner, ""),
    ("GET", "/v1/sessions/{id}/files/archive", For::Owner, ""),
    ("PUT", "/v1/sessions/{id}/files/archive", For::OwnerWrites, "TAR"),
    ("POST", "/v1/sessions/{id}/files/archive", For::OwnerWrites, "TAR"),
    ("GET", "/v1/sessions/{id}/files/diff", For::Owner, ""),
    ("POST", "/v1/sessions/{id}/snapshots", For::OwnerWrites, "{}"),
    ("GET", "/v1/sessions/{id}/snapshots", For::Owner, ""),
    ("POST", "/v1/sessions/{id}/snapshots/{snapshot}/restore", For::OwnerWrites, ""),
    ("DELETE", "/v1/sessions/{id}/snapshots/{snapshot}", For::OwnerWrites, ""),
    ("POST", "/v1/sessions/{id}/fork", For::OwnerWrites, "{}"),
    // The last ones end what the others use.
    ("DELETE", "/v1/conversations/{id}", For::OwnerOnly, ""),
    ("DELETE", "/v1/executions/{id}", For::OwnerWrites, ""),
    ("POST", "/v1/executions/{id}/cancel", For::OwnerWrites, "{}"),
    ("POST", "/v1/sessions/{id}/hibernate", For::OwnerWrites, ""),
    ("DELETE", "/v1/sessions/{id}", For::OwnerOnly, ""),
    ("DELETE", "/v1/users/{user}", For::Admins, ""),
];

/// Whether a request with this status was admitted: it is neither unauthenticated nor forbidden.
pub(crate) fn admitted(status: u16) -> bool {
    !matches!(status, 401 | 403 | 404 | 421 | 429) && status < 500
}

/// A server with one of everything that the rows of the table are about.
pub(crate) struct Routes {
    pub(crate) server: TestServer,
    pub(crate) session: String,
    pub(crate) execution: String,
    build: String,
    /// A link to the session, by its id.
    share: String,
    /// A token of ann's, by its id.
    token: String,
    snapshot: String,
    /// A rule of the session, by its number.
    rule: String,
    /// A link to the conversation `anns-talk`, by its id.
    talk_share: String,
}

impl Routes {
    /// ann's session with an execution on a terminal that waits for input.
    pub(crate) async fn new(server: TestServer, ann: &str) -> Result<Self> {
        let (session, execution, build) = (String::new(), String::new(), String::new());
        let (share, token, snapshot) = (String::new(), String::new(), String::new());
        let (rule, talk_share) = (String::new(), String::new());
        let mut routes = Self { server, session, execution, build, share, token, snapshot, rule, talk_share };
        let made = routes.ask("POST", "/v1/sessions", ann, "{}").await?.json()?;
        made["id"].as_str().context("no session")?.clone_into(&mut routes.session);
        let path = format!("/v1/sessions/{}/executions", routes.session);
        let body = r#"{"shell":"cat","tty":{"rows":24,"cols":80},"metadata":{"conversation_id":"anns"}}"#;
        let made = routes.ask("POST", &path, ann, body).await?.json()?;
        let id = made["id"].as_str().with_context(|| format!("no execution: {made}"))?;
        id.clone_into(&mut routes.execution);
        let path = format!("/v1/sessions/{}/builds", routes.session);
        let made = routes.ask("POST", &path, ann, r#"{"kind":"make","wait":false}"#).await?.json()?;
        let id = made["build_id"].as_str().with_context(|| format!("no build: {made}"))?;
        id.clone_into(&mut routes.build);
        routes.share_it(ann).await?;
        let kept = routes.ask("POST", "/v1/sessions/{id}/snapshots", ann, "{}").await?.json()?;
        kept["id"].as_str().context("no snapshot")?.clone_into(&mut routes.snapshot);
        session_rules::allow_always(&routes.server.api_with(ann), &routes.session, "touch").await?;
        let rules = routes.ask("GET", "/v1/sessions/{id}/rules", ann, "").await?.json()?;
        routes.rule = rules["items"][0]["number"].as_i64().context("no rule")?.to_string();
        routes.begin_talk(ann).await?;
        Ok(routes)
    }

    /// A user `ann`, a member, a link and a token for the rows to be about.
    async fn share_it(&mut self, ann: &str) -> Result<()> {
        let admin = self.server.token().to_owned();
        let chat = self.ask("POST", "/v1/conversations", ann, r#"{"id":"anns-chat"}"#).await?;
        ensure!(chat.status == 201, "{}", chat.text());
        // She already has sessions: they were created with a token.
        let user = r#"{"name":"ann","password":"correct horse","take_over":true}"#;
        let made = self.ask("POST", "/v1/users", &admin, user).await?;
        ensure!(made.status == 201, "{}", made.text());
        let put = self.ask("PUT", "/v1/sessions/{id}/members/carol", ann, r#"{"role":"viewer"}"#).await?;
        ensure!(put.status == 200, "{}", put.text());
        let link = self.ask("POST", "/v1/sessions/{id}/shares", ann, r#"{"access":"read"}"#).await?.json()?;
        link["id"].as_str().context("no link")?.clone_into(&mut self.share);
        let token = self.ask("POST", "/v1/tokens", ann, "{}").await?.json()?;
        token["id"].as_str().context("no token")?.clone_into(&mut self.token);
        Ok(())
    }

    /// A conversation with a message, a member and a link. Without a model, the answer says how to add one.
    async fn begin_talk(&mut self, ann: &str) -> Result<()> {
        let api = self.server.api_with(ann);
        let (id, path) = (json!({"id": TALK}), format!("/v1/conversations/{TALK}"));
        api.post_ok("/v1/conversations", &id).await?;
        api.post_ok(&format!("{path}/messages"), &json!({"id": "first", "text": "hello"})).await?;
        json_of(&api.put(&format!("{path}/members/carol"), &json!({"role": "viewer"})).await?, 200)?;
        let link = api.post_ok(&format!("{path}/shares"), &json!({"access": "read"})).await?;
        link["id"].as_str().context("no link")?.clone_into(&mut self.talk_share);
        Ok(())
    }

    fn path(&self, path: &str) -> String {
        let is_talk = path.starts_with("/v1/conversations/{id}");
        let id = match path {
            _ if is_talk => TALK,
            _ if path.starts_with("/v1/sessions/{id}") => &self.session,
            _ if path.starts_with("/v1/builds/{id}") => &self.build,
            _ => self.execution.as_str(),
        };
        let user = if path.starts_with("/v1/users") { "ann" } else { "carol" };
        path.replace("{id}", id)
            .replace("{user}", user)
            .replace("{share}", if is_talk { &self.talk_share } else { &self.share })
            .replace("{token}", &self.token)
            .replace("{execution_id}", &self.execution)
            .replace("{snapshot}", &self.snapshot)
            .replace("{number}", &self.rule)
            .replace("{language}", "bash")
            .replace("{name}", "main")
            .replace("{tool}", "exec_command")
            .replace("{conversation_id}", "anns")
            .replace("{message_uuid}", "m")
            .replace("{message_id}", "first")
            .replace("{approval_id}", "none")
            .replace("{tool_call_id}", "none")
    }

    /// Sends a request with this token, or without one if it is empty.
    pub(crate) async fn ask(&self, method: &str, path: &str, token: &str, body: &str) -> Result<Response> {
        self.send(&self.server.api_with(token), method, path, &[], body).await
    }

    /// Sends a request without a token and with these headers.
    async fn ask_with(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Result<Response> {
        self.send(&self.server.anonymous(), method, path, headers, body).await
    }

    /// The cookie that a browser gets for a token, as it sends it.
    async fn cookie(&self, token: &str) -> Result<String> {
        let answer = self.ask("GET", &format!("/login?token={token}"), "", "").await?;
        let cookie = answer.header("set-cookie").context("no cookie")?;
        ensure!(!cookie.contains(token), "the cookie is the token");
        Ok(cookie.split(';').next().unwrap_or_default().to_owned())
    }

    async fn send(
        &self,
        api: &Api,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Result<Response> {
        let path = self.path(&path.replace("/v1/chat/{id}", "/v1/chat/anns-chat"));
        let body = body.replace("SESSION", &self.session);
        let mut headers = headers.to_vec();
        if body.starts_with('{') {
            headers.push(("Content-Type", "application/json"));
        }
        if ["/attach", "/terminal", "/v1/chat/socket"].iter().any(|end| path.ends_with(end)) {
            headers.extend(UPGRADE);
        }
        // The body of a stream does not end.
        if is_stream(&path) {
            api.request_head(method, &path, &headers, body.as_bytes()).await
        } else {
            api.request(method, &path, &headers, body.as_bytes()).await
        }
    }
}

fn is_stream(path: &str) -> bool {
    let path = path.split('?').next().unwrap_or_default();
    ["/events", "/attach", "/terminal", "/watch", "/v1/chat/socket"].iter().any(|end| path.ends_with(end))
        || path.contains("tool-progress")
}

/// Every route of the OpenAPI document has a row.
#[tokio::test]
async fn every_route_has_a_row_in_the_table() -> Result<()> {
    let server = TestServer::start().await?;
    let document = server.api().json("/openapi.json").await?;
    let paths = document["paths"].as_object().context("no paths")?;
    for (path, methods) in paths {
        for method in methods.as_object().context("no methods")?.keys() {
            let method = method.to_ascii_uppercase();
            let has_row = TABLE.iter().any(|row| row.0 == method && row.1 == path);
            assert!(has_row, "`{method} {path}` has no row in the table of who may use it");
        }
    }
    assert!(paths.len() > 20, "the document names {} paths", paths.len());
    Ok(())
}

#[tokio::test]
async fn every_route_admits_exactly_the_callers_in_the_table() -> Result<()> {
    let server = TestServer::start().await?;
    let ann = server.make_token(&["--user", "ann"])?;
    let bob = server.make_token(&["--user", "bob"])?;
    let anns_reader = server.make_token(&["--user", "ann", "--role", "reader"])?;
    let bobs_reader = server.make_token(&["--user", "bob", "--role", "reader"])?;
    let expired = server.make_token(&["--user", "ann", "--expires", "1ms"])?;
    let revoked = revoked_token(&server)?;
    let routes = Routes::new(server, &ann).await?;
    let admin = routes.server.token().to_owned();
    for (method, path, who, body) in TABLE.iter().copied() {
        let nobodies = [
            ("", "nobody"),
            ("hw_wrong", "a guess"),
            (&expired, "an expired token"),
            (&revoked, "a revoked token"),
        ];
        for (token, name) in nobodies {
            let status = routes.ask(method, path, token, body).await?.status;
            let expected = who == For::All || status == 401 || status == 429;
            ensure!(expected, "{method} {path} answered {status} to {name}");
        }
        let others = [(&bob, "another user"), (&bobs_reader, "another's reader")];
        for (token, name) in others {
            let answer = routes.ask(method, path, token, body).await?;
            let reads = token == &bobs_reader;
            let fits = match who {
                For::All => true,
                For::Users => admitted(answer.status),
                For::Writers => {
                    if reads {
                        answer.status == 403
                    } else {
                        admitted(answer.status)
                    }
                }
                For::Owner | For::OwnerWrites | For::OwnerOnly => answer.status == 404,
                For::Admins => answer.status == 403,
            };
            ensure!(fits, "{method} {path} answered {} to {name}: {}", answer.status, answer.text());
            let leaks = answer.text().contains(&routes.execution) && path != "/v1/executions/{id}";
            ensure!(
                !leaks || matches!(who, For::Owner | For::OwnerWrites | For::OwnerOnly),
                "{method} {path} reveals ann's execution to {name}"
            );
        }
        let answer = routes.ask(method, path, &anns_reader, body).await?;
        let fits = match who {
            For::Admins | For::Writers | For::OwnerWrites | For::OwnerOnly => answer.status == 403,
            For::All => true,
            For::Users | For::Owner => admitted(answer.status),
        };
        ensure!(fits, "{method} {path} answered {} to the owner's reader: {}", answer.status, answer.text());
        let owner = if who == For::Admins { &admin } else { &ann };
        let answer = routes.ask(method, path, owner, body).await?;
        let fits = who == For::All || admitted(answer.status);
        ensure!(fits, "{method} {path} answered {} to a permitted user: {}", answer.status, answer.text());
    }
    Ok(())
}

fn revoked_token(server: &TestServer) -> Result<String> {
    let token = server.make_token(&["--user", "ann", "--name", "gone"])?;
    revoke(server, "gone")?;
    Ok(token)
}

fn revoke(server: &TestServer, name: &str) -> Result<()> {
    let list = server.command().args(["token", "list", "--json"]).output()?;
    let rows = String::from_utf8(list.stdout)?;
    let row = rows.lines().map(serde_json::from_str::<Value>).filter_map(Result::ok);
    let id =
        row.into_iter().find(|row| row["name"] == name).context("the token is not listed")?["id"].clone();
    let done = server.command().args(["token", "revoke", id.as_str().context("no id")?]).status()?;
    ensure!(done.success());
    Ok(())
}

#[tokio::test]
async fn pages_of_other_sites_and_other_names_get_nothing_over_any_transport() -> Result<()> {
    let server = TestServer::start().await?;
    let token = server.token().to_owned();
    let routes = Routes::new(server, &token).await?;
    let (bearer, cookie) = (format!("Bearer {token}"), routes.cookie(&token).await?);
    let ways: [&[(&str, &str)]; 2] = [&[("Authorization", &bearer)], &[("Cookie", &cookie)]];
    let paths = [
        "/v1/sessions",
        "/v1/executions/{id}/events",
        "/v1/executions/{id}/attach",
        "/v1/sessions/{id}/terminal",
        "/v1/chat/{id}/stream",
        "/v1/chat/socket",
        "/healthz",
    ];
    for path in paths {
        for way in ways {
            let mut headers = way.to_vec();
            headers.push(("Origin", "http://evil.example"));
            ensure!(routes.ask_with("GET", path, &headers, "").await?.status == 403, "{path}: another site");
            let mut headers = way.to_vec();
            headers.push(("Host", "evil.example"));
            ensure!(routes.ask_with("GET", path, &headers, "").await?.status == 421, "{path}: another name");
            let mut headers = way.to_vec();
            let own = routes.server.url();
            headers.push(("Origin", &own));
            let status = routes.ask_with("GET", path, &headers, "").await?.status;
            ensure!(admitted(status), "{path}: our own page got {status}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_token_in_the_query_opens_only_terminals_and_a_ticket_opens_one_stream_once() -> Result<()> {
    let server = TestServer::start().await?;
    let token = server.token().to_owned();
    let routes = Routes::new(server, &token).await?;
    let query = |path: &str, token: &str| format!("{path}?token={token}");
    let link =
        routes.ask("POST", "/v1/sessions/{id}/shares", &token, r#"{"access":"read"}"#).await?.json()?;
    let link = link["token"].as_str().context("no link")?;
    for (path, takes_token) in [
        ("/v1/executions/{id}/events", false),
        ("/v1/executions/{id}/attach", false),
        ("/v1/sessions/{id}/events", false),
        ("/v1/sessions/{id}/files/watch", false),
        ("/v1/sessions/{id}/terminal", true),
    ] {
        let status = routes.ask("GET", &query(path, &token), "", "").await?.status;
        ensure!(admitted(status) == takes_token, "{path}: {status} to a token in its query");
        if !takes_token {
            let path = routes.path(&query(path, &token));
            let answer = routes.server.anonymous().get(&path).await?;
            let error = &answer.json()?["error"];
            ensure!(error["code"] == "token_in_address", "{path}: {error}");
            ensure!(error["hint"].as_str().is_some_and(|hint| hint.contains("/v1/tickets")), "{error}");
        }
        let status = routes.ask("GET", &query(path, link), "", "").await?.status;
        ensure!(admitted(status), "{path} answered {status} to a link in its query");
        let ticket = routes.ask("POST", "/v1/tickets", &token, "").await?.json()?;
        let ticket = ticket["ticket"].as_str().context("no ticket")?;
        let first = routes.ask("GET", &query(path, ticket), "", "").await?.status;
        let second = routes.ask("GET", &query(path, ticket), "", "").await?.status;
        ensure!(admitted(first) && second == 401, "{path}: a ticket answered {first}, then {second}");
    }
    for path in ["/v1/sessions", "/v1/executions/{id}"] {
        let status = routes.ask("GET", &query(path, &token), "", "").await?.status;
        ensure!(status == 401, "{path} answered {status} to a token in its query");
    }
    Ok(())
}

#[tokio::test]
async fn a_ticket_is_not_a_token_and_ends_with_the_token_that_created_it() -> Result<()> {
    let server = TestServer::start().await?;
    let ann = server.make_token(&["--user", "ann"])?;
    let routes = Routes::new(server, &ann).await?;
    let ticket = async || -> Result<String> {
        let info = routes.ask("POST", "/v1/tickets", &ann, "").await?.json()?;
        Ok(info["ticket"].as_str().context("no ticket")?.to_owned())
    };
    for (method, path, body) in
        [("POST", "/v1/tickets", ""), ("GET", "/v1/sessions", ""), ("GET", "/v1/executions/{id}/events", "")]
    {
        let shown = ticket().await?;
        let status = routes.ask(method, path, &shown, body).await?.status;
        ensure!(status == 401, "{method} {path} answered {status} to a ticket in `Authorization`");
        let cookie = format!("headwater_session={shown}");
        let status = routes.ask_with(method, path, &[("Cookie", &cookie)], body).await?.status;
        ensure!(status == 401, "{method} {path} answered {status} to a ticket in a cookie");
    }
    let late = ticket().await?;
    let list = routes.server.command().args(["token", "list", "--json"]).output()?;
    let list = String::from_utf8(list.stdout)?;
    let mut rows = list.lines().map(serde_json::from_str::<Value>);
    let row = rows.find(|row| row.as_ref().is_ok_and(|row| row["user"] == "ann")).context("no token")??;
    let id = row["id"].as_str().context("no id")?;
    ensure!(routes.server.command().args(["token", "revoke", id]).status()?.success());
    // A token is cached for a second.
    let is_refused =
        async || routes.ask("GET", "/v1/info", &ann, "").await.is_ok_and(|info| info.status == 401);
    eventually("the token is refused", is_refused).await?;
    let path = format!("/v1/executions/{{id}}/events?token={late}");
    let status = routes.ask("GET", &path, "", "").await?.status;
    ensure!(status == 401 || status == 429, "a revoked token's ticket answered {status}");
    Ok(())
}

#[tokio::test]
async fn a_token_that_is_revoked_ends_the_streams_that_it_opened() -> Result<()> {
    let server = TestServer::start().await?;
    let token = server.make_token(&["--user", "ann", "--name", "gone"])?;
    let routes = Routes::new(server, &token).await?;
    let api = routes.server.api_with(&token);
    let mut streams = Vec::new();
    for (path, headers) in [
        ("/v1/executions/{id}/events", &[][..]),
        ("/v1/sessions/{id}/events", &[][..]),
        ("/v1/executions/{id}/output?stream=output&follow=true", &[][..]),
        ("/v1/executions/{id}/attach", &UPGRADE[..]),
        ("/v1/sessions/{id}/terminal", &UPGRADE[..]),
        ("/v1/chat/socket", &UPGRADE[..]),
    ] {
        let mut stream = api.open("GET", &routes.path(path), headers, &Value::Null).await?;
        let status = http::read(&mut stream, false).await?.status;
        ensure!(status == 200 || status == 101, "{path} answered {status}");
        streams.push((path, stream));
    }
    revoke(&routes.server, "gone")?;
    for (path, mut stream) in streams {
        let mut rest = Vec::new();
        let end = tokio::io::AsyncReadExt::read_to_end(&mut stream, &mut rest);
        // A kept-alive connection stays open after its stream: the last chunk ends the stream.
        let ended = tokio::time::timeout(std::time::Duration::from_secs(45), end).await.is_ok();
        ensure!(ended || rest.ends_with(b"0\r\n\r\n"), "{path} goes on: {}", String::from_utf8_lossy(&rest));
    }
    Ok(())
}

#[tokio::test]
async fn too_many_failures_from_an_address_must_wait() -> Result<()> {
    let server = TestServer::start().await?;
    let attacker = server.api_with("hw_x");
    // At once: a slow machine must not stay below the limit.
    let guesses = join_all((0..100).map(|_| attacker.get("/v1/info"))).await;
    let refused = guesses.into_iter().flatten().find(|answer| answer.status == 429);
    let answer = refused.context("a hundred guesses were all answered")?;
    ensure!(answer.header("retry-after").is_some_and(|after| after.parse::<u64>().is_ok_and(|s| s > 0)));
    ensure!(answer.json()?["error"]["code"] == json!("rate_limited"));
    // A valid token is not locked out by the failures of others at its address.
    let valid = server.api().get("/v1/info").await?;
    ensure!(valid.status == 200, "a valid token got {}", valid.status);
    Ok(())
}

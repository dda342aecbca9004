//! A client of `/mcp` that sees every message.

use anyhow::{Context, Result, ensure};
use headwater_tests::Api;
use headwater_tests::http::Response;
use serde_json::{Value, json};
use tokio::net::TcpStream;

/// The version without a handshake.
pub(crate) const STATELESS: &str = "2026-07-28";

/// A client of one server.
#[derive(Debug, Clone)]
pub(crate) struct HttpClient {
    pub(crate) api: Api,
    pub(crate) version: &'static str,
    pub(crate) capabilities: Value,
    /// The id of its session, if the version has a handshake.
    pub(crate) session: Option<String>,
    /// More headers.
    pub(crate) headers: Vec<(&'static str, String)>,
}

/// The messages of a response: one object, or one in each event.
pub(crate) fn messages(response: &Response) -> Vec<Value> {
    let text = response.text();
    let lines = text.lines().map(|line| line.strip_prefix("data: ").unwrap_or(line));
    lines.filter_map(|line| serde_json::from_str::<Value>(line).ok()).filter(Value::is_object).collect()
}

/// The text content of a result.
pub(crate) fn text_of(result: &Value) -> String {
    result["content"][0]["text"].as_str().unwrap_or_default().to_owned()
}

impl HttpClient {
    /// A client of this version, with its handshake.
    pub(crate) async fn new(api: &Api, version: &'static str) -> Result<Self> {
        Self::with(api, version, json!({})).await
    }

    /// The same with these capabilities.
    pub(crate) async fn with(api: &Api, version: &'static str, capabilities: Value) -> Result<Self> {
        let mut client = Self { api: api.clone(), version, capabilities, session: None, headers: Vec::new() };
        if version != STATELESS {
            client.handshake().await?;
        }
        Ok(client)
    }

    /// Sends `initialize` and the notification after it; returns the result.
    pub(crate) async fn handshake(&mut self) -> Result<Value> {
        let params = json!({
            "protocolVersion": self.version, "capabilities": self.capabilities,
            "clientInfo": {"name": "http-test", "version": "1"},
        });
        let message = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        self.session = None;
        let response = self.post(&message).await?;
        ensure!(response.status == 200, "{}: {}", response.status, response.text());
        self.session = Some(response.header("mcp-session-id").context("no session")?.to_owned());
        let answer = messages(&response).pop().context("no answer")?;
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        ensure!(self.post(&initialized).await?.status == 202);
        Ok(answer["result"].clone())
    }

    fn own_headers(&self, message: &Value) -> Vec<(&str, String)> {
        let mut headers = vec![
            ("accept", "application/json, text/event-stream".to_owned()),
            ("content-type", "application/json".to_owned()),
        ];
        if message["method"] != "initialize" {
            headers.push(("mcp-protocol-version", self.version.to_owned()));
        }
        if self.version == STATELESS {
            headers.push(("mcp-method", message["method"].as_str().unwrap_or_default().to_owned()));
            let name = ["name", "uri", "taskId"].iter().find_map(|key| message["params"][key].as_str());
            headers.extend(name.map(|name| ("mcp-name", name.to_owned())));
        }
        headers.extend(self.session.iter().map(|id| ("mcp-session-id", id.clone())));
        headers.extend(self.headers.iter().cloned());
        headers
    }

    /// Sends a message; returns the whole response.
    pub(crate) async fn post(&self, message: &Value) -> Result<Response> {
        let headers = self.own_headers(message);
        let headers: Vec<(&str, &str)> =
            headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        self.api.request("POST", "/mcp", &headers, message.to_string().as_bytes()).await
    }

    /// Sends a message; the caller reads the response.
    pub(crate) async fn open(&self, message: &Value) -> Result<TcpStream> {
        let mut headers = self.own_headers(message);
        headers.retain(|(name, _)| *name != "content-type");
        let headers: Vec<(&str, &str)> =
            headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        self.api.open("POST", "/mcp", &headers, message).await
    }

    /// The request as this version sends it.
    pub(crate) fn message(&self, method: &str, mut params: Value) -> Value {
        if self.version == STATELESS {
            let meta = "io.modelcontextprotocol";
            params["_meta"][format!("{meta}/protocolVersion")] = json!(STATELESS);
            params["_meta"][format!("{meta}/clientInfo")] = json!({"name": "http-test", "version": "1"});
            params["_meta"][format!("{meta}/clientCapabilities")] = self.capabilities.clone();
        }
        json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params})
    }

    /// The answer to a request.
    pub(crate) async fn request(&self, method: &str, params: Value) -> Result<Value> {
        let response = self.post(&self.message(method, params)).await?;
        let answer = messages(&response).into_iter().find(|message| message["id"] == 7);
        answer.with_context(|| format!("{method}: {} {}", response.status, response.text()))
    }

    /// The result of a request that must succeed.
    pub(crate) async fn result(&self, method: &str, params: Value) -> Result<Value> {
        let mut answer = self.request(method, params).await?;
        ensure!(answer.get("error").is_none(), "{method}: {answer}");
        Ok(answer["result"].take())
    }

    /// The result of a tool.
    pub(crate) async fn call(&self, tool: &str, arguments: &Value) -> Result<Value> {
        self.result("tools/call", json!({"name": tool, "arguments": arguments})).await
    }

    /// The text of a tool that must succeed.
    pub(crate) async fn text(&self, tool: &str, arguments: &Value) -> Result<String> {
        let result = self.call(tool, arguments).await?;
        ensure!(result["isError"] != true, "{tool} {arguments}: {result}");
        Ok(text_of(&result))
    }

    /// The text of a tool that must fail.
    pub(crate) async fn refusal(&self, tool: &str, arguments: &Value) -> Result<String> {
        let result = self.call(tool, arguments).await?;
        ensure!(result["isError"] == true, "{tool} {arguments}: {result}");
        Ok(text_of(&result))
    }
}

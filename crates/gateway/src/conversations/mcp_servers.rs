//! The MCP servers that a person adds to a conversation.

use std::collections::BTreeMap;

use headwater_agent::McpServer;
use headwater_protocol::api::{McpServerBody, McpServerRequest};

use super::limits::{MAX_MCP_BYTES, MAX_MCP_SERVERS};
use crate::config::check_mcp_server;
use crate::error::ApiError;

/// Servers by name; none is removed.
type Changes = BTreeMap<String, Option<McpServerRequest>>;

/// Adds, replaces and removes servers. `taken` are those of the configuration, which hold for every conversation.
pub(super) fn change(
    servers: &mut BTreeMap<String, McpServer>,
    changes: &Changes,
    taken: &BTreeMap<String, McpServer>,
    is_operator: bool,
) -> Result<(), ApiError> {
    for (name, change) in changes {
        let Some(request) = change else {
            servers.remove(name);
            continue;
        };
        if taken.contains_key(name) {
            let message = format!("`mcp_servers.{}`: the operator has a server of this name", short(name));
            return Err(ApiError::invalid(message).hint("choose another name"));
        }
        let server = server(request).map_err(|why| named(name, &why))?;
        if matches!(server, McpServer::Http { .. }) && !is_operator {
            let message =
                format!("`mcp_servers.{}.url`: only operators may add servers with a URL", short(name));
            let hint = "set `command`: it runs in the session, whose network it has. Or ask the operator for \
                        `[mcp_servers.NAME]` in the server's configuration";
            return Err(ApiError::forbidden(message, hint));
        }
        check_mcp_server(name, &server).map_err(ApiError::invalid)?;
        servers.insert(name.clone(), server);
    }
    if servers.len() > MAX_MCP_SERVERS {
        return Err(ApiError::invalid(format!("`mcp_servers` may have at most {MAX_MCP_SERVERS} entries")));
    }
    if servers.values().map(bytes_of).sum::<usize>() > MAX_MCP_BYTES {
        return Err(ApiError::invalid(format!("`mcp_servers` may have at most {MAX_MCP_BYTES} bytes")));
    }
    Ok(())
}

fn server(request: &McpServerRequest) -> Result<McpServer, String> {
    let McpServerRequest { command, env, url, headers } = request.clone();
    match url {
        None if !headers.is_empty() => Err("`headers` belong to a `url`".to_owned()),
        None => {
            let is_bad = |name: &String| name.is_empty() || name.contains(['=', '\0']);
            if let Some(name) = env.keys().find(|name| is_bad(name)) {
                return Err(format!("`env`: {name:?} is not the name of a variable"));
            }
            if command.iter().chain(env.values()).any(|text| text.contains('\0')) {
                return Err("`command` and `env` must not contain zero bytes".to_owned());
            }
            Ok(McpServer::Stdio { command, env })
        }
        Some(_) if !command.is_empty() || !env.is_empty() => {
            Err("set either `command`, perhaps with `env`, or `url`, perhaps with `headers`".to_owned())
        }
        Some(url) => Ok(McpServer::Http { url, headers }),
    }
}

fn named(name: &str, why: &str) -> ApiError {
    ApiError::invalid(format!("`mcp_servers.{}`: {why}", short(name)))
}

fn short(name: &str) -> String {
    name.chars().take(64).collect()
}

fn bytes_of(server: &McpServer) -> usize {
    let pairs = |map: &BTreeMap<String, String>| -> usize {
        map.iter().map(|(name, value)| name.len() + value.len()).sum()
    };
    match server {
        McpServer::Stdio { command, env } => command.iter().map(String::len).sum::<usize>() + pairs(env),
        McpServer::Http { url, headers } => url.len() + pairs(headers),
    }
}

/// What a response says about servers.
pub(super) fn bodies(servers: BTreeMap<String, McpServer>) -> BTreeMap<String, McpServerBody> {
    let request = |server| match server {
        McpServer::Stdio { command, env } => McpServerRequest { command, env, ..McpServerRequest::default() },
        McpServer::Http { url, headers } => {
            McpServerRequest { url: Some(url), headers, ..McpServerRequest::default() }
        }
    };
    servers.into_iter().map(|(name, server)| (name, McpServerBody::from(&request(server)))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn changed(changes: Value, is_operator: bool) -> Result<BTreeMap<String, McpServer>, ApiError> {
        let old = McpServer::Stdio { command: vec!["old".into()], env: BTreeMap::new() };
        let mut servers = BTreeMap::from([("old".to_owned(), old.clone())]);
        let changes: Changes = serde_json::from_value(changes).unwrap();
        change(&mut servers, &changes, &BTreeMap::from([("taken".to_owned(), old)]), is_operator)?;
        Ok(servers)
    }

    #[test]
    fn servers_are_added_and_removed_by_name_and_no_value_is_shown() {
        let mine = json!({"command": ["my-mcp", "--stdio"], "env": {"TOKEN": "sesame"}});
        let servers = changed(json!({"mine": mine}), false).unwrap();
        let shown = bodies(servers);
        assert_eq!(shown.len(), 2);
        assert_eq!(shown["mine"].env, ["TOKEN"]);
        assert!(!format!("{shown:?}").contains("sesame"));
        let request: McpServerRequest = serde_json::from_value(mine).unwrap();
        assert!(!format!("{request:?}").contains("sesame"), "{request:?}");
        assert!(changed(json!({"old": null}), false).unwrap().is_empty());
        let remote = json!({"url": "https://x/mcp?key=sesame", "headers": {"x-key": "sesame"}});
        let shown = bodies(changed(json!({"far": remote}), true).unwrap());
        assert_eq!(shown["far"].url.as_deref(), Some("https://x/mcp"));
        assert!(!serde_json::to_string(&shown).unwrap().contains("sesame"));
    }

    #[test]
    fn a_server_that_a_person_may_not_have_is_refused_and_named() {
        let many: Value = (0..20).map(|n| (format!("s{n}"), json!({"command": ["x"]}))).collect();
        for (changes, status, named) in [
            (json!({"far": {"url": "http://127.0.0.1:1/mcp"}}), 403, "mcp_servers.far.url"),
            (json!({"taken": {"command": ["x"]}}), 400, "mcp_servers.taken"),
            (json!({"A b": {"command": ["x"]}}), 400, "mcp_servers.A b"),
            (json!({"a": {}}), 400, "`command`"),
            (json!({"a": {"command": ["x"], "env": {"A=B": "x"}}}), 400, "`env`"),
            (json!({"a": {"command": ["x"], "url": "http://x"}}), 400, "either"),
            (json!({"a": {"command": ["x\u{0}"]}}), 400, "zero bytes"),
            (json!({"a": {"command": ["x", "y".repeat(MAX_MCP_BYTES)]}}), 400, "bytes"),
            (many, 400, "entries"),
        ] {
            let error = changed(changes.clone(), false).unwrap_err();
            assert_eq!(error.status, status, "{changes}");
            assert!(error.message.contains(named), "{}", error.message);
        }
    }
}

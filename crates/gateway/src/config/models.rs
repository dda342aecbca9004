//! `[models.NAME]` and `[mcp_servers.NAME]`: the models of the chat, and servers with tools for its agents.

use std::collections::BTreeMap;

use headwater_agent::McpServer;
use headwater_agent::model::{ModelConfigs, check_configs};

/// The longest name of an MCP server, which becomes part of the names of its tools. Providers allow 64 characters for these.
const MAX_NAME: usize = 32;

/// Checks both tables; the error names the setting.
pub(super) fn check(models: &ModelConfigs, servers: &BTreeMap<String, McpServer>) -> Result<(), String> {
    check_configs(models)?;
    for (name, server) in servers {
        check_mcp_server(name, server)?;
    }
    Ok(())
}

/// Checks an MCP server and its name.
pub(crate) fn check_mcp_server(name: &str, server: &McpServer) -> Result<(), String> {
    let is_valid = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-');
    if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(is_valid) {
        let name: String = name.chars().take(2 * MAX_NAME).collect();
        return Err(format!(
            "mcp_servers.{name}: a name has up to {MAX_NAME} lower-case letters, digits, `_` and `-`"
        ));
    }
    check_server(server).map_err(|why| format!("mcp_servers.{name}: {why}"))
}

fn check_server(server: &McpServer) -> Result<(), &'static str> {
    match server {
        McpServer::Stdio { command, .. } if command.first().is_none_or(String::is_empty) => {
            Err("`command` names no program")
        }
        McpServer::Http { url, .. }
            if !reqwest::Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https")) =>
        {
            Err("`url` must begin with `http://` or `https://`")
        }
        McpServer::Stdio { .. } | McpServer::Http { .. } => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use crate::config::{Config, Overrides};

    fn load(text: &str) -> Result<Config, String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("headwater.toml"), text).unwrap();
        Config::load(folder.path(), None, Overrides::default()).map_err(|error| error.to_string())
    }

    const MODEL: &str = "[models.m]\napi = \"anthropic\"\nbase_url = \"https://x\"\nmodel = \"x\"\n";

    #[test]
    fn models_and_mcp_servers_are_read_and_their_secrets_are_not_printed() {
        let text = format!(
            "{MODEL}headers = {{ x-key = \"secret\" }}\n\
             [mcp_servers.a]\ncommand = [\"a\"]\nenv = {{ KEY = \"secret\" }}\n\
             [mcp_servers.b]\nurl = \"https://x/mcp?key=secret\"\nheaders = {{ x-key = \"secret\" }}\n"
        );
        let config = load(&text).unwrap();
        assert_eq!((config.models.len(), config.mcp_servers.len()), (1, 2));
        let printed = format!("{config:?}");
        assert!(printed.contains("x-key") && !printed.contains("secret"), "{printed}");
    }

    #[test]
    fn a_mistake_in_a_model_or_an_mcp_server_is_named() {
        for (text, says) in [
            (format!("{MODEL}api_key = \"k\""), "api_key"),
            (MODEL.replace("anthropic", "other"), "other"),
            (MODEL.replace("[models.m]", "[models.Bad]"), "models.Bad"),
            (MODEL.replace("base_url", "url"), "url"),
            ("[mcp_servers.a]\ncommand = []".to_owned(), "mcp_servers.a: `command`"),
            ("[mcp_servers.a]\nurl = \"x\"".to_owned(), "mcp_servers.a: `url`"),
            ("[mcp_servers.\"a.b\"]\nurl = \"http://x\"".to_owned(), "mcp_servers.a.b: a name"),
            ("[mcp_servers.a]\nurl = \"http://x\"\ncommand = [\"a\"]".to_owned(), "expected `command` and"),
        ] {
            let error = load(&text).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }
}

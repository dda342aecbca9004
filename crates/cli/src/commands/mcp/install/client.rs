//! Where each client has its configuration, and what an entry looks like in it.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde_json::{Value, json};

use crate::args::{McpClient, McpServeArgs};
use crate::error::{CommandError, ErrorKind};

/// Clients that can put the folder of the project into an argument.
const PROJECT_FOLDER: &str = "${workspaceFolder}";

/// The syntax of a configuration file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// JSON, possibly with comments and trailing commas.
    Json,
    Toml,
}

/// The file of a client.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) path: PathBuf,
    pub(super) format: Format,
    /// The object that has an entry for each server.
    pub(super) key: &'static str,
    pub(super) title: &'static str,
}

/// The folders that paths are relative to.
#[derive(Debug)]
pub(super) enum Place {
    /// The project in this folder.
    Project(PathBuf),
    /// The user with this home folder, and with these variables that move a configuration.
    User { home: PathBuf, variable: fn(&str) -> Option<PathBuf> },
}

impl Place {
    pub(super) fn project() -> Result<Self, CommandError> {
        let folder = std::env::current_dir();
        folder.map(Self::Project).map_err(|error| {
            CommandError::new(ErrorKind::NotFound, format!("the current folder cannot be used: {error}"))
        })
    }

    pub(super) fn user() -> Result<Self, CommandError> {
        let home = variable("HOME").or_else(|| variable("USERPROFILE")).ok_or_else(|| {
            CommandError::usage("the home folder is unknown: `HOME` is not set")
                .hint("`--print` prints the lines to add by hand")
        })?;
        Ok(Self::User { home, variable })
    }
}

fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// The file of a client.
pub(super) fn target(client: McpClient, place: &Place) -> Target {
    let path = match place {
        Place::Project(folder) => folder.join(in_project(client)),
        Place::User { home, variable } => of_user(client, home, *variable),
    };
    let (format, key, title) = match client {
        McpClient::ClaudeCode => (Format::Json, "mcpServers", "Claude Code"),
        McpClient::Codex => (Format::Toml, "mcp_servers", "Codex"),
        McpClient::Cursor => (Format::Json, "mcpServers", "Cursor"),
        McpClient::Vscode => (Format::Json, "servers", "VS Code"),
        McpClient::Zed => (Format::Json, "context_servers", "Zed"),
        McpClient::GeminiCli => (Format::Json, "mcpServers", "Gemini CLI"),
    };
    Target { path, format, key, title }
}

const fn in_project(client: McpClient) -> &'static str {
    match client {
        McpClient::ClaudeCode => ".mcp.json",
        McpClient::Codex => ".codex/config.toml",
        McpClient::Cursor => ".cursor/mcp.json",
        McpClient::Vscode => ".vscode/mcp.json",
        McpClient::Zed => ".zed/settings.json",
        McpClient::GeminiCli => ".gemini/settings.json",
    }
}

fn of_user(client: McpClient, home: &Path, variable: fn(&str) -> Option<PathBuf>) -> PathBuf {
    let or_home = |name: &str, below: &str| variable(name).unwrap_or_else(|| home.join(below));
    let config = || or_home("XDG_CONFIG_HOME", ".config");
    match client {
        McpClient::ClaudeCode => {
            variable("CLAUDE_CONFIG_DIR").unwrap_or_else(|| home.to_owned()).join(".claude.json")
        }
        McpClient::Codex => or_home("CODEX_HOME", ".codex").join("config.toml"),
        McpClient::Cursor => home.join(".cursor/mcp.json"),
        McpClient::Vscode if cfg!(target_os = "macos") => {
            home.join("Library/Application Support/Code/User/mcp.json")
        }
        McpClient::Vscode if cfg!(windows) => {
            or_home("APPDATA", "AppData/Roaming").join("Code/User/mcp.json")
        }
        McpClient::Vscode => config().join("Code/User/mcp.json"),
        McpClient::Zed if cfg!(windows) => or_home("APPDATA", "AppData/Roaming").join("Zed/settings.json"),
        McpClient::Zed if cfg!(target_os = "macos") => home.join(".config/zed/settings.json"),
        McpClient::Zed => config().join("zed/settings.json"),
        McpClient::GeminiCli => home.join(".gemini/settings.json"),
    }
}

/// The entry of the server.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Fields in their order.
    pub(super) fields: Vec<(&'static str, Value)>,
}

impl Entry {
    /// The entry for a client that starts this command.
    pub(super) fn new(client: McpClient, command: &str, serve: &McpServeArgs) -> Result<Self, CommandError> {
        let mut args = vec!["mcp".to_owned()];
        // Editors start servers in any folder, and can say which one is open.
        let is_editor = matches!(client, McpClient::Cursor | McpClient::Vscode);
        if is_editor && serve.folder.is_none() && serve.session.is_none() {
            args.extend(["--folder".to_owned(), PROJECT_FOLDER.to_owned()]);
        }
        args.extend(flags(serve)?);
        let mut fields = vec![("command", json!(command)), ("args", json!(args))];
        if matches!(client, McpClient::ClaudeCode | McpClient::Vscode) {
            fields.insert(0, ("type", json!("stdio")));
        }
        Ok(Self { fields })
    }
}

/// The flags of `headwater mcp` that were given.
fn flags(serve: &McpServeArgs) -> Result<Vec<String>, CommandError> {
    let text = |path: &PathBuf| {
        let absolute = std::path::absolute(path).map_err(|error| CommandError::usage(error.to_string()))?;
        absolute
            .into_os_string()
            .into_string()
            .map_err(|path| CommandError::usage(format!("the path `{}` is not UTF-8", path.display())))
    };
    let named = |value: Option<clap::builder::PossibleValue>| value.map(|value| value.get_name().to_owned());
    let mut flags = Vec::new();
    let mut add = |flag: &str, value: String| flags.extend([flag.to_owned(), value]);
    if let Some(folder) = &serve.folder {
        add("--folder", text(folder)?);
    }
    if let Some(mode) = serve.sandbox.and_then(|mode| named(mode.to_possible_value())) {
        add("--sandbox", mode);
    }
    if let Some(network) = serve.network.and_then(|network| named(network.to_possible_value())) {
        add("--network", network);
    }
    if let Some(policy) = serve.approvals.and_then(|policy| named(policy.to_possible_value())) {
        add("--approvals", policy);
    }
    for path in &serve.writable {
        add("--writable", text(path)?);
    }
    for name in &serve.secret {
        add("--secret", name.clone());
    }
    if let Some(session) = &serve.session {
        add("--session", session.clone());
    }
    Ok(flags)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{NetworkArg, SandboxModeArg};

    #[test]
    fn every_client_has_a_file_of_the_user_and_of_the_project() {
        let user = Place::User { home: "/home/u".into(), variable: |_| None };
        let project = Place::Project("/p".into());
        for client in McpClient::value_variants() {
            let (of_user, of_project) = (target(*client, &user), target(*client, &project));
            assert!(of_user.path.starts_with("/home/u"), "{of_user:?}");
            assert!(of_project.path.starts_with("/p"), "{of_project:?}");
        }
    }

    #[test]
    fn variables_move_the_files_of_clients_that_know_them() {
        let moved = |name: &str| (name != "HOME").then(|| PathBuf::from("/moved").join(name));
        let place = Place::User { home: "/home/u".into(), variable: moved };
        let path = |client| target(client, &place).path;
        assert_eq!(path(McpClient::Codex), Path::new("/moved/CODEX_HOME/config.toml"));
        assert_eq!(path(McpClient::ClaudeCode), Path::new("/moved/CLAUDE_CONFIG_DIR/.claude.json"));
        assert_eq!(path(McpClient::GeminiCli), Path::new("/home/u/.gemini/settings.json"));
    }

    #[test]
    fn flags_that_were_given_become_arguments() {
        let serve = McpServeArgs {
            sandbox: Some(SandboxModeArg::ReadOnly),
            network: Some(NetworkArg::Packages),
            writable: vec!["/tmp/x".into()],
            ..McpServeArgs::default()
        };
        let args = |client| Entry::new(client, "/bin/headwater", &serve).unwrap().fields.pop().unwrap().1;
        let flags = ["--sandbox", "read-only", "--network", "packages", "--writable", "/tmp/x"];
        assert_eq!(args(McpClient::Codex), json!([&["mcp"], &flags[..]].concat()));
        assert_eq!(
            args(McpClient::Vscode),
            json!([&["mcp", "--folder", "${workspaceFolder}"], &flags[..]].concat())
        );
    }
}

//! `headwater mcp install`, with a home folder of its own.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use anyhow::{Context, Result};
use headwater_tests::binary;
use serde_json::{Value, json};

/// Each client with the file of its user and the place of the entry.
const CLIENTS: [(&str, &str, &str); 6] = [
    ("claude-code", ".claude.json", "/mcpServers/headwater"),
    ("codex", ".codex/config.toml", ""),
    ("cursor", ".cursor/mcp.json", "/mcpServers/headwater"),
    ("vscode", ".config/Code/User/mcp.json", "/servers/headwater"),
    ("zed", ".config/zed/settings.json", "/context_servers/headwater"),
    ("gemini-cli", ".gemini/settings.json", "/mcpServers/headwater"),
];

fn install(home: &Path, words: &[&str]) -> Result<Output> {
    let mut command = Command::new(binary());
    for variable in
        ["XDG_CONFIG_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR", "HEADWATER_URL", "HEADWATER_CONTEXT"]
    {
        command.env_remove(variable);
    }
    command.env("HOME", home).current_dir(home).args(["mcp", "install"]).args(words);
    Ok(command.output()?)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn every_client_gets_an_entry_that_starts_this_binary() -> Result<()> {
    let home = tempfile::tempdir()?;
    for (client, file, pointer) in CLIENTS {
        let path = home.path().join(file);
        let done = install(home.path(), &[client, "--yes"])?;
        assert!(done.status.success(), "{client}: {}", text(&done.stderr));
        // The change is shown first.
        assert!(text(&done.stdout).contains('+'), "{client}: {}", text(&done.stdout));
        let written = fs::read_to_string(&path).with_context(|| format!("{client}: {}", path.display()))?;
        let command = if pointer.is_empty() {
            assert!(written.starts_with("[mcp_servers.headwater]\n"), "{written}");
            let line = written.lines().find_map(|line| line.strip_prefix("command = "));
            line.context("no command")?.trim_matches('"').to_owned()
        } else {
            let config: Value = serde_json::from_str(&written)?;
            let entry = config.pointer(pointer).with_context(|| format!("{client}: {written}"))?;
            assert_eq!(entry["args"][0], "mcp", "{client}: {written}");
            entry["command"].as_str().context("no command")?.to_owned()
        };
        assert!(Path::new(&command).is_absolute() && Path::new(&command).exists(), "{client}: {command}");
        // Once more changes nothing.
        let again = install(home.path(), &[client])?;
        assert!(again.status.success() && text(&again.stderr).contains("already"), "{}", text(&again.stderr));
        assert_eq!(fs::read_to_string(&path)?, written);
    }
    Ok(())
}

#[test]
fn what_is_in_a_file_stays() -> Result<()> {
    let home = tempfile::tempdir()?;
    let path = home.path().join(".config/zed/settings.json");
    fs::create_dir_all(path.parent().context("no folder")?)?;
    fs::write(&path, "// Zed settings\n{\n  \"theme\": \"One Dark\", // mine\n}\n")?;
    let done = install(home.path(), &["zed", "--yes", "--network", "packages", "--name", "hands"])?;
    assert!(done.status.success(), "{}", text(&done.stderr));
    let written = fs::read_to_string(&path)?;
    for kept in [
        "// Zed settings\n{\n  \"theme\": \"One Dark\", // mine\n",
        "\"hands\"",
        "\"--network\", \"packages\"",
    ] {
        assert!(written.contains(kept), "{kept}: {written}");
    }
    Ok(())
}

#[test]
fn nothing_is_written_without_a_confirmation_or_into_a_broken_file() -> Result<()> {
    let home = tempfile::tempdir()?;
    let asked = install(home.path(), &["cursor"])?;
    assert_eq!(asked.status.code(), Some(2), "{}", text(&asked.stderr));
    assert!(text(&asked.stderr).contains("--yes") && text(&asked.stdout).contains("mcpServers"));
    let printed = install(home.path(), &["cursor", "--print"])?;
    let lines: Value = serde_json::from_slice(&printed.stdout)?;
    assert_eq!(lines["mcpServers"]["headwater"]["args"], json!(["mcp", "--folder", "${workspaceFolder}"]));
    assert!(!home.path().join(".cursor").exists());

    let path = home.path().join(".claude.json");
    fs::write(&path, "{\"mcpServers\": ")?;
    let broken = install(home.path(), &["claude-code", "--yes"])?;
    assert_eq!(broken.status.code(), Some(4), "{}", text(&broken.stderr));
    assert!(text(&broken.stderr).contains("nothing was changed"));
    assert_eq!(fs::read_to_string(&path)?, "{\"mcpServers\": ");
    for bad in [&["emacs", "--yes"][..], &["zed", "--yes", "--name", "a b"], &["zed", "--print", "--yes"]] {
        assert_eq!(install(home.path(), bad)?.status.code(), Some(2), "{bad:?}");
    }
    Ok(())
}

#[test]
fn the_file_of_a_project_is_written_in_it() -> Result<()> {
    let home = tempfile::tempdir()?;
    for (client, file) in
        [("claude-code", ".mcp.json"), ("codex", ".codex/config.toml"), ("vscode", ".vscode/mcp.json")]
    {
        assert!(install(home.path(), &[client, "--project", "--yes"])?.status.success());
        assert!(home.path().join(file).is_file(), "{client}");
    }
    Ok(())
}

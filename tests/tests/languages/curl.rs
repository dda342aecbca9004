//! The editor's commands as they are printed in the requirements, by the real `curl`.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use headwater_tests::Fixture;
use serde_json::{Value, json};

use crate::calls::{Languages, fixture};

/// Runs `curl -X POST URL -H ... -d BODY`, as printed but for the server's address and the token.
fn curl(fixture: &Fixture, path: &str, body: &str) -> Result<Value> {
    let said = Command::new("curl")
        .args(["--silent", "--show-error", "-X", "POST", &format!("{}{path}", fixture.server.url())])
        .args(["-H", "Content-Type: application/json"])
        .args(["-H", &format!("Authorization: Bearer {}", fixture.server.token())])
        .args(["-d", body])
        .stdin(Stdio::null())
        .output()
        .context("curl: `scripts/setup.sh` installs it")?;
    ensure!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    serde_json::from_slice(&said.stdout).with_context(|| String::from_utf8_lossy(&said.stdout).into_owned())
}

/// Has the shape of the answer that is printed: an id, a status, a process id while it runs.
async fn followed(fixture: &Fixture, started: &Value) -> Result<Value> {
    let fields: Vec<_> = started.as_object().context("no object")?.keys().map(String::as_str).collect();
    ensure!(fields == ["execution_id", "pid", "status"], "{started}");
    ensure!(matches!(started["status"].as_str(), Some("running" | "completed")), "{started}");
    ensure!(started["pid"].is_i64() || started["status"] == "completed", "{started}");
    let id = started["execution_id"].as_str().context("no id")?;
    fixture.end(id).await?;
    fixture.json(&format!("/api/v1/sessions/executions/{id}")).await
}

#[tokio::test]
async fn the_printed_command_runs_python_under_every_spelling_of_the_path() -> Result<()> {
    let fixture = fixture("").await?;
    let with_args = r#"{"session_id":"session-1","language":"python","code":"print('Hello, world')","file_path":"/src/main.py","args":[]}"#;
    let without = r#"{"session_id":"session-1","language":"python","code":"print('Hello, world')","file_path":"/src/main.py"}"#;
    for prefix in ["/v1", "/api", "/api/v1"] {
        for body in [with_args, without] {
            let started = curl(&fixture, &format!("{prefix}/sessions/execute/python"), body)?;
            let info = followed(&fixture, &started).await?;
            let said = ["status", "stdout", "stderr", "exit_code"].map(|field| info[field].clone());
            assert_eq!(said, [json!("completed"), json!("Hello, world\n"), json!(""), json!(0)], "{prefix}");
            assert!(info["execution_time_ms"].is_u64(), "{info}");
        }
    }
    assert_eq!(fixture.run("cat src/main.py").await?, "print('Hello, world')");
    Ok(())
}

#[tokio::test]
async fn the_printed_command_runs_a_binary_under_every_spelling_of_the_path() -> Result<()> {
    let fixture = fixture("").await?;
    let code =
        "#include <cstdio>\nint main(int n, char **v) { std::printf(\"%s\\n\", n > 1 ? v[1] : \"quiet\"); }";
    let saved = json!({"language": "cpp", "code": code, "file": "src/main.cpp"});
    assert_eq!(fixture.run_code(&saved).await?.stdout, "quiet\n");
    fixture.run("mkdir -p build && g++ -o build/main src/main.cpp").await?;
    let body = r#"{"session_id":"session-1","binary_path":"/workspace/build/main","args":["--verbose"]}"#;
    for prefix in ["/v1", "/api", "/api/v1"] {
        let started = curl(&fixture, &format!("{prefix}/sessions/execute/binary"), body)?;
        let info = followed(&fixture, &started).await?;
        assert_eq!(
            (&info["status"], &info["stdout"]),
            (&json!("completed"), &json!("--verbose\n")),
            "{prefix}"
        );
    }
    Ok(())
}

/// The compiler that builds these tests, shown to sessions by the configuration.
fn with_rust() -> Result<String> {
    let home = std::env::var("HOME").unwrap_or_default();
    let candidates = ["rustc".to_owned(), format!("{home}/.cargo/bin/rustc")];
    let root = candidates.iter().find_map(|rustc| {
        let said = Command::new(rustc).args(["--print", "sysroot"]).output().ok()?;
        Some(String::from_utf8(said.stdout).ok()?.trim().to_owned()).filter(|root| !root.is_empty())
    });
    let root = root.context("no rustc, and yet these tests were built")?;
    Ok(format!(
        "[[binds]]\nhost = \"{root}\"\ninside = \"/opt/rust\"\n[languages.rust]\ninterpreters = [\"/opt/rust/bin/rustc\"]\n"
    ))
}

#[tokio::test]
async fn a_language_more_follows_the_pattern() -> Result<()> {
    let fixture = fixture(&with_rust()?).await?;
    let code = r#"fn main() { println!("Hello, {}", std::env::args().count()); }"#;
    for (prefix, file) in [("/v1", Some("/src/main.rs")), ("/api", None), ("/api/v1", Some("src/other.rs"))] {
        let mut body = json!({"session_id": "session-1", "language": "rust", "code": code});
        if let Some(file) = file {
            body["file_path"] = json!(file);
        }
        let started = curl(&fixture, &format!("{prefix}/sessions/execute/rust"), &body.to_string())?;
        let info = followed(&fixture, &started).await?;
        assert_eq!((&info["status"], &info["stdout"]), (&json!("completed"), &json!("Hello, 1\n")), "{info}");
    }
    assert_eq!(fixture.run("cat src/main.rs").await?, code);
    let info = async || {
        fixture
            .language("rust")
            .await
            .is_ok_and(|rust| rust["version"].as_str().is_some_and(|version| version.starts_with("rustc 1.")))
    };
    headwater_tests::host::eventually("rustc's version is listed", info).await
}

//! The key of a model is nowhere: not in the data folder, not in the log, not in any response, not in a session.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use headwater_scripted_model::ScriptedModel;
use headwater_tests::host::contains;
use headwater_tests::http::json_of;
use headwater_tests::{ServerOptions, TestServer};
use serde_json::json;

use super::chat::{Talk, model_config, on, runs, script_of};

const KEY: &str = "sk-of-the-test-5f1c0d6b7a";
/// A word that must be found wherever the key must not be.
const CONTROL: &str = "control9f2word";

/// The files below a folder that contain this text.
fn files_with(folder: &Path, text: &str, found: &mut Vec<String>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let meta = fs::symlink_metadata(&path)?;
        if meta.is_dir() {
            files_with(&path, text, found)?;
        } else if meta.is_file() && fs::read(&path).is_ok_and(|bytes| contains(&bytes, text.as_bytes())) {
            found.push(path.display().to_string());
        }
    }
    Ok(())
}

/// A server whose models need the key: one reads it from a file, one from a variable, one has a wrong one.
async fn server(model: &ScriptedModel, folder: &Path) -> Result<TestServer> {
    let file = folder.join("key");
    fs::write(&file, format!("{KEY}\n"))?;
    let named = |name: &str, more: &str| {
        model_config(model, more).replace("[models.scripted]", &format!("[models.{name}]"))
    };
    let more = format!("api_key_file = \"{}\"", file.display());
    let config = format!(
        "pool = 1\n{}\n{}\n{}",
        named("scripted", &more),
        named("variable", "api_key_env = \"KEY_OF_THE_TEST\"").replace("default = true", ""),
        named("wrong", "api_key_env = \"WRONG_KEY\"").replace("default = true", ""),
    );
    let before = ["env".to_owned(), format!("KEY_OF_THE_TEST={KEY}"), format!("WRONG_KEY={KEY}-wrong")];
    TestServer::with(ServerOptions {
        config: Some(config),
        before: before.to_vec(),
        ..ServerOptions::default()
    })
    .await
}

#[tokio::test]
async fn the_key_of_a_model_appears_nowhere_and_a_control_is_found() -> Result<()> {
    let refusal = json!({"fail": {"status": 400, "message": format!("{CONTROL}: the key {KEY} is no good"), "times": 9}});
    let model = ScriptedModel::start(script_of(&json!({"key": KEY, "rules": [
        on("run", &[runs("env; cat /proc/*/environ | tr '\\0' '\\n'; echo end"), json!({"text": CONTROL})]),
        on("fail", &[refusal]),
    ], "turns": [{"text": CONTROL}]}))?)
    .await?;
    let folder = tempfile::tempdir()?;
    let server = server(&model, folder.path()).await?;
    let api = server.api();
    let mut talks = Vec::new();
    for (name, text, outcome) in [
        ("scripted", "hello", "completed"),
        ("variable", "run", "completed"),
        ("scripted", "fail", "failed"),
        ("wrong", "hello", "failed"),
    ] {
        let talk = Talk::new(&api, &json!({"model": name})).await?;
        let now = talk.ask(text).await?;
        ensure!(now["turn"]["outcome"] == outcome, "{name} {text}: {now:#}");
        talks.push(talk);
    }
    let checked = json_of(&api.get("/v1/models?check=true").await?, 200)?;
    let status = |at: usize| checked["items"][at]["status"].clone();
    ensure!((status(0), status(1), status(2)) == (json!("ok"), json!("ok"), json!("failed")), "{checked:#}");
    let mut paths: Vec<String> = talks
        .iter()
        .flat_map(|talk| ["", "/log", "/members", "/shares"].map(|rest| talk.path(rest)))
        .collect();
    let plain = [
        "/v1/settings",
        "/v1/doctor",
        "/metrics",
        "/v1/info",
        "/v1/models",
        "/v1/conversations",
        "/v1/audit",
        "/v1/audit/export",
        "/v1/executions",
        "/v1/sessions",
        "/openapi.json",
        "/v1/usage",
    ];
    paths.extend(plain.map(str::to_owned));
    let (mut all, mut has_control) = (String::new(), 0);
    for path in &paths {
        let answer = api.get(path).await?;
        ensure!(answer.status == 200, "{path}: {}", answer.status);
        has_control += usize::from(answer.text().contains(CONTROL));
        all += &[path, answer.head.as_str(), &answer.text()].join("\n");
    }
    ensure!(has_control >= 6, "the control is in {has_control} answers");
    let execution = talks[1].execution().await?;
    all += &api.output(&execution, "merged").await?;
    for arguments in [&["doctor", "--json"][..], &["config"], &["ps", "--all"]] {
        let shown = server.command().args(arguments).output()?;
        all += &String::from_utf8_lossy(&[shown.stdout, shown.stderr].concat());
    }
    all += &server.log();
    ensure!(all.contains("end") && all.contains("KEY_OF_THE_TEST"), "the settings name the variable");
    if let Some(at) = all.find(KEY) {
        let near = all.get(at.saturating_sub(200)..(at + 60).min(all.len())).context("text")?;
        anyhow::bail!("the key is shown: {near}");
    }
    let (mut with_key, mut with_control) = (Vec::new(), Vec::new());
    files_with(server.data(), KEY, &mut with_key)?;
    files_with(server.data(), CONTROL, &mut with_control)?;
    ensure!(with_key.is_empty() && !with_control.is_empty(), "{with_key:?} {with_control:?}");
    // What the model got has the key in no body.
    for request in model.requests() {
        ensure!(!request.body.to_string().contains(KEY));
    }
    Ok(())
}

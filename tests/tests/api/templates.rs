//! Templates of sessions, built in and of the operator.

use anyhow::{Context, Result};
use headwater_tests::http::{error_code, json_of, text, texts};
use headwater_tests::{ServerOptions, TestServer};
use serde_json::{Value, json};

#[tokio::test]
async fn a_session_starts_with_the_files_and_limits_of_its_template() -> Result<()> {
    let folder = tempfile::tempdir()?;
    std::fs::create_dir(folder.path().join("src"))?;
    std::fs::write(folder.path().join("src/main.py"), "print('ready')\n")?;
    let config = format!(
        "pool = 1\n[templates.service]\ntitle = \"Service\"\nopen = \"src/main.py\"\nfolder = \"{}\"\n\
         limits = {{ memory = \"100Mi\", pids = 90 }}",
        folder.path().display()
    );
    let server = TestServer::with(ServerOptions { config: Some(config), ..ServerOptions::default() }).await?;
    let me = server.api();

    let listed = me.json("/v1/templates").await?;
    assert_eq!(texts(&listed, "name"), ["cpp", "python", "service", "web"]);
    let of_operator =
        listed["items"].as_array().and_then(|all| all.iter().find(|one| one["name"] == "service"));
    let service = of_operator.context("the template of the operator is not listed")?;
    assert_eq!((&service["title"], &service["open"]), (&json!("Service"), &json!("src/main.py")));
    assert_eq!((&service["available"], &service["limits"]["pids"]), (&json!(true), &json!(90)));

    let request = json!({"template": "service", "limits": {"pids": 70}});
    let keyed = [("idempotency-key", "one")];
    let made = json_of(&me.send("POST", "/v1/sessions", &keyed, &request).await?, 201)?;
    let limits = (&made["limits"]["memory_bytes"], &made["limits"]["pids"]);
    assert_eq!(limits, (&json!(100 << 20), &json!(70)), "the request precedes the template");
    let session = text(&made["id"]);
    assert_eq!(me.run_in(&session, "python3 src/main.py").await?, "ready\n");

    // The repeated request finds the session and leaves its files as they are.
    me.run_in(&session, "echo changed > src/main.py").await?;
    let again = json_of(&me.send("POST", "/v1/sessions", &keyed, &request).await?, 201)?;
    assert_eq!(again["id"], made["id"]);
    assert_eq!(me.run_in(&session, "cat src/main.py").await?, "changed\n");
    Ok(())
}

#[tokio::test]
async fn a_template_that_is_unknown_or_lost_its_folder_is_refused_and_creates_nothing() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let config = format!("pool = 1\n[templates.gone]\nfolder = \"{}\"", folder.path().display());
    let server = TestServer::with(ServerOptions { config: Some(config), ..ServerOptions::default() }).await?;
    let me = server.api();
    json_of(&me.post("/v1/sessions", &json!({"template": "gone"})).await?, 201)?;
    folder.close()?;
    let create = async |template: &str| me.post("/v1/sessions", &json!({"template": template})).await;
    assert_eq!(error_code(&create("gone").await?, 409)?, "conflict");
    assert_eq!(error_code(&create("nothing").await?, 400)?, "invalid_request");
    assert_eq!(me.json("/v1/sessions").await?["items"].as_array().map(Vec::<Value>::len), Some(1));
    Ok(())
}

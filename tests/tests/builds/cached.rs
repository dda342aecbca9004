//! What the cache gives back, and when it must not.

use std::fs;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::scene::{Scene, one};

const WARNS: &str = "#include \"a.h\"\nint main() { int unused; return A; }\n";

#[tokio::test]
async fn a_hit_gives_the_same_bytes_and_the_same_diagnostics_and_runs_nothing() -> Result<()> {
    let scene = Scene::new().await?;
    let session = scene.session().await?;
    scene.write(&session, "main.cpp", WARNS)?;
    scene.write(&session, "a.h", "#define A 7\n")?;
    let first = scene.good(&one(&session, &["-Wall", "-g"])).await?;
    assert!(first["execution_id"].is_string() && first["cached"] == false, "{first}");
    let bytes = scene.read(&session, "build/main")?;
    fs::remove_file(scene.workspace(&session).join("build/main"))?;
    let second = scene.good(&one(&session, &["-Wall", "-g"])).await?;
    assert_eq!((&second["cached"], &second["execution_id"]), (&json!(true), &Value::Null), "{second}");
    for field in ["diagnostics", "stderr", "stdout", "artifacts"] {
        assert_eq!(first[field], second[field]);
    }
    assert_eq!(first["diagnostics"][0]["option"], "-Wunused-variable", "{first}");
    assert_eq!(scene.read(&session, "build/main")?, bytes);
    assert_eq!(scene.run(&session, "./build/main; echo $?").await?, "7\n");
    Ok(())
}

#[tokio::test]
async fn whatever_changes_makes_a_miss() -> Result<()> {
    let scene = Scene::new().await?;
    let session = scene.session().await?;
    scene.write(&session, "main.cpp", WARNS)?;
    scene.write(&session, "a.h", "#define A 7\n")?;
    let cached = async |flags: &[&str]| -> Result<bool> {
        Ok(scene.good(&one(&session, flags)).await?["cached"] == true)
    };
    assert!(!cached(&["-O1"]).await?);
    assert!(cached(&["-O1"]).await?);
    assert!(!cached(&["-O0"]).await?, "another flag");
    assert!(!cached(&["-O1", "-DX"]).await?, "one flag more");
    scene.write(&session, "a.h", "#define A 8\n")?;
    assert!(!cached(&["-O1"]).await?, "another header");
    assert_eq!(scene.run(&session, "./build/main; echo $?").await?, "8\n");
    scene.write(&session, "main.cpp", &format!("{WARNS}// more\n"))?;
    assert!(!cached(&["-O1"]).await?, "another source");
    // A header that hides another.
    assert!(!cached(&["-O1", "-iquote", "front"]).await?);
    assert!(cached(&["-O1", "-iquote", "front"]).await?);
    scene.write(&session, "sub/a.h", "#define A 9\n")?;
    scene.write(&session, "a.h", "#define A 7\n")?;
    assert!(!cached(&["-O1"]).await?);
    Ok(())
}

#[tokio::test]
async fn a_build_that_depends_on_more_than_its_files_is_never_cached() -> Result<()> {
    let scene = Scene::new().await?;
    let session = scene.session().await?;
    scene.write(&session, "data.bin", "one")?;
    let twice = async |text: &str, flags: &[&str]| -> Result<bool> {
        scene.write(&session, "main.cpp", text)?;
        scene.good(&one(&session, flags)).await?;
        Ok(scene.good(&one(&session, flags)).await?["cached"] == true)
    };
    assert!(twice("int main() { return 0; }\n", &[]).await?, "the control");
    assert!(!twice("#include <cstdio>\nint main() { std::puts(__TIME__); }\n", &[]).await?, "the time");
    let reads = "asm(\".data\\nfrom_file: .incbin \\\"data.bin\\\"\\n.text\");\nint main() { return 0; }\n";
    assert!(!twice(reads, &[]).await?, "what the assembler reads");
    let hidden = "#define PASTE(a, b) a##b\nPASTE(as, m)(\".data\\nfrom_file: .inc\" \"bin \\\"main.cpp\\\"\\n.text\");\nint main() { return 0; }\n";
    assert!(!twice(hidden, &[]).await?, "what the assembler reads, hidden");
    assert!(!twice("int main() { return 0; }\n", &["-B."]).await?, "other programs");
    Ok(())
}

#[tokio::test]
async fn an_include_with_a_computed_name_is_found_and_counts() -> Result<()> {
    let scene = Scene::new().await?;
    let session = scene.session().await?;
    scene.write(
        &session,
        "main.cpp",
        "#define NAME \"deep/value.h\"\n#include NAME\nint main() { return VALUE; }\n",
    )?;
    scene.write(&session, "deep/value.h", "#define VALUE 3\n")?;
    scene.good(&one(&session, &[])).await?;
    assert_eq!(scene.good(&one(&session, &[])).await?["cached"], true);
    scene.write(&session, "deep/value.h", "#define VALUE 4\n")?;
    assert_eq!(scene.good(&one(&session, &[])).await?["cached"], false);
    assert_eq!(scene.run(&session, "./build/main; echo $?").await?, "4\n");
    Ok(())
}

#[tokio::test]
async fn the_cache_is_shared_between_sessions_of_an_owner_and_between_owners_only_if_configured() -> Result<()>
{
    for (config, others) in [("", false), ("[builds]\nshare = \"all\"\n", true)] {
        let scene = Scene::with(config).await?;
        let bob = scene.server.make_token(&["--user", "bob"])?;
        let sessions = [scene.session().await?, scene.session().await?, scene.session_as(&bob).await?];
        for session in &sessions {
            scene.write(session, "main.cpp", "int main() { return 5; }\n")?;
        }
        assert_eq!(scene.good(&one(&sessions[0], &[])).await?["cached"], false);
        assert_eq!(scene.good(&one(&sessions[1], &[])).await?["cached"], true);
        let built = scene.build_as(&bob, &one(&sessions[2], &[])).await?;
        assert_eq!((&built["status"], &built["cached"]), (&json!("success"), &json!(others)), "{built}");
        assert_eq!(scene.read(&sessions[0], "build/main")?, scene.read(&sessions[2], "build/main")?);
    }
    Ok(())
}

#[tokio::test]
async fn one_key_is_one_build() -> Result<()> {
    let scene = Scene::new().await?;
    let session = scene.session().await?;
    scene.write(&session, "main.cpp", "int main() { return 5; }\n")?;
    let body = one(&session, &[]).to_string();
    let bearer = format!("Bearer {}", scene.token);
    let ask = async |body: &str| {
        let headers = [
            ("Authorization", bearer.as_str()),
            ("Content-Type", "application/json"),
            ("Idempotency-Key", "k"),
        ];
        let path = "/v1/sessions/build/cpp";
        headwater_tests::raw::request(scene.server.address(), "POST", path, &headers, body.as_bytes()).await
    };
    let both = futures_util::future::join_all([ask(&body), ask(&body), ask(&body)]).await;
    let ids: Vec<_> =
        both.into_iter().map(|answer| Ok(answer?.json()?["build_id"].clone())).collect::<Result<_>>()?;
    assert!(ids[0].is_string() && ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    let listed = scene.ask("GET", &format!("/v1/sessions/{session}/builds"), &Value::Null).await?.json()?;
    assert_eq!(listed["items"].as_array().context("no list")?.len(), 1);
    assert_eq!(ask(&body.replace("main.cpp", "other.cpp")).await?.status, 422);
    Ok(())
}

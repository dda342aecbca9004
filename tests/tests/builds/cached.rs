//! Cache hits, and builds that must not be cached.

use std::fs;

use anyhow::{Context, Result};
use headwater_tests::Fixture;
use serde_json::{Value, json};

use crate::calls::{Builds, build_as, one};

const WARNS: &str = "#include \"a.h\"\nint main() { int unused; return A; }\n";

#[tokio::test]
async fn a_hit_gives_the_same_bytes_and_the_same_diagnostics_and_runs_nothing() -> Result<()> {
    let fixture = Fixture::new().await?;
    let session = fixture.session.clone();
    fixture.write(&session, "main.cpp", WARNS)?;
    fixture.write(&session, "a.h", "#define A 7\n")?;
    let first = fixture.built(&one(&session, &["-Wall", "-g"])).await?;
    assert!(first["execution_id"].is_string() && first["cached"] == false, "{first}");
    let bytes = fixture.read(&session, "build/main")?;
    fs::remove_file(fixture.folder_of(&session).join("workspace").join("build/main"))?;
    let second = fixture.built(&one(&session, &["-Wall", "-g"])).await?;
    assert_eq!((&second["cached"], &second["execution_id"]), (&json!(true), &Value::Null), "{second}");
    for field in ["diagnostics", "stderr", "stdout", "artifacts"] {
        assert_eq!(first[field], second[field]);
    }
    assert_eq!(first["diagnostics"][0]["option"], "-Wunused-variable", "{first}");
    assert_eq!(fixture.read(&session, "build/main")?, bytes);
    assert_eq!(fixture.run_in(&session, "./build/main; echo $?").await?, "7\n");
    Ok(())
}

#[tokio::test]
async fn whatever_changes_makes_a_miss() -> Result<()> {
    let fixture = Fixture::new().await?;
    let session = fixture.session.clone();
    fixture.write(&session, "main.cpp", WARNS)?;
    fixture.write(&session, "a.h", "#define A 7\n")?;
    let cached = async |flags: &[&str]| -> Result<bool> {
        Ok(fixture.built(&one(&session, flags)).await?["cached"] == true)
    };
    assert!(!cached(&["-O1"]).await?);
    assert!(cached(&["-O1"]).await?);
    assert!(!cached(&["-O0"]).await?, "another flag");
    assert!(!cached(&["-O1", "-DX"]).await?, "one flag more");
    fixture.write(&session, "a.h", "#define A 8\n")?;
    assert!(!cached(&["-O1"]).await?, "another header");
    assert_eq!(fixture.run_in(&session, "./build/main; echo $?").await?, "8\n");
    fixture.write(&session, "main.cpp", &format!("{WARNS}// more\n"))?;
    assert!(!cached(&["-O1"]).await?, "another source");
    // A header that hides another.
    assert!(!cached(&["-O1", "-iquote", "front"]).await?);
    assert!(cached(&["-O1", "-iquote", "front"]).await?);
    fixture.write(&session, "sub/a.h", "#define A 9\n")?;
    fixture.write(&session, "a.h", "#define A 7\n")?;
    assert!(!cached(&["-O1"]).await?);
    Ok(())
}

#[tokio::test]
async fn a_build_that_depends_on_more_than_its_files_is_never_cached() -> Result<()> {
    let fixture = Fixture::new().await?;
    let session = fixture.session.clone();
    fixture.write(&session, "data.bin", "one")?;
    let twice = async |text: &str, flags: &[&str]| -> Result<bool> {
        fixture.write(&session, "main.cpp", text)?;
        fixture.built(&one(&session, flags)).await?;
        Ok(fixture.built(&one(&session, flags)).await?["cached"] == true)
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
    let fixture = Fixture::new().await?;
    let session = fixture.session.clone();
    fixture.write(
        &session,
        "main.cpp",
        "#define NAME \"deep/value.h\"\n#include NAME\nint main() { return VALUE; }\n",
    )?;
    fixture.write(&session, "deep/value.h", "#define VALUE 3\n")?;
    fixture.built(&one(&session, &[])).await?;
    assert_eq!(fixture.built(&one(&session, &[])).await?["cached"], true);
    fixture.write(&session, "deep/value.h", "#define VALUE 4\n")?;
    assert_eq!(fixture.built(&one(&session, &[])).await?["cached"], false);
    assert_eq!(fixture.run_in(&session, "./build/main; echo $?").await?, "4\n");
    Ok(())
}

#[tokio::test]
async fn the_cache_is_shared_between_sessions_of_an_owner_and_between_owners_only_if_configured() -> Result<()>
{
    for (config, others) in [("", false), ("[builds]\nshare = \"all\"\n", true)] {
        let fixture = Fixture::with(config, &json!({})).await?;
        let bob = fixture.server.user("bob", "member")?;
        let sessions = [
            fixture.api.session(&json!({})).await?,
            fixture.api.session(&json!({})).await?,
            bob.session(&json!({})).await?,
        ];
        for session in &sessions {
            fixture.write(session, "main.cpp", "int main() { return 5; }\n")?;
        }
        assert_eq!(fixture.built(&one(&sessions[0], &[])).await?["cached"], false);
        assert_eq!(fixture.built(&one(&sessions[1], &[])).await?["cached"], true);
        let built = build_as(&bob, &one(&sessions[2], &[])).await?;
        assert_eq!((&built["status"], &built["cached"]), (&json!("success"), &json!(others)), "{built}");
        assert_eq!(fixture.read(&sessions[0], "build/main")?, fixture.read(&sessions[2], "build/main")?);
    }
    Ok(())
}

#[tokio::test]
async fn one_key_is_one_build() -> Result<()> {
    let fixture = Fixture::new().await?;
    let session = fixture.session.clone();
    fixture.write(&session, "main.cpp", "int main() { return 5; }\n")?;
    let body = one(&session, &[]);
    let ask = async |body: &Value| {
        fixture.send("POST", "/v1/sessions/build/cpp", &[("Idempotency-Key", "k")], body).await
    };
    let both = futures_util::future::join_all([ask(&body), ask(&body), ask(&body)]).await;
    let ids: Vec<_> =
        both.into_iter().map(|answer| Ok(answer?.json()?["build_id"].clone())).collect::<Result<_>>()?;
    assert!(ids[0].is_string() && ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    let listed = fixture.get(&format!("/v1/sessions/{session}/builds")).await?.json()?;
    assert_eq!(listed["items"].as_array().context("no list")?.len(), 1);
    let mut other = body.clone();
    other["source_files"] = json!(["other.cpp"]);
    assert_eq!(ask(&other).await?.status, 422);
    Ok(())
}

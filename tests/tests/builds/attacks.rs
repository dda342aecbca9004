//! Sessions that try to spoil what others are given, or to have the host write and read elsewhere.

use std::fs;
use std::os::unix::fs::symlink;

use anyhow::{Context, Result};
use headwater_tests::Fixture;
use serde_json::{Value, json};

use crate::calls::{Builds, one};

/// A program that changes everything in its workspace all the time, what a build reads and what it makes.
const RESTLESS: &str = "while :; do \
    echo 'int main() { return 66; }' >main.cpp.new; mv main.cpp.new main.cpp; \
    echo '#define A 66' >a.h; \
    mkdir -p build .headwater-build; cp /bin/true build/main 2>/dev/null; \
    for f in .headwater-build/0.o .headwater-build/made .headwater-build/0.s; do cp /bin/true $f 2>/dev/null; done; \
    printf '#include \"a.h\"\\nint main() { return A; }\\n' >main.cpp.new; mv main.cpp.new main.cpp; \
    echo '#define A 7' >a.h; done";

#[tokio::test]
async fn a_session_that_rewrites_its_files_all_the_time_spoils_nothing_for_others() -> Result<()> {
    let fixture = Fixture::with("[builds]\nshare = \"all\"\n", &json!({})).await?;
    let (good, bad) = (fixture.api.session(&json!({})).await?, fixture.api.session(&json!({})).await?);
    let text = "#include \"a.h\"\nint main() { return A; }\n";
    for session in [&good, &bad] {
        fixture.write(session, "main.cpp", text)?;
        fixture.write(session, "a.h", "#define A 7\n")?;
    }
    let restless = fixture.start(&bad, &json!({"shell": RESTLESS})).await?;
    for n in 0..6 {
        // Whatever it was when it was taken is compiled: it may even be half a file, and fail.
        let flag = format!("-DN={}", n % 3);
        let built = fixture.build(&one(&bad, &[&flag])).await;
        assert!(
            built.is_ok() || built.as_ref().is_err_and(|error| !error.to_string().starts_with('5')),
            "{built:?}"
        );
    }
    for n in 0..3 {
        let built = fixture.built(&one(&good, &[&format!("-DN={n}")])).await?;
        assert_eq!(built["diagnostics"], json!([]), "{built}");
        assert_eq!(fixture.run_in(&good, "./build/main; echo $?").await?, "7\n", "{built}");
    }
    fixture.post(&format!("/v1/executions/{restless}/cancel"), &json!({"grace_ms": 0})).await?;
    Ok(())
}

#[tokio::test]
async fn no_session_sees_the_cache_or_another_builds_files() -> Result<()> {
    let fixture = Fixture::new().await?;
    let session = fixture.session.clone();
    fixture.write(&session, "main.cpp", "int main() { return 5; }\n")?;
    fixture.built(&one(&session, &[])).await?;
    let data = fixture.server.data().display().to_string();
    let look = format!(
        "ls '{data}' '{data}/build-cache' '{data}/builds' 2>/dev/null; find / -xdev -name build-cache -o -xdev -name '.headwater-build' 2>/dev/null; echo end"
    );
    assert_eq!(fixture.run_in(&session, &look).await?, "end\n");
    // Built in a separate session: only the binary is in the workspace.
    let listed = fixture.run_in(&session, "find . -type f | sort").await?;
    assert_eq!(listed, "./build/main\n./main.cpp\n");
    // And a compiler there sees no other file than those it was given.
    fixture.write(&session, "secret.txt", "#define SECRET 1\n")?;
    let curious = "#if __has_include(\"/etc/shadow\") || __has_include(\"/workspace/secret.tx\" \"t\")\n#error seen\n#endif\nint main() {}\n";
    fixture.write(&session, "main.cpp", curious)?;
    let built = fixture.build(&one(&session, &[])).await?;
    assert!(!built["stderr"].as_str().unwrap_or("").contains("seen"), "{built}");
    Ok(())
}

#[tokio::test]
async fn a_link_at_the_output_or_a_source_leads_nowhere() -> Result<()> {
    let fixture = Fixture::new().await?;
    let session = fixture.session.clone();
    let (workspace, canary) =
        (fixture.folder_of(&session).join("workspace"), fixture.server.scratch().join("canary"));
    fs::write(&canary, "untouched")?;
    fs::create_dir(fixture.server.scratch().join("outside"))?;
    fixture.write(&session, "main.cpp", "int main() { return 5; }\n")?;
    symlink(&canary, workspace.join("file-link"))?;
    symlink(fixture.server.scratch().join("outside"), workspace.join("folder-link"))?;
    symlink(fixture.server.scratch().join("not-there"), workspace.join("dangling"))?;
    fs::create_dir(workspace.join("folder"))?;
    rustix::fs::mknodat(
        rustix::fs::CWD,
        workspace.join("fifo"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o666),
        0,
    )?;
    // The first is a miss, all others would be hits: both ways must refuse.
    for output in
        ["file-link", "folder-link/main", "dangling", "folder", "fifo", "file-link", "folder-link/main"]
    {
        let mut request = one(&session, &[]);
        request["output_binary"] = json!(output);
        let answer = fixture.post("/v1/sessions/build/cpp", &request).await?;
        let refused = answer.status == 409 || answer.json()?["status"] == "failed";
        assert!(refused, "{output}: {} {}", answer.status, answer.text());
        assert!(answer.status < 500, "{}", answer.text());
    }
    assert_eq!(fs::read_to_string(&canary)?, "untouched");
    assert_eq!(fs::read_dir(fixture.server.scratch().join("outside"))?.count(), 0);
    assert!(!fixture.server.scratch().join("not-there").exists());
    // What lies behind a link is not compiled.
    fs::write(&canary, "int main() { return 5; }\n")?;
    symlink(&canary, workspace.join("linked.cpp"))?;
    let mut request = one(&session, &[]);
    request["source_files"] = json!(["linked.cpp"]);
    assert_eq!(fixture.post("/v1/sessions/build/cpp", &request).await?.status, 404);
    fs::write(&canary, "#error from outside\n")?;
    symlink(&canary, workspace.join("linked.h"))?;
    fixture.write(&session, "main.cpp", "#include \"linked.h\"\nint main() {}\n")?;
    let built = fixture.build(&one(&session, &[])).await?;
    assert!(built["status"] == "failed" && !built["stderr"].to_string().contains("from outside"), "{built}");
    Ok(())
}

#[tokio::test]
async fn another_users_build_is_not_found() -> Result<()> {
    let fixture = Fixture::new().await?;
    let session = fixture.session.clone();
    fixture.write(&session, "main.cpp", "int main() { return 5; }\n")?;
    let built = fixture.built(&one(&session, &[])).await?;
    let bob = fixture.server.user("bob", "member")?;
    let id = built["build_id"].as_str().context("no id")?;
    let execution = built["execution_id"].as_str().context("no execution")?;
    for (method, path) in [
        ("GET", format!("/v1/builds/{id}")),
        ("POST", format!("/v1/builds/{id}/cancel")),
        ("GET", format!("/v1/sessions/{session}/builds")),
        ("GET", format!("/v1/executions/{execution}/output")),
    ] {
        assert_eq!(bob.send(method, &path, &[], &Value::Null).await?.status, 404, "{path}");
    }
    assert_eq!(bob.post("/v1/sessions/build/cpp", &one(&session, &[])).await?.status, 404);
    Ok(())
}

/// Compiles for a while, and well.
const SLOW: &str = "constexpr long sum() { long s = 0; for (long i = 0; i < 3000000; ++i) s += i % 7; return s; }\n\
                    constexpr long made = sum();\nint main() { return made > 0 ? 7 : 8; }\n";

#[tokio::test]
async fn nobody_reaches_into_the_session_of_a_build_not_even_its_owner() -> Result<()> {
    let fixture = Fixture::new().await?;
    let session = fixture.session.clone();
    fixture.write(&session, "main.cpp", SLOW)?;
    let flags = ["-fconstexpr-loop-limit=2000000000", "-fconstexpr-ops-limit=2000000000"];
    let mut request = one(&session, &flags);
    request["wait"] = json!(false);
    let begun = fixture.build(&request).await?;
    assert_eq!(begun["status"], "running", "{begun}");
    let id = begun["build_id"].as_str().context("no id")?;
    let own = id.replace("bld_", "ses_");
    let mut inside = one(&own, &["-DOTHER"]);
    inside["output_binary"] = json!("a.h");
    for (method, path, body) in [
        (
            "POST",
            format!("/v1/sessions/{own}/executions"),
            json!({"shell": "cp /bin/true .headwater-build/0.o"}),
        ),
        (
            "PUT",
            format!("/v1/sessions/{own}/files/content?path=main.cpp"),
            json!("int main() { return 66; }"),
        ),
        ("GET", format!("/v1/sessions/{own}/files/archive"), Value::Null),
        ("POST", format!("/v1/sessions/{own}/terminals"), json!({})),
        ("POST", format!("/v1/sessions/{own}/fork"), json!({})),
        ("PATCH", format!("/v1/sessions/{own}"), json!({"metadata": {"a": "b"}})),
        ("POST", format!("/v1/sessions/{own}/hibernate"), Value::Null),
        ("POST", "/v1/sessions/build/cpp".to_owned(), inside),
    ] {
        let answer = fixture.send(method, &path, &[], &body).await?;
        assert_eq!(answer.status, 409, "{method} {path}: {}", answer.text());
        assert!(answer.text().contains("belongs to a build"), "{method} {path}: {}", answer.text());
    }
    // It can still be looked at, and it ends well.
    assert_eq!(fixture.get(&format!("/v1/sessions/{own}")).await?.status, 200);
    let mut ended = begun.clone();
    while ended["status"] == "running" {
        ended = fixture.get(&format!("/v1/builds/{id}?wait=50s")).await?.json()?;
    }
    assert_eq!(ended["status"], "success", "{ended}");
    assert_eq!(fixture.run_in(&session, "./build/main; echo $?").await?, "7\n");
    Ok(())
}

#[tokio::test]
async fn the_mark_of_a_builds_session_is_not_taken_from_anybody() -> Result<()> {
    let fixture = Fixture::new().await?;
    let session = fixture.session.clone();
    let mark = json!({"metadata": {"headwater.build": "x"}});
    assert_eq!(fixture.post("/v1/sessions", &mark).await?.status, 400);
    assert_eq!(fixture.patch(&format!("/v1/sessions/{session}"), &mark).await?.status, 400);
    assert_eq!(fixture.run_in(&session, "echo free").await?, "free\n");
    Ok(())
}

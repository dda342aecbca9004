//! The documented `curl` command, and several sources at once.

use std::process::Command;

use anyhow::{Context, Result};
use headwater_tests::Fixture;
use serde_json::{Value, json};

use crate::calls::{Builds, one};

/// The command as printed, but for the server's address and the token.
#[tokio::test]
async fn the_printed_curl_builds_and_the_binary_runs() -> Result<()> {
    let fixture = Fixture::new().await?;
    let made = fixture.post("/v1/sessions", &json!({"name": "session-1"})).await?.json()?;
    let session = made["id"].as_str().context("no session")?.to_owned();
    let source = "#include <iostream>\nint main(int n, char** args) { std::cout << \"Hello \" << n << args[1] << std::endl; }\n";
    fixture.write(&session, "src/main.cpp", source)?;
    for (path, flags) in [
        ("/v1/sessions/build/cpp", r#"["-std=c++17","-O2","-Wall"]"#),
        ("/api/v1/sessions/build/cpp", r#"["-std=c++17","-O2"]"#),
        ("/api/sessions/build/cpp", r#"["-std=c++17","-O2"]"#),
    ] {
        let body = format!(
            r#"{{"session_id":"session-1","source_files":["/src/main.cpp"],"output_binary":"/workspace/build/main","compiler":"g++","flags":{flags}}}"#
        );
        let mut curl = Command::new("curl");
        curl.args(["-sS", "--max-time", "170", "-X", "POST", &format!("{}{path}", fixture.server.url())]);
        curl.args([
            "-H",
            "Content-Type: application/json",
            "-H",
            &format!("Authorization: Bearer {}", fixture.token()),
        ]);
        curl.args(["-d", &body]);
        let info = tokio::task::spawn_blocking(move || curl.output()).await??;
        let built: Value = serde_json::from_slice(&info.stdout)?;
        let fields = ["status", "stdout", "stderr", "artifacts"].map(|field| built[field].clone());
        let expected =
            [json!("success"), json!("Compiled successfully"), json!(""), json!(["/workspace/build/main"])];
        assert_eq!(fields, expected, "{built}");
        assert!(built["build_id"].as_str().is_some_and(|id| id.starts_with("bld_")), "{built}");
        assert_eq!(built["cached"], json!(path == "/api/sessions/build/cpp"), "{built}");
    }
    assert_eq!(fixture.run_in(&session, "./build/main --verbose").await?, "Hello 2--verbose\n");
    Ok(())
}

#[tokio::test]
async fn several_sources_are_compiled_and_linked_and_all_names_of_a_file_are_one() -> Result<()> {
    let fixture = Fixture::new().await?;
    let session = fixture.session.clone();
    let main =
        "#include \"parts.h\"\n#include <cstdio>\nint main() { std::printf(\"%d\\n\", a() + b() + c()); }\n";
    fixture.write(&session, "src/main.cpp", main)?;
    fixture.write(&session, "inc/parts.h", "int a(); int b(); int c();\n")?;
    for (n, name) in ["a", "b", "c"].iter().enumerate() {
        let text = format!("#include <parts.h>\nint {name}() {{ return {n} + 1; }}\n");
        fixture.write(&session, &format!("src/with space/{name}.cpp"), &text)?;
    }
    let request = json!({
        "session_id": session, "output_binary": "bin/sum", "flags": ["-Iinc"],
        "source_files": ["/src/main.cpp", "/workspace/src/with space/a.cpp", "src/with space/b.cpp", "./src/with space/c.cpp"],
    });
    let built = fixture.built(&request).await?;
    assert_eq!((&built["cached"], &built["cached_objects"]), (&json!(false), &json!(0)));
    assert_eq!(fixture.run_in(&session, "./bin/sum").await?, "6\n");
    // One of four is changed: three objects are cached.
    fixture.write(&session, "src/with space/b.cpp", "#include <parts.h>\nint b() { return 20; }\n")?;
    let built = fixture.built(&request).await?;
    assert_eq!((&built["cached"], &built["cached_objects"]), (&json!(false), &json!(3)));
    assert_eq!(fixture.run_in(&session, "./bin/sum").await?, "24\n");
    let commands = fixture.get(&format!("/v1/sessions/{session}/builds/compile-commands")).await?;
    let commands = commands.json()?;
    assert_eq!(commands.as_array().map(Vec::len), Some(4), "{commands}");
    assert_eq!(commands[0]["file"], "/workspace/src/main.cpp");
    let listed = fixture.get(&format!("/v1/sessions/{session}/builds?limit=1")).await?.json()?;
    assert_eq!(listed["items"][0]["build_id"], built["build_id"]);
    assert!(listed["next_cursor"].is_string());
    let path = format!("/v1/builds/{}", built["build_id"].as_str().context("no id")?);
    assert_eq!(fixture.get(&path).await?.json()?, built);
    Ok(())
}

#[tokio::test]
async fn a_build_that_is_not_waited_for_is_followed_like_any_execution_and_cancelled() -> Result<()> {
    let fixture = Fixture::new().await?;
    let session = fixture.session.clone();
    // Each level is twice the one before it: this compiles for minutes.
    let slow = "template <int N, int M> struct F { static constexpr long v = F<N - 1, 2 * M>::v + F<N - 1, 2 * M + 1>::v; };\n\
                template <int M> struct F<0, M> { static constexpr long v = M; };\nint main() { return F<26, 0>::v; }\n";
    fixture.write(&session, "main.cpp", slow)?;
    let mut request = one(&session, &[]);
    request["wait"] = json!(false);
    let begun = fixture.build(&request).await?;
    assert_eq!(begun["status"], "running", "{begun}");
    let execution = begun["execution_id"].as_str().context("no execution")?.to_owned();
    let info = fixture.get(&format!("/v1/executions/{execution}")).await?.json()?;
    assert_eq!(info["state"], "running", "{info}");
    let path = format!("/v1/builds/{}", begun["build_id"].as_str().context("no id")?);
    assert_eq!(fixture.post(&format!("{path}/cancel"), &Value::Null).await?.status, 204);
    let ended = fixture.get(&format!("{path}?wait=50s")).await?.json()?;
    assert_eq!((&ended["status"], &ended["artifacts"]), (&json!("cancelled"), &json!([])), "{ended}");
    assert!(fixture.read(&session, "build/main").is_err());
    // Again is no mistake.
    assert_eq!(fixture.post(&format!("{path}/cancel"), &Value::Null).await?.status, 204);
    request["wait"] = json!(true);
    request["timeout_ms"] = json!(300);
    let ended = fixture.build(&request).await?;
    assert_eq!(ended["status"], "timed_out", "{ended}");
    Ok(())
}

#[tokio::test]
async fn the_operators_time_limit_and_compilers_hold() -> Result<()> {
    let fixture = Fixture::with("[builds]\ntimeout = \"200ms\"\ncompilers = [\"gcc\"]\n", &json!({})).await?;
    let session = fixture.session.clone();
    fixture.write(
        &session,
        "main.cpp",
        "#include <regex>\n#include <iostream>\nint main() { std::regex r(\"a\"); }\n",
    )?;
    let mut request = one(&session, &["-O3"]);
    request["timeout_ms"] = json!(600_000);
    let ended = fixture.build(&request).await?;
    assert_eq!(ended["status"], "timed_out", "{ended}");
    request["compiler"] = json!("clang++");
    let refused = fixture.post("/v1/sessions/build/cpp", &request).await?;
    assert_eq!(refused.status, 400, "{}", refused.text());
    assert!(refused.json()?["error"]["hint"].as_str().is_some_and(|hint| hint.contains("gcc")));
    Ok(())
}

#[tokio::test]
async fn invalid_builds_are_refused_with_a_hint() -> Result<()> {
    let fixture = Fixture::new().await?;
    let session = fixture.session.clone();
    fixture.write(&session, "main.cpp", "int main() {}\n")?;
    let base = one(&session, &[]);
    for (field, value, status) in [
        ("source_files", json!(["missing.cpp"]), 404),
        ("source_files", json!([]), 400),
        ("source_files", json!(["../main.cpp"]), 400),
        ("source_files", json!(["main.cpp", "/main.cpp"]), 400),
        ("output_binary", json!("../../x"), 400),
        ("output_binary", json!("main.cpp"), 400),
        ("output_binary", json!(""), 400),
        ("output_binary", json!("build/"), 400),
        ("flags", json!(["-o", "x"]), 400),
        ("flags", json!(["other.cpp"]), 400),
        ("flags", json!("-O2"), 400),
        ("compiler", json!("/bin/sh"), 400),
        ("sanitize", json!(["no such; thing"]), 400),
        ("session_id", json!("nobody"), 404),
        ("colour", json!("red"), 400),
    ] {
        let mut request = base.clone();
        request[field] = value.clone();
        let answer = fixture.post("/v1/sessions/build/cpp", &request).await?;
        assert_eq!(answer.status, status, "{field} {value}: {}", answer.text());
        let error = &answer.json()?["error"];
        assert!(error["hint"].as_str().is_some_and(|hint| !hint.is_empty()), "{error}");
    }
    for path in ["/v1/builds/x", "/v1/builds/bld_00000000000000000000000000000000"] {
        assert_eq!(fixture.get(path).await?.status, 404);
    }
    Ok(())
}

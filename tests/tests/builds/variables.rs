//! The variables of IDE deployments, and what is missing on a host.

use anyhow::{Context, Result};
use headwater_tests::http::{error_of, json_of};
use headwater_tests::{Api, ServerOptions, TestServer};
use serde_json::{Value, json};

/// A server with these variables in its environment.
async fn with_variables(variables: &[&str], config: &str) -> Result<TestServer> {
    let before = ["env"].iter().chain(variables).map(|&word| word.to_owned()).collect();
    let config = Some(format!("pool = 1\n{config}"));
    TestServer::with(ServerOptions { before, config, ..ServerOptions::default() }).await
}

async fn build(api: &Api, session: &str, request: &Value) -> Result<Value> {
    json_of(&api.post(&format!("/v1/sessions/{session}/builds"), request).await?, 200)
}

#[tokio::test]
async fn the_compiler_of_the_environment_holds_for_cmake_make_and_code() -> Result<()> {
    let server = with_variables(&["SESSION_CPP_COMPILER=g++-12"], "").await?;
    let api = server.api();
    let session = api.session(&json!({})).await?;
    let lists = "cmake_minimum_required(VERSION 3.13)\nproject(it CXX)\nadd_executable(it main.cpp)\n";
    let write = format!("printf '{lists}' > CMakeLists.txt; echo 'int main() {{}}' > main.cpp");
    api.run_in(&session, &write.replace('\n', "\\n")).await?;
    let built = build(&api, &session, &json!({"kind": "cmake"})).await?;
    assert_eq!(built["status"], "success", "{built}");
    let commands = api.run_in(&session, "cat build/compile_commands.json").await?;
    assert!(commands.contains("/g++-12 "), "{commands}");
    // make takes it from the environment.
    assert_eq!(api.run_in(&session, "echo $CXX $CC").await?, "g++-12 gcc-12\n");
    let languages = api.json("/v1/languages").await?;
    let languages = languages["languages"].as_array().context("no languages")?.clone();
    for (name, compiler) in [("cpp", "/usr/bin/g++-12"), ("c", "/usr/bin/gcc-12")] {
        let found = languages.iter().find(|language| language["name"] == name).context("no language")?;
        assert_eq!(found["interpreter"], compiler);
    }
    Ok(())
}

#[tokio::test]
async fn a_python_version_that_is_not_installed_is_an_error_at_start() -> Result<()> {
    let failed = with_variables(&["SESSION_PYTHON_VERSION=3.99"], "").await;
    let said = format!("{:#}", failed.err().context("it started")?);
    assert!(said.contains("SESSION_PYTHON_VERSION") && said.contains("apt-get install python3.99"), "{said}");
    Ok(())
}

#[tokio::test]
async fn the_chosen_python_version_is_python_in_shells_too() -> Result<()> {
    let version = std::process::Command::new("/usr/bin/python3")
        .args(["-c", "import sys; print('%d.%d' % sys.version_info[:2])"])
        .output()?;
    let version = String::from_utf8(version.stdout)?.trim().to_owned();
    let server = with_variables(&[&format!("SESSION_PYTHON_VERSION={version}")], "").await?;
    let api = server.api();
    let session = api.session(&json!({})).await?;
    for python in ["python", "python3"] {
        let shown = api.run_in(&session, &format!("{python} --version")).await?;
        assert!(shown.starts_with(&format!("Python {version}.")), "{shown}");
    }
    Ok(())
}

#[tokio::test]
async fn the_maxima_of_the_environment_refuse_more_and_are_the_default() -> Result<()> {
    let server = with_variables(&["SESSION_MAX_MEMORY=256Mi", "SESSION_MAX_CPU=0.5"], "").await?;
    let api = server.api();
    for (limits, wanted) in [
        (json!({"memory_bytes": 257 << 20}), 400),
        (json!({"cpus": 0.6}), 400),
        (json!({"memory_bytes": 255 << 20, "cpus": 0.4}), 201),
    ] {
        let answer = api.post("/v1/sessions", &json!({ "limits": limits })).await?;
        assert_eq!(answer.status, wanted, "{limits}: {}", answer.text());
    }
    let session = api.session(&json!({})).await?;
    let session = api.json(&format!("/v1/sessions/{session}")).await?;
    assert_eq!(session["limits"]["memory_bytes"], json!(256 << 20), "{session}");
    Ok(())
}

#[tokio::test]
async fn a_missing_compiler_is_refused_with_its_package() -> Result<()> {
    let config = "[builds]\ncompilers = [\"g++\", \"g++-99\"]\n[languages.go]\ninterpreters = [\"no-such-go\"]\n\
                  [languages.cpp]\ninterpreters = [\"g++-98\"]\n";
    // A host without cmake, for this server alone.
    let hide = "mount --bind /dev/null /usr/bin/cmake && exec \"$@\"";
    let before = ["unshare", "--mount", "sh", "-c", hide, "sh"].map(str::to_owned).to_vec();
    let config = Some(format!("pool = 1\n{config}"));
    let server = TestServer::with(ServerOptions { before, config, ..ServerOptions::default() }).await?;
    let api = server.api();
    let session = api.session(&json!({})).await?;
    api.run_in(&session, "touch a").await?;
    let path = format!("/v1/sessions/{session}/builds");
    let with = |mut request: Value| {
        request["source_files"] = json!(["a"]);
        request["output_binary"] = json!("b");
        request
    };
    for (path, request, package) in [
        (path.as_str(), json!({"kind": "cmake"}), "cmake"),
        (&path, with(json!({"kind": "cpp", "compiler": "g++-99"})), "g++-99"),
        (&path, with(json!({"kind": "language", "language": "go"})), "golang-go"),
        ("/v1/sessions/execute/cpp", json!({"session_id": session, "code": "int main() {}"}), "g++-98"),
    ] {
        let error = error_of(&api.post(path, &request).await?, 400)?;
        assert_eq!(error["hint"], format!("apt-get install {package}"), "{error}");
    }
    // The control: make is installed.
    api.run_in(&session, "printf 'all:\\n\\t@true\\n' > Makefile").await?;
    assert_eq!(build(&api, &session, &json!({"kind": "make"})).await?["status"], "success");
    Ok(())
}

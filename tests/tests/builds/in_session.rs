//! Builds that run in the session itself: make, `CMake`, and plain C through the cache.

use anyhow::Result;
use headwater_tests::Fixture;
use serde_json::{Value, json};

use crate::calls::{Builds, one};

async fn build(fixture: &Fixture, session: &str, request: &Value) -> Result<Value> {
    fixture.post(&format!("/v1/sessions/{session}/builds"), request).await?.json()
}

#[tokio::test]
async fn a_makefile_is_made_in_the_session_and_its_messages_are_diagnostics() -> Result<()> {
    let fixture = Fixture::new().await?;
    let session = fixture.session.clone();
    fixture.write(
        &session,
        "proj/Makefile",
        "all: main\nmain: main.o part.o\n\t$(CXX) -o $@ $^\n%.o: %.cpp\n\t$(CXX) $(FLAGS) -c $<\n",
    )?;
    fixture.write(&session, "proj/part.cpp", "int part() { return 4; }\n")?;
    fixture.write(&session, "proj/main.cpp", "int part();\nint main() { int unused; return part(); }\n")?;
    fixture.run_in(&session, "true").await?;
    let request = json!({"kind": "make", "source_dir": "/proj", "args": ["FLAGS=-Wall"]});
    let built = build(&fixture, &session, &request).await?;
    assert_eq!((&built["status"], &built["cached"]), (&json!("success"), &json!(false)), "{built}");
    assert_eq!(built["diagnostics"][0]["option"], "-Wunused-variable", "{built}");
    assert_eq!(built["diagnostics"][0]["file"], "/workspace/proj/main.cpp", "{built}");
    assert_eq!(built["artifacts"], json!(["/workspace/proj/main"]), "{built}");
    assert_eq!(fixture.run_in(&session, "./proj/main; echo $?").await?, "4\n");
    let failed =
        build(&fixture, &session, &json!({"kind": "make", "source_dir": "proj", "target": "nothing"}))
            .await?;
    assert_eq!(failed["status"], "failed", "{failed}");
    assert!(failed["stderr"].as_str().is_some_and(|text| text.contains("nothing")), "{failed}");
    Ok(())
}

#[tokio::test]
async fn a_cmake_project_is_configured_and_built_and_exports_its_compile_commands() -> Result<()> {
    assert!(
        std::path::Path::new("/usr/bin/cmake").exists(),
        "cmake is missing: scripts/setup.sh installs it"
    );
    let fixture = Fixture::new().await?;
    let session = fixture.session.clone();
    let lists =
        "cmake_minimum_required(VERSION 3.13)\nproject(sample CXX)\nadd_executable(sample main.cpp)\n";
    fixture.write(&session, "CMakeLists.txt", lists)?;
    fixture.write(&session, "main.cpp", "int main() { return 9; }\n")?;
    let built = build(&fixture, &session, &json!({"kind": "cmake", "build_type": "Release"})).await?;
    assert_eq!(built["status"], "success", "{built}");
    let artifacts = json!(["/workspace/build/compile_commands.json", "/workspace/build/sample"]);
    assert_eq!(built["artifacts"], artifacts, "{built}");
    assert!(fixture.read(&session, "build/compile_commands.json").is_ok());
    assert_eq!(fixture.run_in(&session, "./build/sample; echo $?").await?, "9\n");
    Ok(())
}

#[tokio::test]
async fn two_cmake_projects_have_two_build_folders_and_each_names_its_programs() -> Result<()> {
    let fixture = Fixture::new().await?;
    let session = fixture.session.clone();
    for name in ["one", "libs/two"] {
        let lists = "cmake_minimum_required(VERSION 3.13)\nproject(it CXX)\nadd_library(part SHARED part.cpp)\n\
                     add_executable(it main.cpp)\ntarget_link_libraries(it part)\n";
        fixture.write(&session, &format!("{name}/CMakeLists.txt"), lists)?;
        fixture.write(&session, &format!("{name}/part.cpp"), "int part() { return 7; }\n")?;
        fixture.write(
            &session,
            &format!("{name}/main.cpp"),
            "int part();\nint main() { return part(); }\n",
        )?;
    }
    for (source, folder) in [("one", "_one"), ("/workspace/libs/two", "_libs__two"), ("one", "_one")] {
        let built = build(&fixture, &session, &json!({"kind": "cmake", "source_dir": source})).await?;
        assert_eq!(built["status"], "success", "{built}");
        let artifacts = ["compile_commands.json", "it", "libpart.so"];
        let artifacts = artifacts.map(|name| format!("/workspace/build/{folder}/{name}"));
        assert_eq!(built["artifacts"], json!(artifacts), "even if nothing had to be built: {built}");
    }
    assert_eq!(fixture.run_in(&session, "build/_libs__two/it; echo $?").await?, "7\n");
    Ok(())
}

#[tokio::test]
async fn c_is_compiled_as_c_with_the_cache_and_other_languages_by_their_compilers() -> Result<()> {
    let fixture = Fixture::new().await?;
    let session = fixture.session.clone();
    // No C++: `class` is a name.
    fixture.write(&session, "main.c", "int main(void) { int class = 3; return class; }\n")?;
    let request =
        json!({"kind": "c", "source_files": ["main.c"], "output_binary": "main", "flags": ["-std=c11"]});
    let built = build(&fixture, &session, &request).await?;
    assert_eq!((&built["status"], &built["kind"]), (&json!("success"), &json!("c")), "{built}");
    assert_eq!(build(&fixture, &session, &request).await?["cached"], true);
    assert_eq!(fixture.run_in(&session, "./main; echo $?").await?, "3\n");
    for request in [
        json!({"kind": "language", "language": "cobol", "source_files": ["a"], "output_binary": "b"}),
        json!({"kind": "cmake", "build_dir": "../x"}),
        json!({"kind": "c", "source_files": ["main.c"]}),
        json!({"kind": "nothing"}),
        json!({}),
    ] {
        let answer = fixture.post(&format!("/v1/sessions/{session}/builds"), &request).await?;
        assert_eq!(answer.status, 400, "{request}: {}", answer.text());
    }
    Ok(())
}

#[tokio::test]
async fn a_build_with_more_output_than_is_returned_says_that_it_is_cut() -> Result<()> {
    let fixture = Fixture::new().await?;
    let session = fixture.session.clone();
    let makefile = "short:\n\t@echo end\nlong:\n\t@head -c 400000 /dev/zero | tr '\\0' x; echo; echo end\n";
    fixture.write(&session, "Makefile", makefile)?;
    for (target, cut) in [("short", false), ("long", true)] {
        let built = build(&fixture, &session, &json!({"kind": "make", "target": target})).await?;
        assert_eq!((&built["status"], &built["truncated"]), (&json!("success"), &json!(cut)), "{target}");
        let stdout = built["stdout"].as_str().unwrap_or_default();
        assert!(stdout.contains("end\n") && stdout.len() <= (256 << 10), "{target}: {}", stdout.len());
    }
    Ok(())
}

#[tokio::test]
async fn a_result_with_more_compiler_output_than_is_returned_says_so() -> Result<()> {
    let fixture = Fixture::new().await?;
    let session = fixture.session.clone();
    for (warnings, cut) in [(1, false), (2000, true)] {
        let warning = format!("#warning {}\n", "x".repeat(200));
        fixture.write(&session, "main.cpp", &format!("{}int main() {{}}\n", warning.repeat(warnings)))?;
        let built = fixture.built(&one(&session, &[])).await?;
        assert_eq!(built["truncated"], cut, "{warnings}");
        let stderr = built["stderr"].as_str().unwrap_or_default();
        assert!(stderr.contains("#warning") && stderr.len() <= (257 << 10), "{warnings}: {}", stderr.len());
    }
    Ok(())
}

#[tokio::test]
async fn a_build_is_a_call_of_its_conversation() -> Result<()> {
    let fixture = Fixture::new().await?;
    let session = fixture.session.clone();
    fixture.write(&session, "Makefile", "all:\n\t@echo made\n")?;
    fixture.write(&session, "main.cpp", "int main() { int unused; return 0; }\n")?;
    let ids = |mut request: Value, call: &str| {
        request["conversation_id"] = json!("builds");
        request["tool_call_id"] = json!(call);
        request
    };
    let made = build(&fixture, &session, &ids(json!({"kind": "make"}), "m")).await?;
    assert_eq!(made["status"], "success", "{made}");
    let built = fixture.built(&ids(one(&session, &["-Wall"]), "b")).await?;
    let mut feed = fixture.api.stream("/v1/conversations/builds/events?dialect=tool_calls").await?;
    let mut events = Vec::new();
    for _ in 0..2 {
        events.extend(feed.until(|event| event["type"] == "TOOL_RESULT").await?);
    }
    // The events of two calls may be mixed.
    for (call, of, kind, prints) in [("m", &made, "make", "made"), ("b", &built, "cpp", "unused")] {
        let payloads = events.iter().map(|event| &event["payload"]);
        let of_call: Vec<_> =
            payloads.filter(|payload| payload["id"] == call || payload["tool_call_id"] == call).collect();
        let (start, last) = (of_call[0], of_call[of_call.len() - 1]);
        assert_eq!((&start["type"], &start["tool_name"]), (&json!("TOOL_CALL_START"), &json!("build")));
        assert_eq!(
            (&start["tool_args"]["kind"], &start["execution_id"]),
            (&json!(kind), &of["execution_id"])
        );
        assert_eq!((&last["type"], &last["success"]), (&json!("TOOL_RESULT"), &json!(true)), "{last}");
        assert!(last["result"].to_string().contains(prints), "{last}");
    }
    // The worker knows the call too, so it is not lost with the store.
    let id = built["execution_id"].as_str().unwrap_or_default();
    let execution = fixture.api.execution(id).await?;
    assert_eq!(execution["metadata"]["tool_call_id"], "b", "{execution}");
    let refused = ids(json!({"kind": "make"}), "");
    let answer = fixture.post(&format!("/v1/sessions/{session}/builds"), &refused).await?;
    assert_eq!(answer.status, 400, "{}", answer.text());
    Ok(())
}

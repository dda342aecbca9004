//! Defaults, bounds, leniency and errors.

use super::*;

#[test]
fn the_defaults_are_those_that_models_know() {
    let exec = accepted("exec_command", json!({"cmd": "ls"}));
    let expected = json!({
        "login": true, "tty": false, "yield_time_ms": 10_000, "max_output_tokens": 10_000,
        "sandbox_permissions": "use_default", "on_disconnect": "keep", "stdin": "open",
    });
    for (field, value) in expected.as_object().unwrap() {
        assert_eq!(&exec[field], value, "{field}");
    }
    let write = accepted("write_stdin", json!({"session_id": 1000}));
    assert_eq!((&write["chars"], &write["max_output_tokens"]), (&json!(""), &json!(10_000)));
    assert_eq!(accepted("shell", json!({"command": ["ls"]}))["timeout_ms"], 30_000);
    let script = accepted("shell_command", json!({"command": "ls"}));
    assert_eq!((&script["timeout_ms"], &script["login"]), (&json!(30_000), &json!(true)));
    let read = accepted("read_file", json!({"file_path": "a"}));
    assert_eq!((&read["offset"], &read["limit"], &read["mode"]), (&json!(1), &json!(2000), &json!("slice")));
    let list = accepted("list_dir", json!({"dir_path": "."}));
    assert_eq!((&list["offset"], &list["limit"], &list["depth"]), (&json!(1), &json!(25), &json!(2)));
    assert_eq!(accepted("grep_files", json!({"pattern": "x"}))["limit"], 100);
    assert_eq!(accepted("kill", json!({"session_id": 1}))["tree"], true);
    assert_eq!(accepted("read_output", json!({"session_id": 1}))["after_seq"], 0);
}

#[test]
fn an_empty_indentation_has_the_values_of_its_default() {
    let empty: Indentation = serde_json::from_value(json!({})).unwrap();
    assert_eq!(empty, Indentation::default());
    assert!(empty.include_header);
}

#[test]
fn times_to_wait_are_moved_into_their_bounds() {
    for (asked, used) in [(0, 250), (250, 250), (12_345, 12_345), (30_000, 30_000), (999_999, 30_000)] {
        let Call::ExecCommand(exec) =
            Call::parse("exec_command", json!({"cmd": "x", "yield_time_ms": asked})).unwrap()
        else {
            panic!("another tool");
        };
        assert_eq!(exec.yield_ms(), used);
    }
    let write = |arguments: Value| match Call::parse("write_stdin", arguments).unwrap() {
        Call::WriteStdin(write) => write.yield_ms(),
        other => panic!("{other:?}"),
    };
    assert_eq!(write(json!({"session_id": 1, "chars": "y\n"})), 250);
    assert_eq!(write(json!({"session_id": 1, "chars": "y\n", "yield_time_ms": 40_000})), 30_000);
    assert_eq!(write(json!({"session_id": 1})), 5_000, "an empty poll");
    assert_eq!(write(json!({"session_id": 1, "yield_time_ms": 60_000})), 60_000);
    assert_eq!(write(json!({"session_id": 1, "yield_time_ms": 400_000})), 300_000);
}

#[test]
fn the_limit_of_grep_files_is_at_most_2000() {
    let Call::GrepFiles(grep) = Call::parse("grep_files", json!({"pattern": "x", "limit": 5000})).unwrap()
    else {
        panic!("another tool");
    };
    assert_eq!(grep.most(), 2000);
}

#[test]
fn every_field_that_known_clients_send_is_accepted() {
    accepted(
        "exec_command",
        json!({
            "cmd": "ls", "workdir": "/workspace", "tty": true, "yield_time_ms": 1000, "max_output_tokens": 100,
            "shell": "/bin/sh", "login": false, "sandbox_permissions": "with_additional_permissions",
            "justification": "why", "prefix_rule": ["git", "pull"], "environment_id": "local",
            "additional_permissions": {"network": true, "file_system": {"read": ["/a"], "write": ["/b"]}},
            "timeout_ms": 5, "wait_for": {"exit": true, "match": "ready", "idle_ms": 5, "port": 80},
            "on_disconnect": "kill", "stdin": "null", "size": {"rows": 24, "cols": 80},
            "limits": {"memory_bytes": 1_000_000_000}, "ansi": true,
        }),
    );
    accepted(
        "read_file",
        json!({"file_path": "a", "mode": "indentation", "indentation": {
            "anchor_line": 3, "max_levels": 1, "include_siblings": true, "include_header": false, "max_lines": 9,
        }}),
    );
    accepted("edit_file", json!({"path": "a", "old_string": "b", "new_string": "", "replace_all": true}));
    accepted("kill", json!({"session_id": 1, "signal": "SIGINT"}));
    accepted("list_sessions", json!({}));
}

#[test]
fn null_means_that_a_field_is_missing() {
    let exec = json!({"cmd": "ls", "login": null, "yield_time_ms": null, "wait_for": {"port": null}});
    assert_eq!(accepted("exec_command", exec)["login"], true);
    accepted("list_executions", Value::Null);
    assert!(refused("exec_command", json!({"cmd": null})).contains("missing field `cmd`"));
}

#[test]
fn arguments_may_be_the_text_of_an_object() {
    assert_eq!(accepted("exec_command", json!("{\"cmd\": \"ls\"}"))["cmd"], "ls");
    assert!(refused("exec_command", json!("{\"cmd\": ")).contains("not valid JSON"));
    assert!(refused("exec_command", json!([1])).contains("not a JSON object"));
}

#[test]
fn an_execution_is_named_by_its_number_or_its_id() {
    for (given, kept) in
        [(json!(4711), json!(4711)), (json!("4711"), json!(4711)), (json!("exe_a1"), json!("exe_a1"))]
    {
        assert_eq!(accepted("kill", json!({"session_id": given}))["session_id"], kept);
    }
    let long = format!("exe_{}", "a".repeat(100));
    for bad in [json!(-1), json!("abc"), json!("exe_"), json!("exe_../x"), json!(true), json!(long)] {
        let error = refused("kill", json!({"session_id": bad}));
        assert!(error.contains("session_id: ") && error.contains("a session ID"), "{error}");
    }
}

#[test]
fn an_error_names_the_field_and_what_the_tool_accepts() {
    let error = refused("resize", json!({"session_id": 1, "rows": 24}));
    assert!(error.starts_with("failed to parse function arguments: missing field `cols`"), "{error}");
    assert!(error.contains("Call resize again") && error.contains("cols (required)"), "{error}");
    let error = refused("exec_command", json!({"cmd": "x", "wait_for": {"port": "http"}}));
    assert!(error.contains("wait_for.port: invalid type"), "{error}");
    let error = refused("exec_command", json!({"cmd": "x", "timeout": 5}));
    assert!(error.contains("unknown field `timeout`"), "{error}");
    let error = refused("exec", json!({}));
    assert!(error.contains("unknown tool \"exec\"") && error.contains("exec_command"), "{error}");
}

#[test]
fn arguments_without_a_meaning_are_refused() {
    let cases = [
        ("exec_command", json!({"cmd": "  "}), "cmd"),
        ("exec_command", json!({"cmd": "x", "size": {"rows": 0, "cols": 80}}), "size"),
        ("exec_command", json!({"cmd": "x", "yield_time_ms": -1}), "yield_time_ms"),
        ("exec_command", json!({"cmd": "x", "wait_for": {"match": ""}}), "match"),
        ("shell", json!({"command": []}), "command"),
        ("shell_command", json!({"command": ""}), "command"),
        ("run_code", json!({"language": "", "code": "1"}), "language"),
        ("wait", json!({"session_ids": []}), "session_ids"),
        ("wait", json!({"session_ids": vec![1; 65]}), "session_ids"),
        ("wait", json!({"session_ids": [1], "until": {"port": 0}}), "port"),
        ("resize", json!({"session_id": 1, "rows": 0, "cols": 1}), "rows"),
        ("resize", json!({"session_id": 1, "rows": 1, "cols": 70_000}), "cols"),
        ("read_file", json!({"file_path": "a", "offset": 0}), "offset"),
        ("read_file", json!({"file_path": "a", "limit": 0}), "limit"),
        ("list_dir", json!({"dir_path": ".", "depth": 0}), "depth"),
        ("grep_files", json!({"pattern": " "}), "pattern"),
        ("grep_files", json!({"pattern": "x", "limit": 0}), "limit"),
        ("edit_file", json!({"file_path": "a", "old_string": "", "new_string": "b"}), "old_string"),
        ("edit_file", json!({"file_path": "a", "old_string": "b", "new_string": "b"}), "new_string"),
        ("apply_patch", json!({"input": "\n"}), "input"),
        ("kill", json!({"session_id": 1, "signal": "BOOM"}), "signal"),
    ];
    for (name, arguments, field) in cases {
        let error = refused(name, arguments);
        assert!(error.contains(&format!("{field}: ")), "{name}: {error}");
    }
}

#[test]
fn no_tool_accepts_an_unknown_field() {
    for tool in TOOLS {
        let mut arguments = least(tool.name);
        accepted(tool.name, arguments.clone());
        arguments["surprise"] = json!(1);
        assert!(refused(tool.name, arguments).contains("unknown field `surprise`"), "{}", tool.name);
    }
}

#[test]
fn a_result_has_the_text_that_models_know() {
    let mut result = ExecResult {
        chunk_id: Some("a1b2c3".to_owned()),
        wall_time_seconds: 0.658_81,
        exit_code: Some(3),
        session_id: None,
        original_token_count: Some(2),
        output: "hello\n".to_owned(),
    };
    assert_eq!(
        result.to_string(),
        "Chunk ID: a1b2c3\nWall time: 0.6588 seconds\nProcess exited with code 3\n\
         Original token count: 2\nOutput:\nhello\n"
    );
    (result.exit_code, result.session_id) = (None, Some(4711));
    assert!(result.to_string().contains("seconds\nProcess running with session ID 4711\nOriginal"));
}

#[test]
fn a_shell_result_shows_only_the_streams_that_have_text() {
    let mut result = ShellResult {
        workdir: "/workspace".to_owned(),
        end: ShellEnd::ExitCode(0),
        stdout: "a\n".to_owned(),
        stderr: String::new(),
    };
    assert_eq!(result.to_string(), "Working directory: /workspace\nExit code: 0\nStdout:\na\n");
    result.end = ShellEnd::TimeoutMs(500);
    result.stderr = "b".to_owned();
    assert_eq!(
        result.to_string(),
        "Working directory: /workspace\nTimeout: exceeded 500 ms\nStdout:\na\n\nStderr:\nb"
    );
}

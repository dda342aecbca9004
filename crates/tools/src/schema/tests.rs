//! Tests of arguments and schemas.

mod arguments;
mod shapes;

use serde_json::{Value, json};

use super::*;

/// The arguments as the tool sees them, with their defaults.
fn accepted(name: &str, arguments: Value) -> Value {
    let call = Call::parse(name, arguments).unwrap_or_else(|error| panic!("{name}: {error}"));
    serde_json::to_value(call).unwrap()
}

/// The text of the error.
fn refused(name: &str, arguments: Value) -> String {
    Call::parse(name, arguments).expect_err("the arguments are not valid").to_string()
}

/// The least that each tool accepts.
fn least(name: &str) -> Value {
    match name {
        "exec_command" => json!({"cmd": "ls"}),
        "write_stdin" | "read_output" | "kill" => json!({"session_id": 4711}),
        "shell" => json!({"command": ["ls"]}),
        "shell_command" => json!({"command": "ls"}),
        "run_code" => json!({"language": "python", "code": "print(1)"}),
        "wait" => json!({"session_ids": [4711]}),
        "list_executions" => json!({}),
        "resize" => json!({"session_id": 4711, "rows": 24, "cols": 80}),
        "apply_patch" => json!({"input": "*** Begin Patch\n*** End Patch"}),
        "edit_file" => json!({"file_path": "a", "old_string": "b", "new_string": "c"}),
        "write_file" => json!({"file_path": "a", "content": ""}),
        "read_file" => json!({"file_path": "a"}),
        "list_dir" => json!({"dir_path": "."}),
        "grep_files" => json!({"pattern": "x"}),
        "view_image" => json!({"path": "a.png"}),
        _ => panic!("{name} has no example here"),
    }
}

//! The schemas: what providers accept, and what they cost.

use super::*;

/// The most tokens of all schemas together: every request of an agent pays for them.
const MAX_TOKENS: usize = 4000;

#[test]
fn all_schemas_together_cost_less_than_4000_tokens() {
    for shape in Shape::ALL {
        let text = serde_json::to_string(&shape.all_tools()).unwrap();
        let tokens = estimate_tokens(&text);
        println!("{}: about {tokens} tokens, {} bytes", shape.name(), text.len());
        assert!(tokens < MAX_TOKENS, "{}: {tokens}\n{text}", shape.name());
    }
}

#[test]
fn an_estimate_counts_words_numbers_and_punctuation() {
    for (text, tokens) in
        [("", 0), ("hello world", 2), ("12345", 2), ("{\"a\":1}", 5), ("internationalization", 3)]
    {
        assert_eq!(estimate_tokens(text), tokens, "{text}");
    }
}

#[test]
fn every_tool_of_the_list_exists_once() {
    let mut names: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
    names.sort_unstable();
    let expected = [
        "apply_patch",
        "edit_file",
        "exec_command",
        "grep_files",
        "kill",
        "list_dir",
        "list_executions",
        "read_file",
        "read_output",
        "resize",
        "run_code",
        "shell",
        "shell_command",
        "view_image",
        "wait",
        "write_file",
        "write_stdin",
    ];
    assert_eq!(names, expected);
}

/// Calls `check` with each schema inside a schema, and its path.
fn walk(schema: &Value, path: &str, check: &mut impl FnMut(&Value, &str)) {
    check(schema, path);
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        walk(property, &format!("{path}.{name}"), check);
    }
    if schema["items"].is_object() {
        walk(&schema["items"], &format!("{path}[]"), check);
    }
}

#[test]
fn schemas_use_only_what_every_provider_accepts() {
    let known = [
        "type",
        "properties",
        "required",
        "additionalProperties",
        "description",
        "default",
        "minimum",
        "maximum",
        "enum",
        "items",
        "minItems",
        "maxItems",
    ];
    for tool in TOOLS {
        walk(&(tool.schema)(), tool.name, &mut |schema, path| {
            assert!(schema["type"].is_string(), "{path}: {schema}");
            for key in schema.as_object().unwrap().keys() {
                assert!(known.contains(&key.as_str()), "{path} has {key}: {schema}");
            }
            if path == tool.name {
                assert_eq!(schema["additionalProperties"], false, "{path}");
            }
        });
    }
}

#[test]
fn every_tool_and_field_has_a_description() {
    for tool in TOOLS {
        assert!(!tool.description.is_empty());
        walk(&(tool.schema)(), tool.name, &mut |schema, path| {
            let is_field = path.contains('.') && !path.ends_with("[]");
            let text = schema["description"].as_str().unwrap_or_default();
            assert!(!is_field || !text.is_empty(), "{path} has no description");
            assert!(!text.contains('\n'), "{path}: {text:?}");
        });
    }
}

#[test]
fn the_defaults_of_a_schema_are_those_of_the_type() {
    for tool in TOOLS {
        let call = accepted(tool.name, least(tool.name));
        let schema = (tool.schema)();
        for (name, property) in schema["properties"].as_object().unwrap() {
            if let Some(default) = property.get("default") {
                assert_eq!(&call[name], default, "{}.{name}", tool.name);
            }
        }
        let required: Vec<Value> = schema["required"].as_array().cloned().unwrap_or_default();
        let least = least(tool.name);
        assert_eq!(required.len(), least.as_object().unwrap().len(), "{}: {required:?}", tool.name);
    }
}

#[test]
fn bounds_and_choices_are_in_the_schema() {
    let schema = |name: &str| (TOOLS.iter().find(|tool| tool.name == name).unwrap().schema)();
    let exec = schema("exec_command");
    let wait = &exec["properties"]["yield_time_ms"];
    assert_eq!(
        (&wait["minimum"], &wait["maximum"], &wait["default"]),
        (&json!(250), &json!(30_000), &json!(10_000))
    );
    assert_eq!(
        exec["properties"]["sandbox_permissions"]["enum"],
        json!(["use_default", "require_escalated", "with_additional_permissions"])
    );
    assert_eq!(exec["required"], json!(["cmd"]));
    assert_eq!(schema("grep_files")["properties"]["limit"]["maximum"], 2000);
    assert_eq!(schema("kill")["properties"]["signal"]["enum"][0], "TERM");
    assert_eq!(schema("write_stdin")["properties"]["session_id"]["type"], "integer");
}

#[test]
fn each_shape_has_the_fields_of_its_provider() {
    let keys =
        |value: &Value| value.as_object().unwrap().keys().cloned().collect::<std::collections::BTreeSet<_>>();
    let set =
        |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<std::collections::BTreeSet<_>>();
    for tool in TOOLS {
        assert_eq!(
            keys(&Shape::OpenAi.tool(tool)),
            set(&["type", "name", "description", "parameters", "strict"])
        );
        let chat = Shape::OpenAiChat.tool(tool);
        assert_eq!(keys(&chat), set(&["type", "function"]));
        assert_eq!(keys(&chat["function"]), set(&["name", "description", "parameters"]));
        assert_eq!(keys(&Shape::Anthropic.tool(tool)), set(&["name", "description", "input_schema"]));
        let mcp = Shape::Mcp.tool(tool);
        assert_eq!(mcp["inputSchema"]["type"], "object");
        assert_eq!(mcp["annotations"]["readOnlyHint"] == true, tool.hints.read_only);
        assert_eq!(mcp["annotations"]["openWorldHint"] != false, tool.hints.open_world);
        assert_eq!(mcp.get("outputSchema").is_some(), tool.result.is_some());
    }
}

#[test]
fn a_result_schema_names_the_fields_that_always_exist() {
    let exec = TOOLS.iter().find(|tool| tool.name == "exec_command").unwrap();
    let schema = exec.result.unwrap()();
    assert_eq!(schema["required"], json!(["wall_time_seconds", "output"]));
    assert_eq!(schema["properties"].as_object().unwrap().len(), 6);
}

#[test]
fn a_shape_is_selected_by_its_name() {
    for shape in Shape::ALL {
        assert_eq!(shape.name().parse(), Ok(shape));
    }
    assert!("xml".parse::<Shape>().unwrap_err().to_string().contains("anthropic"));
}

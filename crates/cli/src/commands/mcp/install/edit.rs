//! Adds an entry to the text of a configuration file. Everything else in it stays as it is, comments included.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use serde_json::Value;
use toml_edit::{Array, DocumentMut, Item, Table, value};

use super::client::{Entry, Format};
use crate::error::{CommandError, ErrorKind};

/// The text with the entry. Fields that an entry of this name has besides ours are kept.
pub(super) fn add(
    format: Format,
    text: &str,
    key: &str,
    name: &str,
    entry: &Entry,
) -> Result<String, CommandError> {
    match format {
        Format::Json => add_json(text, key, name, entry),
        Format::Toml => add_toml(text, key, name, entry),
    }
}

fn refused(message: String) -> CommandError {
    CommandError::new(ErrorKind::Refused, message)
}

fn not_an_object(key: &str) -> CommandError {
    refused(format!("`{key}` is not an object"))
}

fn add_json(text: &str, key: &str, name: &str, entry: &Entry) -> Result<String, CommandError> {
    let root = CstRootNode::parse(text, &ParseOptions::default());
    let root = root.map_err(|error| refused(format!("it is not valid JSON: {error}")))?;
    let top = root.object_value_or_create().ok_or_else(|| refused("it is not a JSON object".to_owned()))?;
    top.ensure_multiline();
    let servers = top.object_value_or_create(key).ok_or_else(|| not_an_object(key))?;
    servers.ensure_multiline();
    let server = servers.object_value_or_create(name).ok_or_else(|| not_an_object(name))?;
    server.ensure_multiline();
    for (field, wanted) in &entry.fields {
        set_json(&server, field, wanted);
    }
    let mut text = root.to_string();
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(text)
}

fn set_json(object: &CstObject, field: &str, wanted: &Value) {
    match object.get(field) {
        Some(found) if found.to_serde_value().as_ref() == Some(wanted) => {}
        Some(found) => found.set_value(input(wanted)),
        None => drop(object.append(field, input(wanted))),
    }
}

fn input(wanted: &Value) -> CstInputValue {
    match wanted {
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::String(text) => CstInputValue::String(text.clone()),
        other => CstInputValue::String(other.to_string()),
    }
}

fn add_toml(text: &str, key: &str, name: &str, entry: &Entry) -> Result<String, CommandError> {
    let document = text.parse::<DocumentMut>();
    let mut document =
        document.map_err(|error| refused(format!("it is not valid TOML: {}", error.message())))?;
    let implicit = || {
        let mut table = Table::new();
        // No `[mcp_servers]` line of its own.
        table.set_implicit(true);
        Item::Table(table)
    };
    let servers = document.entry(key).or_insert_with(implicit);
    let servers = servers.as_table_like_mut().ok_or_else(|| not_an_object(key))?;
    let server = servers.entry(name).or_insert_with(|| Item::Table(Table::new()));
    let server = server.as_table_like_mut().ok_or_else(|| not_an_object(name))?;
    for (field, wanted) in &entry.fields {
        let wanted = toml(wanted);
        // Compared by what it means, so that the formatting of an entry that is correct stays.
        if server.get(field).map(plain) != Some(plain(&wanted)) {
            server.insert(field, wanted);
        }
    }
    Ok(document.to_string())
}

fn toml(wanted: &Value) -> Item {
    match wanted {
        Value::Array(items) => value(items.iter().filter_map(Value::as_str).collect::<Array>()),
        Value::String(text) => value(text.as_str()),
        other => value(other.to_string()),
    }
}

/// A value without its formatting.
fn plain(item: &Item) -> Value {
    match item.as_array() {
        Some(items) => items.iter().map(|item| Value::from(item.as_str())).collect(),
        None => Value::from(item.as_str()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry() -> Entry {
        Entry {
            fields: vec![("command", json!("/bin/headwater")), ("args", json!(["mcp", "--network", "none"]))],
        }
    }

    fn added(format: Format, text: &str) -> Result<String, String> {
        add(format, text, "servers", "headwater", &entry()).map_err(|error| error.message)
    }

    #[test]
    fn an_entry_is_added_to_an_empty_file() {
        let wanted = r#"{
  "servers": {
    "headwater": {
      "command": "/bin/headwater",
      "args": ["mcp", "--network", "none"]
    }
  }
}
"#;
        assert_eq!(added(Format::Json, "").unwrap(), wanted);
        assert_eq!(added(Format::Json, "{}").unwrap(), wanted);
        assert_eq!(
            added(Format::Toml, "").unwrap(),
            "[servers.headwater]\ncommand = \"/bin/headwater\"\nargs = [\"mcp\", \"--network\", \"none\"]\n"
        );
    }

    #[test]
    fn comments_and_other_entries_stay_as_they_are() {
        let json = "{\n    // mine\n    \"theme\": 'dark', /* odd */\n    \"servers\": {\n        \"other\": {\"command\": \"x\"}, // keep\n    },\n}\n";
        let after = added(Format::Json, json).unwrap();
        for kept in ["    // mine\n", "'dark', /* odd */", "\"other\": {\"command\": \"x\"}, // keep\n"] {
            assert!(after.contains(kept), "{kept} is missing in {after}");
        }
        assert!(after.contains("        \"headwater\": {\n            \"command\""), "{after}");

        let toml = "# mine\nmodel = \"x\" # odd\n\n[servers.other]\ncommand = 'x'\n";
        let after = added(Format::Toml, toml).unwrap();
        assert!(after.starts_with(toml), "{after}");
        assert!(after.contains("\n[servers.headwater]\n"), "{after}");
    }

    #[test]
    fn an_entry_that_exists_is_updated_and_its_other_fields_stay() {
        let json = r#"{"servers": {"headwater": {"command": "/old", "env": {"A": "1"}}}}"#;
        let after = added(Format::Json, json).unwrap();
        assert!(
            after.contains(r#""command": "/bin/headwater""#) && after.contains(r#""env": {"A": "1"}"#),
            "{after}"
        );
        let toml = "[servers.headwater]\ncommand = \"/old\" # by hand\nstartup_timeout_sec = 9\n";
        let after = added(Format::Toml, toml).unwrap();
        assert!(after.contains("startup_timeout_sec = 9") && after.contains("/bin/headwater"), "{after}");
    }

    #[test]
    fn adding_it_twice_changes_nothing() {
        for format in [Format::Json, Format::Toml] {
            let once = added(format, "").unwrap();
            assert_eq!(added(format, &once).unwrap(), once);
        }
        let by_hand =
            "[servers.headwater]\ncommand = '/bin/headwater'\nargs = [ 'mcp' , '--network','none' ]\n";
        assert_eq!(added(Format::Toml, by_hand).unwrap(), by_hand);
    }

    #[test]
    fn a_file_that_cannot_be_understood_is_refused() {
        for (format, bad) in [
            (Format::Json, "{\"a\": "),
            (Format::Json, "[]"),
            (Format::Json, "{\"servers\": []}"),
            (Format::Json, "{\"servers\": {\"headwater\": 1}}"),
            (Format::Toml, "a = "),
            (Format::Toml, "servers = 1"),
        ] {
            assert!(added(format, bad).is_err(), "{bad}");
        }
    }
}

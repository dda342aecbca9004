//! The settings as a configuration file, with the origin of each value in a comment.

use std::path::Path;

use serde_json::Value;

use super::settings::{Origin, Setting, key};
use crate::escape::{json_lines, printable};

/// The column of the comments.
const COMMENT_COLUMN: usize = 44;

/// The lines of a file that sets everything to its present value.
pub fn lines(data: &Path, file: &Path, settings: &[Setting]) -> Vec<String> {
    let missing = if file.exists() { "" } else { " (does not exist)" };
    let shown = |path: &Path| printable(&path.display().to_string());
    let mut lines = vec![
        format!("# Data folder: {}", shown(data)),
        format!("# Configuration file: {}{missing}", shown(file)),
        String::new(),
    ];
    for table in settings.chunk_by(|a, b| a.tables() == b.tables()) {
        if let [first, ..] = table
            && let tables @ [_, ..] = first.tables()
        {
            let name = tables.iter().map(|name| key(name)).collect::<Vec<_>>().join(".");
            // A table without values may be refused, such as `[auth.jwt]` without an issuer.
            let is_set = table.iter().any(|setting| !setting.value.is_null());
            lines.extend([String::new(), format!("{}[{name}]", if is_set { "" } else { "# " })]);
        }
        lines.extend(table.iter().map(line));
    }
    lines.iter().map(|line| json_lines(line).into_owned()).collect()
}

fn line(setting: &Setting) -> String {
    let name = setting.path.last().map(|name| key(name)).unwrap_or_default();
    let assignment = if setting.value.is_null() {
        format!("# {name} is not set")
    } else {
        format!("{name} = {}", inline(&setting.value))
    };
    let running = setting.running.as_ref().map(|value| {
        let value = if value.is_null() { "not set".to_owned() } else { inline(value) };
        format!("; in the running worker: {value}")
    });
    format!("{assignment:<COMMENT_COLUMN$}  # {}{}", origin(setting), running.unwrap_or_default())
}

fn origin(setting: &Setting) -> String {
    let from = match &setting.origin {
        Origin::Default => return "default".to_owned(),
        Origin::File => "from the file",
        Origin::Environment(name) | Origin::Flag(name) => &format!("from {name}"),
    };
    let default = if setting.default.is_null() { "not set".to_owned() } else { inline(&setting.default) };
    format!("{from}; default: {default}")
}

/// A value in TOML, on one line. Strings are written as in JSON, which TOML reads in the same way.
fn inline(value: &Value) -> String {
    match value {
        Value::Array(values) => {
            format!("[{}]", values.iter().map(inline).collect::<Vec<_>>().join(", "))
        }
        Value::Object(fields) => {
            let set = fields.iter().filter(|(_, value)| !value.is_null());
            let fields: Vec<_> =
                set.map(|(name, value)| format!("{} = {}", key(name), inline(value))).collect();
            if fields.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", fields.join(", ")) }
        }
        other => other.to_string(),
    }
}

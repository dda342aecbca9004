//! Hides secrets in values: credentials in URLs, environment variables of compilers and MCP servers, and headers.

use serde_json::Value;

const HIDDEN: &str = "***";

/// The value of the setting at this path, without secrets.
pub fn hide(path: &[String], value: Value) -> Value {
    match value {
        Value::String(_) if is_secret(path) => HIDDEN.into(),
        Value::String(text) => without_credentials(&text).unwrap_or(text).into(),
        Value::Array(values) => values.into_iter().map(|value| hide(path, value)).collect(),
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, value)| {
                let value = hide(&[path, std::slice::from_ref(&name)].concat(), value);
                (name, value)
            })
            .collect(),
        other => other,
    }
}

/// Whether the value of the setting at this path may be a password or a key.
fn is_secret(path: &[String]) -> bool {
    let names: Vec<_> = path.iter().map(String::as_str).collect();
    names.contains(&"build_env") || matches!(names[..], ["models" | "mcp_servers", _, "headers" | "env", ..])
}

/// A URL without its user, password and query; `None` if it has none of them, or the text is not a URL.
fn without_credentials(text: &str) -> Option<String> {
    let (scheme, rest) = text.split_once("://")?;
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let user = authority.rsplit_once('@');
    let query = path.split_once('?');
    if user.is_none() && query.is_none() {
        return None;
    }
    let host = user.map_or_else(|| authority.to_owned(), |(_, host)| format!("{HIDDEN}@{host}"));
    let path = query.map_or_else(|| path.to_owned(), |(path, _)| format!("{path}?{HIDDEN}"));
    Some(format!("{scheme}://{host}{path}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn credentials_in_urls_variables_and_headers_are_hidden() {
        let hidden = |path: &str, value: Value| {
            hide(&path.split('.').map(ToOwned::to_owned).collect::<Vec<_>>(), value)
        };
        assert_eq!(hidden("a", json!(["https://u:p@h/x", "h"])), json!(["https://***@h/x", "h"]));
        assert_eq!(hidden("a", json!("https://h:1/x?key=p#f")), "https://h:1/x?***");
        assert_eq!(hidden("a", json!("http://h/x@y")), "http://h/x@y");
        assert_eq!(hidden("languages.c.build_env.KEY", json!("p")), "***");
        assert_eq!(
            hidden("languages.c.otherwise", json!([{"build_env": {"KEY": "p"}}])).to_string().find("\"p\""),
            None
        );
        assert_eq!(hidden("limits.pids", json!(7)), 7);
        assert_eq!(hidden("models.m.headers.x-key", json!("p")), "***");
        assert_eq!(hidden("models.m.api_key_env", json!("NAME")), "NAME");
        assert_eq!(hidden("models.m.base_url", json!("https://h/v1?key=p")), "https://h/v1?***");
        assert_eq!(hidden("mcp_servers.m", json!({"env": {"KEY": "p"}})), json!({"env": {"KEY": "***"}}));
    }
}

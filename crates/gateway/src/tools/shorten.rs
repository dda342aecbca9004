//! Shortens what the history keeps of a call.

use headwater_tools::output::Secrets;
use serde_json::Value;

/// The size of the arguments that are kept, as JSON, in bytes.
const MAX_ARGUMENTS_BYTES: usize = 8 << 10;
/// The size of the result that is kept, in bytes.
const MAX_RESULT_BYTES: usize = 16 << 10;
/// The lengths that the texts in long arguments are cut to, one after the other, until the arguments are short enough.
const TEXT_BYTES: [usize; 4] = [4 << 10, 1 << 10, 128, 32];

/// The arguments, without secrets, with long texts cut. `None` if they are too long even then.
pub(super) fn arguments(arguments: &Value, secrets: &Secrets) -> Option<Value> {
    let fits = |value: &Value| value.to_string().len() <= MAX_ARGUMENTS_BYTES;
    let mut whole = arguments.clone();
    each_text(&mut whole, &|text| secrets.mask(text));
    if fits(&whole) {
        return Some(whole);
    }
    let cut_to = |most| {
        let mut short = whole.clone();
        each_text(&mut short, &|text| cut(text, most));
        short
    };
    TEXT_BYTES.into_iter().map(cut_to).find(fits)
}

/// The result, without secrets, cut.
pub(super) fn result(text: &str, secrets: &Secrets) -> String {
    cut(&secrets.mask(text), MAX_RESULT_BYTES)
}

fn each_text(value: &mut Value, change: &dyn Fn(&str) -> String) {
    match value {
        Value::String(text) => *text = change(text),
        Value::Array(items) => items.iter_mut().for_each(|item| each_text(item, change)),
        Value::Object(fields) => fields.values_mut().for_each(|field| each_text(field, change)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The beginning of a text, with a note of how much is missing.
fn cut(text: &str, most: usize) -> String {
    let kept = text.floor_char_boundary(most);
    match text.get(..kept) {
        Some(start) if kept < text.len() => format!("{start}… [{} more bytes]", text.len() - kept),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn long_texts_are_cut_and_the_rest_stays() {
        let none = Secrets::default();
        let short = json!({"cmd": "ls", "tty": true, "size": {"rows": 2, "cols": 3}});
        assert_eq!(arguments(&short, &none), Some(short.clone()));
        let long = json!({"path": "a", "content": "ä".repeat(50_000)});
        let kept = arguments(&long, &none).unwrap();
        let content = kept["content"].as_str().unwrap();
        assert!(kept["path"] == "a" && content.ends_with("… [95904 more bytes]"), "{content}");
        let many = json!({"list": vec!["x".repeat(200); 60]});
        assert!(arguments(&many, &none).unwrap().to_string().len() <= MAX_ARGUMENTS_BYTES);
        assert_eq!(arguments(&json!({"list": vec!["x".repeat(200); 600]}), &none), None);
        assert!(result(&"y".repeat(100_000), &none).len() < MAX_RESULT_BYTES + 64);
    }

    #[test]
    fn secrets_are_not_kept() {
        let secrets = Secrets::new([("KEY", "s3cret-value")]).unwrap();
        let kept =
            arguments(&json!({"cmd": "curl -H s3cret-value", "env": ["s3cret-value"]}), &secrets).unwrap();
        assert_eq!(kept, json!({"cmd": "curl -H [KEY masked]", "env": ["[KEY masked]"]}));
        assert_eq!(result("it is s3cret-value.", &secrets), "it is [KEY masked].");
    }
}

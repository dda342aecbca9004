//! Makes generated schemas short: a model pays for every token of them in each request.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// The schema of a tool's arguments: one object without references, as all providers accept it.
pub fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    tidy(&mut schema);
    if let Some(root) = schema.as_object_mut() {
        root.remove("description"); // the tool has a better one
        root.entry("properties").or_insert_with(|| json!({}));
    }
    schema
}

/// The schema of a result. Clients check results with it; a model gets the result itself, so the fields need
/// no descriptions.
pub(super) fn result_schema_of<T: JsonSchema>() -> Value {
    let mut schema = schema_of::<T>();
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.values_mut().filter_map(Value::as_object_mut).for_each(|field| {
            field.remove("description");
        });
    }
    schema
}

/// Removes what a model does not need, and forms that some providers refuse.
fn tidy(schema: &mut Value) {
    let Some(object) = schema.as_object_mut() else { return };
    for key in ["title", "format", "$schema"] {
        object.remove(key);
    }
    unwrap_nullable(object);
    collapse_choices(object);
    object.retain(|key, value| !is_noise(key, value));
    if let Some(Value::String(text)) = object.get_mut("description") {
        *text = text.replace('\n', " ");
    }
    if let Some(Value::Object(properties)) = object.get_mut("properties") {
        for property in properties.values_mut() {
            tidy(property);
            // The root says it; the parser refuses unknown fields at every level.
            if let Some(inner) = property.as_object_mut() {
                inner.remove("additionalProperties");
            }
        }
    }
    if let Some(items) = object.get_mut("items") {
        tidy(items);
    }
}

/// An optional field may be missing; that it may be null too is not worth the tokens.
fn unwrap_nullable(object: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            object.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(values)) = object.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    let Some(Value::Array(choices)) = object.get("anyOf") else { return };
    let mut real = choices.iter().filter(|choice| choice.get("type") != Some(&json!("null")));
    if let (Some(Value::Object(only)), None) = (real.next().cloned(), real.next()) {
        object.remove("anyOf");
        for (key, value) in only {
            object.entry(key).or_insert(value);
        }
    }
}

/// Turns a choice between documented constants into an `enum`.
fn collapse_choices(object: &mut Map<String, Value>) {
    let Some(Value::Array(choices)) = object.get("oneOf") else { return };
    let names: Option<Vec<Value>> = choices.iter().map(|choice| choice.get("const").cloned()).collect();
    if let Some(names) = names {
        object.remove("oneOf");
        object.insert("type".to_owned(), json!("string"));
        object.insert("enum".to_owned(), Value::Array(names));
    }
}

/// Bounds that only repeat the type of the field, and defaults that go without saying.
fn is_noise(key: &str, value: &Value) -> bool {
    match key {
        "default" => match value {
            Value::Null | Value::Bool(false) | Value::Object(_) => true,
            Value::String(text) => text.is_empty(),
            Value::Array(items) => items.is_empty(),
            Value::Number(number) => number.as_u64() == Some(0),
            Value::Bool(true) => false,
        },
        "minimum" => value.as_u64() == Some(0),
        "maximum" => value.as_u64() == Some(u64::from(u16::MAX)),
        _ => false,
    }
}

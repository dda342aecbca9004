//! What holds for the whole document, whatever routes are added.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::routes::router::openapi_json;

fn document() -> Value {
    serde_json::from_str(&openapi_json()).unwrap()
}

/// All operations with their method and path.
fn operations(document: &Value) -> Vec<(String, &Value)> {
    let paths = document["paths"].as_object().unwrap();
    let all = paths.iter().flat_map(|(path, methods)| {
        let methods = methods.as_object().unwrap().iter();
        methods.map(move |(method, operation)| (format!("{method} {path}"), operation))
    });
    all.collect()
}

#[test]
fn every_operation_has_an_id_a_tag_and_a_summary() {
    let document = document();
    let known: BTreeSet<_> =
        document["tags"].as_array().unwrap().iter().map(|tag| &tag["name"]).map(Value::to_string).collect();
    let mut ids = BTreeSet::new();
    for (name, operation) in operations(&document) {
        let id = operation["operationId"].as_str().unwrap();
        let is_camel =
            id.starts_with(|c: char| c.is_ascii_lowercase()) && id.bytes().all(|b| b.is_ascii_alphanumeric());
        assert!(is_camel, "{name}: `{id}` is not in camel case");
        assert!(ids.insert(id), "{name}: `{id}` is not unique");
        let tags = operation["tags"].as_array().unwrap();
        assert!(tags.len() == 1 && known.contains(&tags[0].to_string()), "{name}: {tags:?}");
        assert!(operation["summary"].as_str().is_some_and(|text| !text.is_empty()), "{name} has no summary");
    }
    assert!(ids.len() > 90, "{}", ids.len());
}

#[test]
fn everything_in_the_document_is_described() {
    let document = document();
    let is_described = |value: &Value| {
        let value = match value["$ref"].as_str() {
            Some(at) if value["description"].is_null() => {
                document.pointer(at.trim_start_matches('#')).unwrap()
            }
            _ => value,
        };
        let nested =
            value["oneOf"].as_array().into_iter().flatten().any(|part| !part["description"].is_null());
        nested || value["description"].as_str().is_some_and(|text| !text.is_empty())
    };
    let mut missing = Vec::new();
    for (name, operation) in operations(&document) {
        for (status, response) in operation["responses"].as_object().unwrap() {
            if !is_described(response) {
                missing.push(format!("the response {status} of {name}"));
            }
        }
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            if !is_described(parameter) {
                missing.push(format!("the parameter {} of {name}", parameter["name"]));
            }
        }
    }
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        if schema["description"].is_null() {
            missing.push(format!("the schema {name}"));
        }
        for (field, property) in schema["properties"].as_object().into_iter().flatten() {
            if !is_described(property) {
                missing.push(format!("the property {field} of {name}"));
            }
        }
    }
    assert!(missing.is_empty(), "without a description: {missing:#?}");
}

#[test]
fn no_schema_is_a_copy_of_another() {
    let document = document();
    let mut seen = BTreeMap::new();
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        let mut shape = schema.clone();
        for text in ["description", "examples"] {
            shape.as_object_mut().unwrap().remove(text);
        }
        // Two kinds of strings or of words may happen to look the same.
        if schema["properties"].is_object()
            && let Some(other) = seen.insert(shape.to_string(), name)
        {
            panic!("`{name}` and `{other}` have the same fields");
        }
    }
}

#[test]
fn an_example_has_only_fields_that_exist() {
    let document = document();
    let mut count = 0;
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        for example in schema["examples"].as_array().into_iter().flatten() {
            count += 1;
            for field in example.as_object().into_iter().flatten().map(|(field, _)| field) {
                assert!(schema["properties"].get(field).is_some(), "`{name}` has no field `{field}`");
            }
        }
    }
    assert!(count > 30, "{count} examples");
    for (name, operation) in operations(&document) {
        let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
        let Some(at) =
            schema.to_string().split_once('#').map(|(_, rest)| rest.split('"').next().unwrap().to_owned())
        else {
            continue;
        };
        let schema = document.pointer(&at).unwrap();
        assert!(schema["examples"].is_array(), "the body of {name} has no example");
    }
}

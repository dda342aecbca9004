//! What is derived after all routes were collected: the names of schemas, references in place of copies, and the
//! descriptions of responses.

use std::collections::BTreeMap;

use serde_json::Value;
use utoipa::openapi::{Deprecated, OpenApi, Ref, RefOr, Response, Schema};

use super::SHARED_RESPONSES;
use super::merge::merge_variants;
use super::schemas::{for_each, operations};

pub(super) const SCHEMAS: &str = "#/components/schemas/";

/// Completes the document of all routes.
pub(crate) fn complete(document: &mut OpenApi) {
    let components = document.components.get_or_insert_default();
    for shared in SHARED_RESPONSES {
        components.responses.insert(shared.name.to_owned(), shared.response().into());
    }
    refer_to_copies(document);
    rename_schemas(document);
    merge_variants(document);
    name_inner_objects(document);
    describe_defaults(document);
    describe_responses(document);
    mark_deprecated(document);
}

/// The name of a schema in the document. The types of bodies are called `SessionBody`, because `Session` is
/// another type here; clients know only one.
fn public_name(name: &str) -> String {
    let plain = |name: &str| name.strip_suffix("Body").unwrap_or(name).to_owned();
    if let Some(item) = name.strip_prefix("PageBody_") {
        return format!("{}Page", plain(item));
    }
    if let Some(payload) = name.strip_prefix("ToolCardEvent_") {
        return format!("{}Event", plain(payload));
    }
    plain(name)
}

/// Replaces every copy of a named schema with a reference to it. Generic types and parameters contain copies.
fn refer_to_copies(document: &mut OpenApi) {
    let named = document.components.get_or_insert_default().schemas.clone();
    for_each(document, &mut |schema| {
        let RefOr::T(copy) = &*schema else { return };
        // Only a described schema is a concept; a plain string is like every other.
        let found = description(copy).and_then(|_| {
            named.iter().find(|(_, original)| matches!(original, RefOr::T(original) if original == copy))
        });
        if let Some((name, _)) = found {
            *schema = Ref::from_schema_name(name).into();
        }
    });
}

fn rename_schemas(document: &mut OpenApi) {
    for_each(document, &mut |schema| {
        if let RefOr::Ref(reference) = schema
            && let Some(name) = reference.ref_location.strip_prefix(SCHEMAS)
        {
            reference.ref_location = format!("{SCHEMAS}{}", public_name(name));
        }
    });
    let schemas = &mut document.components.get_or_insert_default().schemas;
    for (name, schema) in std::mem::take(schemas) {
        let earlier = schemas.insert(public_name(&name), schema);
        debug_assert!(earlier.is_none(), "two schemas are called `{}`", public_name(&name));
    }
}

/// Gives a name to the objects inside the variants of an enum, which generators of clients need.
fn name_inner_objects(document: &mut OpenApi) {
    let schemas = &mut document.components.get_or_insert_default().schemas;
    let mut named = Vec::new();
    for (name, schema) in schemas.iter_mut() {
        let RefOr::T(Schema::OneOf(some)) = schema else { continue };
        for variant in &mut some.items {
            let RefOr::T(Schema::Object(variant)) = variant else { continue };
            for (field, property) in &mut variant.properties {
                if matches!(property, RefOr::T(Schema::Object(inner)) if !inner.properties.is_empty()) {
                    let inner_name = format!("{name}{}", capitalised(field));
                    let reference = Ref::from_schema_name(&inner_name).into();
                    named.push((inner_name, std::mem::replace(property, reference)));
                }
            }
        }
    }
    schemas.extend(named);
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect()
}

/// Moves default values of properties to their descriptions: generators take a property with a default for one that
/// is always present, and so would require it in requests.
fn describe_defaults(document: &mut OpenApi) {
    for_each(document, &mut |schema| {
        let (default, description) = match schema {
            RefOr::Ref(reference) => {
                let default = reference.default.take();
                add_default(&mut reference.description, default.as_ref());
                return;
            }
            RefOr::T(Schema::Object(object)) => (object.default.take(), &mut object.description),
            RefOr::T(Schema::Array(array)) => (array.default.take(), &mut array.description),
            RefOr::T(Schema::OneOf(some)) => (some.default.take(), &mut some.description),
            RefOr::T(Schema::AllOf(all)) => (all.default.take(), &mut all.description),
            RefOr::T(_) => return,
        };
        if default.is_some() {
            let mut text = description.take().unwrap_or_default();
            add_default(&mut text, default.as_ref());
            *description = Some(text).filter(|text| !text.is_empty());
        }
    });
}

fn add_default(description: &mut String, default: Option<&Value>) {
    let says_something = |value: &&Value| match value {
        Value::Null => false,
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        _ => true,
    };
    if let Some(default) = default.filter(says_something) {
        let space = if description.is_empty() { "" } else { " " };
        description.extend([space, "Default: `", &default.to_string(), "`."]);
    }
}

/// Marks parameters whose description begins with `Deprecated:`.
fn mark_deprecated(document: &mut OpenApi) {
    for operation in document.paths.paths.values_mut().flat_map(operations) {
        for parameter in operation.parameters.iter_mut().flatten() {
            if let RefOr::T(parameter) = parameter
                && parameter.description.as_ref().is_some_and(|text| text.starts_with("Deprecated:"))
            {
                parameter.deprecated = Some(Deprecated::True);
            }
        }
    }
}

/// A response without a description gets the one of its body's schema.
fn describe_responses(document: &mut OpenApi) {
    let schemas = document.components.get_or_insert_default().schemas.clone();
    for operation in document.paths.paths.values_mut().flat_map(operations) {
        for response in operation.responses.responses.values_mut() {
            if let RefOr::T(response) = response
                && response.description.is_empty()
            {
                response.description = body_description(response, &schemas).unwrap_or_default();
            }
        }
    }
}

fn body_description(response: &Response, schemas: &BTreeMap<String, RefOr<Schema>>) -> Option<String> {
    let RefOr::T(content) = response.content.values().next()? else { return None };
    match content.schema.as_ref()? {
        RefOr::Ref(reference) => match schemas.get(reference.ref_location.strip_prefix(SCHEMAS)?)? {
            RefOr::T(schema) => description(schema).cloned(),
            RefOr::Ref(_) => None,
        },
        RefOr::T(schema) => description(schema).cloned(),
    }
}

fn description(schema: &Schema) -> Option<&String> {
    match schema {
        Schema::Array(array) => array.description.as_ref(),
        Schema::Object(object) => object.description.as_ref(),
        Schema::OneOf(some) => some.description.as_ref(),
        Schema::AllOf(some) => some.description.as_ref(),
        Schema::AnyOf(some) => some.description.as_ref(),
        _ => None,
    }
}

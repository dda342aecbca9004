//! Visits every schema of an OpenAPI document, including those inside other schemas.

use utoipa::openapi::path::{Operation, PathItem};
use utoipa::openapi::schema::{AdditionalProperties, ArrayItems};
use utoipa::openapi::{Content, OpenApi, RefOr, Response, Schema};

/// The operations of a path.
pub(super) fn operations(path: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    let PathItem { get, put, post, delete, patch, head, .. } = path;
    [get, put, post, delete, patch, head].into_iter().flatten()
}

/// Calls `visit` for every schema of the document, the inner ones first.
pub(super) fn for_each(document: &mut OpenApi, visit: &mut dyn FnMut(&mut RefOr<Schema>)) {
    for operation in document.paths.paths.values_mut().flat_map(operations) {
        for parameter in operation.parameters.iter_mut().flatten() {
            if let RefOr::T(parameter) = parameter {
                parameter.schema.iter_mut().for_each(|schema| walk(schema, visit));
            }
        }
        if let Some(RefOr::T(body)) = &mut operation.request_body {
            body.content.values_mut().for_each(|content| in_content(content, visit));
        }
        operation.responses.responses.values_mut().for_each(|response| in_response(response, visit));
    }
    if let Some(components) = &mut document.components {
        components.responses.values_mut().for_each(|response| in_response(response, visit));
        for schema in components.schemas.values_mut() {
            walk_inside(schema, visit);
        }
    }
}

fn in_response(response: &mut RefOr<Response>, visit: &mut dyn FnMut(&mut RefOr<Schema>)) {
    if let RefOr::T(response) = response {
        response.content.values_mut().for_each(|content| in_content(content, visit));
    }
}

fn in_content(content: &mut RefOr<Content>, visit: &mut dyn FnMut(&mut RefOr<Schema>)) {
    if let RefOr::T(Content { schema: Some(schema), .. }) = content {
        walk(schema, visit);
    }
}

fn walk(schema: &mut RefOr<Schema>, visit: &mut dyn FnMut(&mut RefOr<Schema>)) {
    walk_inside(schema, visit);
    visit(schema);
}

/// Visits the schemas inside a schema, but not the schema itself.
fn walk_inside(schema: &mut RefOr<Schema>, visit: &mut dyn FnMut(&mut RefOr<Schema>)) {
    let RefOr::T(schema) = schema else { return };
    match schema {
        Schema::Array(array) => {
            if let ArrayItems::RefOrSchema(items) = &mut array.items {
                walk(items, visit);
            }
        }
        Schema::Object(object) => {
            object.properties.values_mut().for_each(|property| walk(property, visit));
            if let Some(AdditionalProperties::RefOr(values)) = object.additional_properties.as_deref_mut() {
                walk(values, visit);
            }
        }
        Schema::OneOf(some) => some.items.iter_mut().for_each(|item| walk(item, visit)),
        Schema::AllOf(some) => some.items.iter_mut().for_each(|item| walk(item, visit)),
        Schema::AnyOf(some) => some.items.iter_mut().for_each(|item| walk(item, visit)),
        _ => {}
    }
}

//! Variants of an enum as plain objects: a generator of clients knows no `allOf` in a `oneOf`, and no `allOf` of a `oneOf`.

use std::collections::{BTreeMap, BTreeSet};

use utoipa::openapi::schema::{AllOf, Object, OneOf};
use utoipa::openapi::{OpenApi, RefOr, Schema};

use super::complete::SCHEMAS;
use super::schemas::for_each;

type Schemas = BTreeMap<String, RefOr<Schema>>;

/// Merges the parts of variants, and those of structs that contain an enum. What nothing else refers to is left out.
pub(super) fn merge_variants(document: &mut OpenApi) {
    let before = referred(document);
    merge(document);
    let after = referred(document);
    let schemas = &mut document.components.get_or_insert_default().schemas;
    schemas.retain(|name, _| after.contains(name) || !before.contains(name));
}

/// The names of the schemas that something refers to.
fn referred(document: &mut OpenApi) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for_each(document, &mut |schema| {
        if let RefOr::Ref(reference) = schema {
            names.extend(reference.ref_location.strip_prefix(SCHEMAS).map(str::to_owned));
        }
    });
    names
}

fn merge(document: &mut OpenApi) {
    let schemas = &mut document.components.get_or_insert_default().schemas;
    let known: Schemas = schemas.iter().map(|(name, schema)| (name.clone(), schema.clone())).collect();
    for schema in schemas.values_mut() {
        match schema {
            RefOr::T(Schema::OneOf(some)) => {
                for item in &mut some.items {
                    if let RefOr::T(Schema::AllOf(all)) = &*item
                        && let Some([one]) = merged(all, &known).as_deref()
                    {
                        *item = Schema::Object(one.clone()).into();
                    }
                }
            }
            RefOr::T(Schema::AllOf(all)) => {
                if let Some(variants) = merged(all, &known).filter(|variants| variants.len() > 1) {
                    let mut some = OneOf::new();
                    some.items = variants.into_iter().map(|one| Schema::Object(one).into()).collect();
                    some.description.clone_from(&all.description);
                    *schema = Schema::OneOf(some).into();
                }
            }
            _ => {}
        }
    }
}

/// The objects that an `allOf` stands for: several, if one of its parts is an enum.
fn merged(all: &AllOf, known: &Schemas) -> Option<Vec<Object>> {
    let mut objects = vec![Object::new()];
    for part in &all.items {
        let variants = variants(part, known)?;
        let with =
            |object: &Object| variants.iter().map(|variant| joined(object, variant)).collect::<Vec<_>>();
        objects = objects.iter().flat_map(with).collect();
    }
    if let ([one], Some(description)) = (objects.as_mut_slice(), &all.description) {
        one.description = Some(description.clone());
    }
    Some(objects)
}

fn variants(schema: &RefOr<Schema>, known: &Schemas) -> Option<Vec<Object>> {
    match schema {
        RefOr::Ref(reference) => variants(known.get(reference.ref_location.strip_prefix(SCHEMAS)?)?, known),
        RefOr::T(Schema::Object(object)) => Some(vec![object.clone()]),
        RefOr::T(Schema::OneOf(some)) => {
            let all = some.items.iter().map(|item| variants(item, known)).collect::<Option<Vec<_>>>()?;
            Some(all.concat())
        }
        RefOr::T(Schema::AllOf(all)) => merged(all, known),
        RefOr::T(_) => None,
    }
}

fn joined(one: &Object, other: &Object) -> Object {
    let mut both = one.clone();
    both.properties.extend(other.properties.clone());
    let new = other.required.iter().filter(|name| !one.required.contains(name));
    both.required.extend(new.cloned());
    both.description = other.description.clone().or(both.description);
    both
}

//! What a provider wants to get back with its reasoning, marked with the model that it belongs to: no other provider
//! could read it, and some refuse a request that contains it.

use serde_json::{Value, json};

const MODEL: &str = "model";

/// Marks an object with the model's name in the configuration.
pub(super) fn wrap(model: &str, mut object: Value) -> Value {
    object[MODEL] = json!(model);
    object
}

/// The object, if it belongs to this model.
pub(super) fn of<'a>(opaque: &'a Value, model: &str) -> Option<&'a Value> {
    (opaque[MODEL] == model).then_some(opaque)
}

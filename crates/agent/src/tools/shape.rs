//! Schemas and arguments of the agent's own tools.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::calls::Done;
use crate::model::ToolSpec;

/// A tool with the arguments `T`.
pub(super) fn spec<T: JsonSchema>(name: &str, description: &str) -> ToolSpec {
    let schema = headwater_tools::schema::schema_of::<T>();
    ToolSpec { name: name.to_owned(), description: description.to_owned(), schema }
}

/// Reads the arguments of a call, or returns what the model can do about them.
pub(super) fn arguments<T: DeserializeOwned>(tool: &str, input: Option<&Value>) -> Result<T, Box<Done>> {
    let wrong = |problem: &dyn std::fmt::Display| {
        Box::new(Done::failed(format!(
            "failed to parse function arguments: {problem}. Call {tool} again with a JSON object that fits its schema"
        )))
    };
    let input = input.cloned().unwrap_or_default();
    let input = match input {
        Value::String(text) => serde_json::from_str(&text).map_err(|error| wrong(&error))?,
        other => other,
    };
    serde_json::from_value(input).map_err(|error| wrong(&error))
}

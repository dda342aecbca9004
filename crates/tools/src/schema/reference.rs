//! How an argument names an execution.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// The longest id that is accepted, in bytes.
const MAX_ID_BYTES: usize = 64;

/// An execution: the number that a tool returned as session ID, or the id of the API (`exe_…`).
///
/// The schema asks for the number. Models also send it as a string, which means the same.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(untagged)]
pub enum ExecutionRef {
    /// The session ID.
    Number(u64),
    /// The id of the API.
    Id(String),
}

impl fmt::Display for ExecutionRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Id(id) => id.fmt(f),
        }
    }
}

impl<'de> Deserialize<'de> for ExecutionRef {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;

        impl Visitor<'_> for Either {
            type Value = ExecutionRef;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a session ID, for example 4711")
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<ExecutionRef, E> {
                Ok(ExecutionRef::Number(number))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<ExecutionRef, E> {
                if let Ok(number) = text.trim().parse() {
                    return Ok(ExecutionRef::Number(number));
                }
                let is_id = text.strip_prefix("exe_").is_some_and(|rest| {
                    !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_alphanumeric())
                });
                if is_id && text.len() <= MAX_ID_BYTES {
                    return Ok(ExecutionRef::Id(text.to_owned()));
                }
                Err(E::invalid_value(de::Unexpected::Str(text), &self))
            }
        }

        deserializer.deserialize_any(Either)
    }
}

impl JsonSchema for ExecutionRef {
    fn schema_name() -> Cow<'static, str> {
        "ExecutionRef".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "integer"})
    }
}

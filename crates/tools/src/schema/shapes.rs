//! Tools in the shapes that providers and protocols expect.

use std::str::FromStr;

use serde_json::{Map, Value, json};

use super::catalog::{Hints, TOOLS, Tool};

/// A shape of a list of tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// The Responses API of `OpenAI`.
    OpenAi,
    /// The Chat Completions API of `OpenAI`, and servers that are compatible with it.
    OpenAiChat,
    /// The Messages API of Anthropic.
    Anthropic,
    /// The Model Context Protocol.
    Mcp,
}

/// A shape that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown format {0:?}: use openai, openai_chat, anthropic or mcp")]
pub struct UnknownShape(String);

impl Shape {
    /// All shapes.
    pub const ALL: [Self; 4] = [Self::OpenAi, Self::OpenAiChat, Self::Anthropic, Self::Mcp];

    /// The name in a URL.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::OpenAiChat => "openai_chat",
            Self::Anthropic => "anthropic",
            Self::Mcp => "mcp",
        }
    }

    /// All tools in this shape.
    pub fn all_tools(self) -> Vec<Value> {
        TOOLS.iter().map(|tool| self.tool(tool)).collect()
    }

    /// One tool in this shape.
    pub fn tool(self, tool: &Tool) -> Value {
        let (name, description, schema) = (tool.name, tool.description, (tool.schema)());
        match self {
            // Strict mode would make every field required.
            Self::OpenAi => json!({
                "type": "function", "name": name, "description": description,
                "parameters": schema, "strict": false,
            }),
            Self::OpenAiChat => json!({
                "type": "function",
                "function": {"name": name, "description": description, "parameters": schema},
            }),
            Self::Anthropic => json!({"name": name, "description": description, "input_schema": schema}),
            Self::Mcp => mcp(tool, &schema),
        }
    }
}

fn mcp(tool: &Tool, schema: &Value) -> Value {
    let mut shape = json!({"name": tool.name, "description": tool.description, "inputSchema": schema});
    let annotations = annotations(tool.hints);
    let Some(fields) = shape.as_object_mut() else { return shape };
    if !annotations.is_empty() {
        fields.insert("annotations".to_owned(), Value::Object(annotations));
    }
    if let Some(result) = tool.result {
        fields.insert("outputSchema".to_owned(), result());
    }
    shape
}

/// The hints that differ from the protocol's defaults. For a tool that changes nothing, two have no meaning.
fn annotations(hints: Hints) -> Map<String, Value> {
    let all = [
        ("readOnlyHint", hints.read_only, false),
        ("destructiveHint", hints.destructive || hints.read_only, true),
        ("idempotentHint", hints.idempotent && !hints.read_only, false),
        ("openWorldHint", hints.open_world, true),
    ];
    let differing = all.into_iter().filter(|(_, value, default)| value != default);
    differing.map(|(name, value, _)| (name.to_owned(), Value::Bool(value))).collect()
}

impl FromStr for Shape {
    type Err = UnknownShape;

    fn from_str(name: &str) -> Result<Self, UnknownShape> {
        let found = Self::ALL.into_iter().find(|shape| shape.name() == name);
        found.ok_or_else(|| UnknownShape(name.to_owned()))
    }
}

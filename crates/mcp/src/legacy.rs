//! Tasks of protocol version 2025-11-25, which rmcp no longer reads: it knows only their successor, the
//! extension of 2026-07-28. They are translated to methods of our own before rmcp sees them, and what a client
//! must know about them is added to the answers of rmcp.

use std::sync::{Mutex, PoisonError};

use rmcp::model::Tool;
use serde_json::{Value, json};

use crate::tools::starts_programs;

/// The only version that has them.
pub(crate) const VERSION: &str = "2025-11-25";
/// The prefix of our own methods.
pub(crate) const PREFIX: &str = "headwater/2025-11-25/";

#[derive(Debug, Default)]
struct State {
    /// Whether the connection uses the version that has these tasks.
    on: bool,
    /// The id of a handshake that is not answered yet.
    handshake: Option<Value>,
}

/// Translates the messages of one connection.
#[derive(Debug, Default)]
pub(crate) struct Legacy(Mutex<State>);

impl Legacy {
    /// Translates a message of the client.
    pub(crate) fn incoming(&self, message: &mut Value) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if message.get("method").and_then(Value::as_str) == Some("initialize") {
            state.handshake = message.get("id").cloned();
        } else if state.on {
            rename(message);
        }
    }

    /// Adds to the answer of a handshake.
    pub(crate) fn outgoing(&self, message: &mut Value) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.handshake.is_some() && state.handshake.as_ref() == message.get("id") {
            state.handshake = None;
            state.on = add_capability(message);
        }
    }

    /// Whether an answer is awaited that must be changed.
    pub(crate) fn is_waiting(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).handshake.is_some()
    }
}

/// Renames a method of that version to one of our own. Returns whether there was something to rename.
pub(crate) fn rename(message: &mut Value) -> bool {
    let Some(method) = message.get("method").and_then(Value::as_str) else { return false };
    let is_own = match method {
        "tools/call" => message.pointer("/params/task").is_some_and(Value::is_object),
        "tools/list" | "tasks/get" | "tasks/result" | "tasks/list" | "tasks/cancel" => true,
        _ => false,
    };
    let own = format!("{PREFIX}{method}");
    match message.as_object_mut().filter(|_| is_own) {
        Some(fields) => fields.insert("method".to_owned(), own.into()).is_some(),
        None => false,
    }
}

/// Adds tasks to the answer of a handshake that chose that version. Returns whether it did.
pub(crate) fn add_capability(message: &mut Value) -> bool {
    if message.pointer("/result/protocolVersion").is_none_or(|used| used != VERSION) {
        return false;
    }
    let Some(Value::Object(capabilities)) = message.pointer_mut("/result/capabilities") else { return false };
    let calls = json!({"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}});
    capabilities.insert("tasks".to_owned(), calls);
    // The successor, which this version does not have.
    capabilities.remove("extensions");
    true
}

/// The tools, with those that can be tasks marked.
pub(crate) fn tools(tools: &[Tool]) -> Value {
    let all = tools.iter().filter_map(|tool| serde_json::to_value(tool).ok()).map(|mut tool| {
        let starts = tool.get("name").and_then(Value::as_str).is_some_and(starts_programs);
        if let Some(fields) = tool.as_object_mut().filter(|_| starts) {
            fields.insert("execution".to_owned(), json!({"taskSupport": "optional"}));
        }
        tool
    });
    json!({"tools": all.collect::<Vec<_>>()})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn initialized(version: &str) -> (Legacy, Value) {
        let legacy = Legacy::default();
        let mut request = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}});
        legacy.incoming(&mut request);
        assert_eq!(request["method"], "initialize");
        let mut answer = json!({"id": 1, "result": {"protocolVersion": version, "capabilities": {}}});
        legacy.outgoing(&mut answer);
        assert!(!legacy.is_waiting());
        (legacy, answer)
    }

    #[test]
    fn only_version_2025_11_25_has_these_tasks() {
        let (legacy, answer) = initialized("2025-11-25");
        assert!(answer.pointer("/result/capabilities/tasks/requests/tools/call").is_some());
        let mut call = json!({"id": 2, "method": "tools/call", "params": {"name": "shell", "task": {}}});
        legacy.incoming(&mut call);
        assert_eq!(call["method"], "headwater/2025-11-25/tools/call");

        let (legacy, answer) = initialized("2025-06-18");
        assert!(answer.pointer("/result/capabilities/tasks").is_none());
        let mut get = json!({"id": 3, "method": "tasks/get", "params": {"taskId": "x"}});
        legacy.incoming(&mut get);
        assert_eq!(get["method"], "tasks/get");
    }

    #[test]
    fn a_call_without_a_task_is_left_alone() {
        let (legacy, _) = initialized("2025-11-25");
        let mut call = json!({"id": 2, "method": "tools/call", "params": {"name": "shell"}});
        let before = call.clone();
        legacy.incoming(&mut call);
        assert_eq!(call, before);
    }

    #[test]
    fn tools_that_start_programs_can_be_tasks() {
        let (legacy, _) = initialized("2025-11-25");
        let mut request = json!({"id": "a", "method": "tools/list"});
        legacy.incoming(&mut request);
        assert_eq!(request["method"], "headwater/2025-11-25/tools/list");
        let answer = tools(&crate::tools::list());
        let named = |name: &str| {
            let all = answer["tools"].as_array().unwrap();
            all.iter().find(|tool| tool["name"] == name).unwrap().clone()
        };
        assert_eq!(named("shell")["execution"]["taskSupport"], "optional");
        assert!(named("read_file").get("execution").is_none());
    }
}

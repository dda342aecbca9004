//! What `processUIMessageStream` of npm's `ai` does with chunks: the message, or the error that ends the stream.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

/// A client of a stream.
#[derive(Debug, Default)]
pub(super) struct Client {
    parts: Vec<Value>,
    texts: HashMap<String, usize>,
    partial_calls: HashSet<String>,
    pub(super) is_started: bool,
    pub(super) is_over: bool,
}

impl Client {
    /// The parts of the message, without the borders of steps, and without the plan, which belongs to the conversation.
    pub(super) fn message(&self) -> Vec<Value> {
        let counts = |part: &&Value| part["type"] != "step-start" && part["type"] != "data-plan";
        self.parts.iter().filter(counts).cloned().collect()
    }

    /// All text and reasoning.
    pub(super) fn text(&self) -> String {
        self.parts.iter().filter_map(|part| part["text"].as_str()).collect()
    }

    /// Takes a chunk.
    pub(super) fn take(&mut self, chunk: &Value) -> Result<(), String> {
        let kind = chunk["type"].as_str().unwrap();
        let text =
            |name: &str| chunk[name].as_str().map(str::to_owned).ok_or(format!("{kind} without {name}"));
        if self.is_over && kind != "start" {
            return Err(format!("{kind} after the end"));
        }
        match kind {
            "start" => {
                (self.is_started, self.is_over) = (true, false);
                text("messageId")?;
            }
            "finish" => self.is_over = true,
            "error" => {
                self.is_over = true;
                text("errorText")?;
            }
            "start-step" => self.parts.push(json!({"type": "step-start"})),
            "finish-step" => {}
            "reset-step" => {
                let at =
                    self.parts.iter().rposition(|part| part["type"] == "step-start").map_or(0, |at| at + 1);
                self.parts.truncate(at);
                self.texts.clear();
                self.partial_calls.clear();
            }
            "text-start" | "reasoning-start" => {
                let kind = kind.trim_end_matches("-start");
                self.parts.push(json!({"type": kind, "text": ""}));
                if self.texts.insert(text("id")?, self.parts.len() - 1).is_some() {
                    return Err("a text begins twice".to_owned());
                }
            }
            "text-delta" | "reasoning-delta" => {
                let at = *self.texts.get(&text("id")?).ok_or("a delta of no text")?;
                let whole = self.parts[at]["text"].as_str().unwrap().to_owned() + &text("delta")?;
                self.parts[at]["text"] = whole.into();
            }
            "text-end" | "reasoning-end" => {
                self.texts.remove(&text("id")?).ok_or("the end of no text")?;
            }
            "steering-message" | "data-notice" | "data-plan" => {
                let (id, parts, data) = (&chunk["id"], &chunk["parts"], &chunk["data"]);
                self.parts.push(json!({"type": kind, "id": id, "parts": parts, "data": data}));
            }
            _ => return self.take_call(kind, chunk),
        }
        if self.is_started || kind == "error" || kind == "finish" {
            Ok(())
        } else {
            Err(format!("{kind} first"))
        }
    }

    fn take_call(&mut self, kind: &str, chunk: &Value) -> Result<(), String> {
        if kind == "tool-approval-response" {
            let part = self.parts.iter_mut().find(|part| part["approval"] == chunk["approvalId"]);
            part.ok_or("an answer to no question")?["state"] = "approval-responded".into();
            return Ok(());
        }
        let id = chunk["toolCallId"].as_str().ok_or(format!("{kind} without a call"))?.to_owned();
        let known = self.parts.iter().rposition(|part| part["toolCallId"] == id.as_str());
        let state = match kind {
            "tool-input-start" => "input-streaming",
            "tool-input-available" => "input-available",
            "tool-output-available" => "output-available",
            "tool-output-error" => "output-error",
            "tool-output-denied" => "output-denied",
            "tool-approval-request" => "approval-requested",
            "tool-input-delta" => {
                return if self.partial_calls.contains(&id) {
                    Ok(())
                } else {
                    Err("arguments of no call".into())
                };
            }
            other => return Err(format!("the type {other} is not known")),
        };
        let begins = kind.starts_with("tool-input");
        if kind == "tool-input-start" {
            self.partial_calls.insert(id.clone());
        }
        let at = match known {
            Some(at) => at,
            None if begins => {
                self.parts
                    .push(json!({"type": "dynamic-tool", "toolCallId": id, "toolName": chunk["toolName"]}));
                self.parts.len() - 1
            }
            None => return Err(format!("{kind} of no call")),
        };
        let part = &mut self.parts[at];
        part["state"] = state.into();
        for (name, from) in [
            ("input", "input"),
            ("output", "output"),
            ("errorText", "errorText"),
            ("toolMetadata", "toolMetadata"),
            ("approval", "approvalId"),
        ] {
            if let Some(value) = chunk.get(from) {
                part[name] = value.clone();
            }
        }
        Ok(())
    }
}

//! The prompt of a step: the current branch of the conversation, as the model reads it.

mod files;

use headwater_protocol::conversation::{Attachment, Conversation, Message, MessageRole, Part, ToolCall};
use serde_json::{Value, json};

use crate::model::{Content, Item, Model, Prompt};
use crate::work::Work;

pub(crate) use files::read_text;

/// Images in one prompt: the newest ones. Each costs as much as a page of text.
const MAX_IMAGES: usize = 16;

/// An item whose files are not read yet.
#[derive(Debug, Clone, PartialEq)]
enum Draft {
    Item(Item),
    User(Vec<Piece>),
    Result { id: String, name: String, content: Vec<Piece>, is_error: bool },
}

#[derive(Debug, Clone, PartialEq)]
enum Piece {
    Text(String),
    File(Attachment),
}

/// The prompt for the next step.
pub(crate) async fn build(work: &Work, system: &str) -> Prompt {
    // Not the name in the turn, which is none if the person has chosen none.
    let model = work.context.model.as_deref();
    let mut drafts = work.read(|now| drafts(now, model.map(Model::name)));
    drop_old_images(&mut drafts);
    let mut items = Vec::new();
    for draft in drafts {
        items.push(match draft {
            Draft::Item(item) => item,
            Draft::User(pieces) => Item::User(resolve(work, pieces).await),
            Draft::Result { id, name, content, is_error } => {
                Item::ToolResult { id, name, content: resolve(work, content).await, is_error }
            }
        });
    }
    let cache_key = Some(work.context.journal.id().to_string());
    let web_search = work.context.settings.web_search && model.is_some_and(Model::can_search_web);
    let tools = work.tools.specs();
    Prompt { system: system.to_owned(), items, tools, cache_key, web_search, ..Prompt::default() }
}

async fn resolve(work: &Work, pieces: Vec<Piece>) -> Vec<Content> {
    let mut all = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Text(text) => all.push(Content::Text(text)),
            Piece::File(file) => all.push(files::content(work, &file).await),
        }
    }
    all
}

/// The current branch, from the last summary on.
fn drafts(now: &Conversation, model: Option<&str>) -> Vec<Draft> {
    let branch = now.branch();
    let summarised = branch.iter().rposition(|message| now.summaries.contains_key(&message.id));
    let mut all = Vec::new();
    if let Some(at) = summarised {
        let summary = branch.get(at).and_then(|message| now.summaries.get(&message.id));
        let text = format!(
            "The conversation so far was too long to read and is given as this summary:\n\n{}\n\nContinue from here.",
            summary.map(String::as_str).unwrap_or_default()
        );
        all.push(Draft::User(vec![Piece::Text(text)]));
    }
    for message in branch.into_iter().skip(summarised.map_or(0, |at| at + 1)) {
        match message.role {
            MessageRole::User => all.push(Draft::User(message.parts.iter().filter_map(piece).collect())),
            MessageRole::Assistant => answer(message, model, &mut all),
        }
    }
    all
}

fn piece(part: &Part) -> Option<Piece> {
    match part {
        Part::Text(text) => Some(Piece::Text(text.text.clone())),
        Part::Attachment(file) => Some(Piece::File(file.clone())),
        _ => None,
    }
}

/// A message of the agent: in each step the calls come first, and then their results.
fn answer(message: &Message, model: Option<&str>, all: &mut Vec<Draft>) {
    let mut results = Vec::new();
    // What a provider wants back, only that provider can read.
    let is_own = message.author.as_deref() == model;
    for part in &message.parts {
        match part {
            Part::Step { .. } => all.append(&mut results),
            Part::Text(text) if !text.text.is_empty() => all.push(Draft::Item(Item::Text(text.text.clone()))),
            Part::Reasoning(text) if is_own => {
                let (text, opaque) = (text.text.clone(), text.opaque.clone());
                all.push(Draft::Item(Item::Reasoning { text, opaque }));
            }
            Part::ToolCall(call) => {
                let Some(input) = &call.input else { continue };
                let (id, name) = (call.tool_call_id.clone(), call.tool.clone());
                all.push(Draft::Item(Item::ToolCall { id, name, arguments: arguments(input) }));
                results.push(result(call));
            }
            _ => {}
        }
    }
    all.append(&mut results);
}

/// Arguments that are not JSON would make providers refuse the whole prompt.
fn arguments(input: &Value) -> String {
    match input {
        Value::Object(_) => input.to_string(),
        other => json!({"not_an_object": other}).to_string(),
    }
}

fn result(call: &ToolCall) -> Draft {
    let (id, name) = (call.tool_call_id.clone(), call.tool.clone());
    let output = call.output.clone().unwrap_or_default();
    let text = match (&call.output, output.text.is_empty()) {
        (None, _) => "The call has no result: it was interrupted.".to_owned(),
        (Some(_), true) => "[no output]".to_owned(),
        (Some(_), false) => output.text,
    };
    let mut content = vec![Piece::Text(text)];
    content.extend(output.image.map(Piece::File));
    Draft::Result { id, name, content, is_error: output.is_error }
}

/// Replaces all images but the newest ones by their names.
fn drop_old_images(drafts: &mut [Draft]) {
    let mut left = MAX_IMAGES;
    for draft in drafts.iter_mut().rev() {
        let (Draft::User(pieces) | Draft::Result { content: pieces, .. }) = draft else { continue };
        for piece in pieces.iter_mut().rev() {
            let Piece::File(file) = piece else { continue };
            if !file.media_type.starts_with("image/") {
                continue;
            }
            if left == 0 {
                *piece = Piece::Text(format!("[the image {}: view_image shows it again]", file.path));
            } else {
                left -= 1;
            }
        }
    }
}

#[cfg(test)]
#[path = "prompt_tests.rs"]
mod tests;

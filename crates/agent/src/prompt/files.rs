//! Files of the workspace in a prompt: images, and texts that are not too long.

use std::sync::PoisonError;

use headwater_contract::v1;
use headwater_protocol::conversation::Attachment;
use headwater_tools::schema::Call;
use headwater_tools::{Agent, Request};
use serde_json::json;

use crate::model::Content;
use crate::tools::workspace_file;
use crate::work::Work;

/// The longest text that a prompt contains, in bytes. The agent reads longer ones with its tools.
const MAX_TEXT_BYTES: usize = 32 << 10;

/// A file for the model. It is read once in a turn, so that the prompt stays the same.
pub(super) async fn content(work: &Work, file: &Attachment) -> Content {
    let known = work.files.lock().unwrap_or_else(PoisonError::into_inner).get(&file.path).cloned();
    if let Some(known) = known {
        return known;
    }
    let content = read(work, file).await;
    work.files.lock().unwrap_or_else(PoisonError::into_inner).insert(file.path.clone(), content.clone());
    content
}

async fn read(work: &Work, file: &Attachment) -> Content {
    let Attachment { name, path, media_type, size_bytes } = file;
    let Ok(Some(agent)) = work.context.place.existing_tools().await else {
        return Content::Text(format!("[the file {path} cannot be read now]"));
    };
    if media_type.starts_with("image/") {
        return image(&agent, path).await;
    }
    let text = match usize::try_from(*size_bytes) {
        Ok(..=MAX_TEXT_BYTES) => read_text(&agent, workspace_file(path), MAX_TEXT_BYTES).await,
        _ => None,
    };
    Content::Text(match text {
        Some(text) => format!("The file {name}, which is {path} in the workspace:\n\n{text}"),
        None => format!(
            "[the person added the file {path} ({media_type}, {size_bytes} bytes); read it with a tool]"
        ),
    })
}

async fn image(agent: &Agent, path: &str) -> Content {
    let failed = |why: &str| Content::Text(format!("[the image {path} cannot be shown: {why}]"));
    let call = match Call::parse("view_image", json!({"path": path})) {
        Ok(call) => call,
        Err(error) => return failed(&error.to_string()),
    };
    let outcome = agent.call(Request { call, tool_call_id: None, approved: None }, None).await;
    match outcome.image {
        Some(image) => Content::Image { media_type: image.media_type.to_owned(), bytes: image.bytes },
        None => failed(&outcome.text),
    }
}

/// The beginning of a text file of the workspace; nothing if it cannot be read or is not text.
pub(crate) async fn read_text(agent: &Agent, path: &str, most: usize) -> Option<String> {
    let request = v1::ReadFileRequest {
        session_id: agent.session().to_string(),
        path: path.to_owned().into(),
        ..v1::ReadFileRequest::default()
    };
    let mut reader = agent.host().streams().retry(|client| client.read_file(request.clone())).await.ok()?;
    let mut bytes = Vec::new();
    while let Some(piece) = reader.next().await.ok()? {
        bytes.extend_from_slice(&piece);
        if bytes.len() > most {
            break;
        }
    }
    if bytes.contains(&0) {
        return None;
    }
    let text = String::from_utf8_lossy(&bytes);
    let kept = text.get(..text.floor_char_boundary(most)).unwrap_or_default();
    let is_cut = kept.len() < text.len();
    let masked = agent.secrets().mask(kept);
    Some(if is_cut { format!("{masked}\n[… the file is longer]") } else { masked })
}

//! The results of MCP tools, as a model reads them.

use rmcp::model::{CallToolResult, ContentBlock};

use crate::calls::Done;
use crate::text::shorten;

/// The longest result, in bytes: as long as those of other tools.
const MAX_BYTES: usize = 40_000;

pub(super) fn done(result: CallToolResult) -> Done {
    let CallToolResult { content, structured_content, is_error, .. } = result;
    let texts: Vec<String> = content.iter().map(text_of).collect();
    let mut text = texts.join("\n");
    if text.is_empty()
        && let Some(value) = &structured_content
    {
        text = value.to_string();
    }
    let text = shorten(&text, MAX_BYTES);
    let mut done = if is_error == Some(true) { Done::failed(text) } else { Done::text(text) };
    done.output.structured = structured_content.filter(|value| value.to_string().len() <= MAX_BYTES);
    done
}

fn text_of(content: &ContentBlock) -> String {
    match content {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => {
            format!("[an image of the type {}, which cannot be shown here]", image.mime_type)
        }
        ContentBlock::Audio(audio) => {
            format!("[a recording of the type {}, which cannot be played here]", audio.mime_type)
        }
        ContentBlock::Resource(_) | ContentBlock::ResourceLink(_) => {
            serde_json::to_string(content).unwrap_or_default()
        }
        _ => "[content of a kind that is not known here]".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use headwater_protocol::conversation::ToolCallState;
    use serde_json::json;

    use super::*;

    #[test]
    fn texts_are_joined_and_an_error_of_the_tool_is_a_failure() {
        let result: CallToolResult = serde_json::from_value(json!({
            "content": [{"type": "text", "text": "a"}, {"type": "image", "data": "", "mimeType": "image/png"}],
            "isError": true,
        }))
        .unwrap();
        let done = done(result);
        assert_eq!(done.state, ToolCallState::Failed);
        assert!(done.output.text.starts_with("a\n[an image of the type image/png"), "{}", done.output.text);
    }
}

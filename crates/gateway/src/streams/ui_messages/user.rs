//! The parts of a person's message.

use headwater_protocol::SessionId;
use headwater_protocol::conversation::{Attachment, Part};

use super::chunk::UserPart;

/// The parts of a message, and the URLs of its files. `files` is the beginning of the URL of a file of the workspace.
pub(crate) fn user_parts(parts: &[Part], files: Option<&str>) -> Vec<UserPart> {
    let part = |part: &Part| match part {
        Part::Text(text) => Some(UserPart::Text { text: text.text.clone() }),
        Part::Attachment(Attachment { name, path, media_type, .. }) => {
            let path: String = form_urlencoded::byte_serialize(path.as_bytes()).collect();
            let (media_type, filename) = (media_type.clone(), name.clone());
            Some(UserPart::File { media_type, url: format!("{}{path}", files.unwrap_or_default()), filename })
        }
        _ => None,
    };
    parts.iter().filter_map(part).collect()
}

/// The URL of a file of the workspace, up to its path.
pub(crate) fn files_url(session: Option<SessionId>) -> Option<String> {
    session.map(|id| format!("/v1/sessions/{id}/files/content?path="))
}

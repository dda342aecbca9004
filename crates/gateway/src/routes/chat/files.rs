//! The files of a message: each becomes a file of the workspace.

use std::sync::Arc;

use axum::body::Body;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use headwater_protocol::conversation::{Attachment, Part};
use headwater_store::ConversationRow;

use super::request::FilePart;
use crate::auth::Identity;
use crate::conversations::MAX_ATTACHMENTS;
use crate::error::ApiError;
use crate::state::Gateway;
use crate::streams::ui_messages::{UserPart, files_url, user_parts};

/// The endings of names that say what models read.
const ENDINGS: [(&str, &str); 8] = [
    ("image/png", "png"),
    ("image/jpeg", "jpg"),
    ("image/gif", "gif"),
    ("image/webp", "webp"),
    ("text/plain", "txt"),
    ("text/csv", "csv"),
    ("application/json", "json"),
    ("application/pdf", "pdf"),
];

/// A file of a message, checked.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NewFile {
    /// Its content.
    Bytes { name: String, bytes: Vec<u8> },
    /// A file that the workspace may have, by the URL that the server gave it.
    Url(String),
}

/// Checks the files of a message. Nothing is fetched: only the sender has what is not in the request.
pub(super) fn checked(parts: Vec<FilePart>) -> Result<Vec<NewFile>, ApiError> {
    if parts.len() > MAX_ATTACHMENTS {
        return Err(ApiError::invalid(format!("a message may have at most {MAX_ATTACHMENTS} files")));
    }
    parts.into_iter().map(new_file).collect()
}

fn new_file(part: FilePart) -> Result<NewFile, ApiError> {
    let FilePart { url, media_type, filename } = part;
    let Some(data) = url.strip_prefix("data:") else {
        return Ok(NewFile::Url(url));
    };
    let bad = || ApiError::invalid("a file part: `url` must be a `data:` URL in base64");
    let (head, text) = data.split_once(',').ok_or_else(bad)?;
    let head = head.strip_suffix(";base64").ok_or_else(bad)?;
    let bytes = STANDARD.decode(text).map_err(|_| bad())?;
    let kind = if media_type.is_empty() { head } else { &media_type };
    Ok(NewFile::Bytes { name: name_of(filename, kind), bytes })
}

/// A name with an ending: the type of an attachment is that of its name.
fn name_of(filename: Option<String>, media_type: &str) -> String {
    let kind = media_type.split(';').next().unwrap_or_default().trim();
    let ending = ENDINGS.iter().find(|(known, _)| *known == kind).map(|(_, ending)| *ending);
    let name = filename.filter(|name| !name.trim().is_empty()).unwrap_or_else(|| "file".to_owned());
    match ending {
        Some(ending) if mime_guess::from_path(&name).first().is_none() => format!("{name}.{ending}"),
        _ => name,
    }
}

/// The attachments of a message. `known` are the parts of the message that it replaces, which may have the same files.
pub(super) async fn attached(
    gateway: &Arc<Gateway>,
    who: &Identity,
    row: &ConversationRow,
    files: Vec<NewFile>,
    known: &[Part],
) -> Result<Vec<Attachment>, ApiError> {
    let mut all = Vec::new();
    for file in files {
        all.push(match file {
            NewFile::Bytes { name, bytes } => {
                let length = Some(bytes.len() as u64);
                gateway.add_attachment(who, &row.id, &name, length, Body::from(bytes)).await?
            }
            NewFile::Url(url) => kept(known, &url, row).ok_or_else(|| {
                ApiError::invalid("a file part: the server does not fetch files")
                    .hint("send its content as a `data:` URL in base64")
            })?,
        });
    }
    Ok(all)
}

/// The attachment that has this URL.
fn kept(known: &[Part], url: &str, row: &ConversationRow) -> Option<Attachment> {
    let files = files_url(row.session_id);
    known.iter().find_map(|part| {
        let Part::Attachment(attachment) = part else { return None };
        let shown = user_parts(std::slice::from_ref(part), files.as_deref());
        let is_same = matches!(shown.first(), Some(UserPart::File { url: own, .. }) if own == url);
        is_same.then(|| attachment.clone())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(url: &str, media_type: &str, filename: Option<&str>) -> FilePart {
        let filename = filename.map(str::to_owned);
        FilePart { url: url.to_owned(), media_type: media_type.to_owned(), filename }
    }

    #[test]
    fn a_data_url_is_a_file_whose_name_has_its_type() {
        for (filename, media_type, name) in [
            (Some("a.png"), "image/png", "a.png"),
            (None, "image/png", "file.png"),
            (Some("notes"), "text/plain", "notes.txt"),
            (Some("odd"), "x/unknown", "odd"),
        ] {
            let file = new_file(part("data:image/png;base64,aGk=", media_type, filename)).unwrap();
            assert_eq!(file, NewFile::Bytes { name: name.to_owned(), bytes: b"hi".to_vec() });
        }
    }

    #[test]
    fn what_is_no_base64_is_refused() {
        for url in ["data:", "data:text/plain,hi", "data:;base64", "data:;base64,%%%"] {
            assert_eq!(new_file(part(url, "", None)).unwrap_err().status, 400, "{url}");
        }
    }
}

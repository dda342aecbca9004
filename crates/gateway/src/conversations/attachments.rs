//! Files that people add to a conversation: they are in the workspace of its session, where the agent's tools read them.

use std::sync::Arc;

use axum::body::Body;
use bytes::Bytes;
use headwater_contract::v1;
use headwater_contract::v1::write_file_head::Place;
use headwater_protocol::SessionId;
use headwater_protocol::conversation::{Attachment, ConversationId};

use crate::auth::{Identity, Need};
use crate::error::ApiError;
use crate::executions::recorder::is_missing;
use crate::routes::files::put::write;
use crate::state::Gateway;

/// The folder of attachments in the workspace.
const FOLDER: &str = "attachments";
/// The longest name of a file, in bytes.
const MAX_NAME_BYTES: usize = 200;
/// How many files of one name there may be.
const MAX_SAME_NAME: u32 = 1_000;

impl Gateway {
    /// Writes a file into the workspace of a conversation, whose session is created if there is none.
    pub(crate) async fn add_attachment(
        self: &Arc<Self>,
        who: &Identity,
        id: &ConversationId,
        name: &str,
        length: Option<u64>,
        body: Body,
    ) -> Result<Attachment, ApiError> {
        let row = self.auth.may_use_conversation(who, Need::Write, id).await?;
        let name = checked_name(name)?;
        let agent = self.auth.agent_of(&row).await?;
        let agent =
            agent.ok_or_else(|| ApiError::forbidden("the owner's account is disabled", "ask an operator"))?;
        let session = self.ensured_session(&agent, id).await?.id;
        let path = self.free_path(session, &name).await?;
        let head = v1::WriteFileHead {
            session_id: session.to_string(),
            path: path.clone().into(),
            place: Some(Place::Whole(true)),
            expect: Some(v1::Expectation { nothing: true, ..v1::Expectation::default() }),
            mode: None,
            size: length,
        };
        let (_, file) = write(self, who, session, head, body).await?;
        let media_type = mime_guess::from_path(&name).first_or_octet_stream().to_string();
        Ok(Attachment { name, path, media_type, size_bytes: file.size })
    }

    /// The path of a new file of this name.
    async fn free_path(&self, session: SessionId, name: &str) -> Result<String, ApiError> {
        let (stem, ending) = match name.rsplit_once('.') {
            Some((stem, ending)) if !stem.is_empty() => (stem, format!(".{ending}")),
            _ => (name, String::new()),
        };
        for number in 1..=MAX_SAME_NAME {
            let path = match number {
                1 => format!("{FOLDER}/{name}"),
                number => format!("{FOLDER}/{stem}-{number}{ending}"),
            };
            match self.worker.stat_file(session, Bytes::from(path.clone())).await {
                Ok(_) => {}
                Err(error) if is_missing(&error) => return Ok(path),
                Err(error) => return Err(error.into()),
            }
        }
        let message = format!("the workspace already has {MAX_SAME_NAME} attachments with the name `{name}`");
        Err(ApiError::conflict(message, "give the file another name"))
    }
}

/// The name of a file, without folders.
fn checked_name(text: &str) -> Result<String, ApiError> {
    let name = text.rsplit(['/', '\\']).next().unwrap_or_default().trim();
    let is_bad = name.is_empty()
        || name.len() > MAX_NAME_BYTES
        || name.chars().all(|ch| ch == '.')
        || name.chars().any(char::is_control);
    if is_bad {
        let message = format!("`name` must be the name of a file of 1 to {MAX_NAME_BYTES} bytes");
        return Err(ApiError::invalid(message));
    }
    Ok(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_an_attachment_names_no_folder() {
        for (text, name) in
            [("a b.png", "a b.png"), ("../../etc/passwd", "passwd"), ("C:\\x\\ä.txt", "ä.txt")]
        {
            assert_eq!(checked_name(text).unwrap(), name);
        }
        for bad in ["", "..", "a/", "a/..", "a\nb", &"x".repeat(201)] {
            assert_eq!(checked_name(bad).unwrap_err().status, 400, "{bad:?}");
        }
    }
}

//! The state of many paths of the workspace, read in one call.

use bytes::{Bytes, BytesMut};
use headwater_contract::{Client, ContractError, v1};

use super::{Files, MAX_EDITED_BYTES};

/// A path.
#[derive(Debug, Clone, Default)]
pub(super) struct PathState {
    /// What exists there; absent: nothing, or `error` says why it is not known.
    pub(super) entry: Option<v1::FileEntry>,
    /// The content, if it was asked for.
    pub(super) bytes: Bytes,
    /// Why it cannot be read.
    pub(super) error: Option<String>,
    /// A folder on the way is a link or a file.
    pub(super) blocked: bool,
}

impl Files<'_> {
    /// Reads paths, and the content of files where the query says so. The result has the order of the queries.
    pub(super) async fn read_many(
        &self,
        queries: Vec<v1::PathQuery>,
    ) -> Result<Vec<PathState>, ContractError> {
        let request = v1::ReadManyRequest {
            session_id: self.session.to_string(),
            queries,
            max_file_bytes: MAX_EDITED_BYTES,
        };
        self.streams.retry(|client| read_all(client, request.clone())).await
    }

    /// Reads one file.
    pub(super) async fn read_one(&self, path: &str) -> Result<PathState, ContractError> {
        let query = v1::PathQuery { path: path.to_owned().into(), content: true };
        Ok(self.read_many(vec![query]).await?.pop().unwrap_or_default())
    }
}

async fn read_all(client: &Client, request: v1::ReadManyRequest) -> Result<Vec<PathState>, ContractError> {
    let mut states = vec![PathState::default(); request.queries.len()];
    let mut parts: Option<(usize, BytesMut)> = None;
    let mut messages = client.read_many(request).await?;
    while let Some(message) = messages.next().await? {
        for part in message.states {
            let index = part.index as usize;
            let unknown = || ContractError::Malformed("the answer is about an unknown path".into());
            let state = states.get_mut(index).ok_or_else(unknown)?;
            state.entry = part.entry.or(state.entry.take());
            state.blocked |= part.blocked;
            if !part.error.is_empty() {
                state.error = Some(part.error);
            }
            if part.data.is_empty() {
                continue;
            }
            // Most files come in one part, which is not copied.
            match &mut parts {
                Some((at, bytes)) if *at == index => bytes.extend_from_slice(&part.data),
                _ if state.bytes.is_empty() => state.bytes = part.data,
                _ => {
                    let mut bytes = BytesMut::from(state.bytes.as_ref());
                    bytes.extend_from_slice(&part.data);
                    if let Some((at, bytes)) = parts.replace((index, bytes)) {
                        finish(&mut states, at, bytes);
                    }
                }
            }
        }
    }
    if let Some((at, bytes)) = parts {
        finish(&mut states, at, bytes);
    }
    Ok(states)
}

fn finish(states: &mut [PathState], at: usize, bytes: BytesMut) {
    if let Some(state) = states.get_mut(at) {
        state.bytes = bytes.freeze();
    }
}

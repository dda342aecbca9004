//! The bytes behind an address.

use std::ops::Range;
use std::sync::Arc;

use headwater_contract::v1::{FileEntry, FileKind, ReadFileRequest};
use headwater_contract::{Client, KeptOutput, OutputSelector};
use headwater_protocol::{Seq, Stream};
use headwater_tools::Agent;
use headwater_tools::output::{Budget, End, Options, Output, Secrets};
use rmcp::ErrorData;

use super::super::uri::Target;
use super::super::{execution, failed};

/// An open output or file.
#[derive(Debug)]
pub(super) enum Source<'a> {
    Output { client: &'a Client, output: OutputSelector, kept: KeptOutput, secrets: &'a Arc<Secrets> },
    File { client: &'a Client, request: ReadFileRequest, entry: FileEntry, secrets: &'a Arc<Secrets> },
}

impl<'a> Source<'a> {
    pub(super) async fn open(agent: &'a Agent, target: &Target) -> Result<Self, ErrorData> {
        match target {
            Target::Output(id, stream) => {
                execution(agent, *id).await?;
                let output = OutputSelector { id: *id, stream: *stream };
                let kept = agent.host().calls().retry(|client| client.kept(output)).await.map_err(failed)?;
                Ok(Self::Output { client: agent.host().streams(), output, kept, secrets: agent.secrets() })
            }
            Target::File(path) => {
                let (session, path) = (agent.session(), bytes::Bytes::from(path.clone()));
                let entry = agent.host().calls().retry(|client| client.stat_file(session, path.clone()));
                let entry = entry.await.map_err(failed)?;
                if entry.kind() != FileKind::File {
                    let message = "only files can be read; `list_dir` lists a folder";
                    return Err(ErrorData::invalid_params(message, None));
                }
                // Without the tag a file that is written meanwhile would be a mixture of both states.
                let etag = Some(entry.etag.clone());
                let request = ReadFileRequest {
                    session_id: session.to_string(),
                    path,
                    etag,
                    ..ReadFileRequest::default()
                };
                let secrets = agent.secrets();
                Ok(Self::File { client: agent.host().streams(), request, entry, secrets })
            }
        }
    }

    /// The number of bytes, kept or not.
    pub(super) const fn end(&self) -> u64 {
        match self {
            Self::Output { kept, .. } => kept.end,
            Self::File { entry, .. } => entry.size,
        }
    }

    /// How far around a part its secrets are searched.
    pub(super) fn margin(&self) -> u64 {
        let (Self::Output { secrets, .. } | Self::File { secrets, .. }) = self;
        secrets.longest() as u64
    }

    /// The text that begins at this position without the secrets of the session, if it has any. Files that contain none
    /// stay as they are: they may be binary.
    pub(super) fn masked(&self, start_offset: u64, bytes: &[u8]) -> Option<String> {
        let (Self::Output { secrets, .. } | Self::File { secrets, .. }) = self;
        let is_file = matches!(self, Self::File { .. });
        if secrets.is_empty() || is_file && !secrets.are_in(&String::from_utf8_lossy(bytes)) {
            return None;
        }
        let (budget, secrets) = (Budget::bytes(u64::MAX), Arc::clone(secrets));
        let mut text = Output::new(&Options { budget, keep_ansi: true, secrets, start_offset });
        text.push(Stream::Output, Seq(1), bytes);
        Some(text.finish(End::Closed).0.body())
    }

    /// The bytes that are no longer kept.
    pub(super) fn gap(&self) -> Option<Range<u64>> {
        match self {
            Self::Output { kept, .. } => kept.gap.map(|(from, to)| from..to),
            Self::File { .. } => None,
        }
    }

    /// The bytes of a range that are kept.
    pub(super) async fn read(&self, range: Range<u64>) -> Result<Vec<u8>, ErrorData> {
        let mut bytes = Vec::new();
        match self {
            Self::Output { client, output, .. } => {
                for part in outside(&range, self.gap()) {
                    let mut reader = client.read(*output, part.start, part.end);
                    while let Some(piece) = reader.next().await.map_err(failed)? {
                        bytes.extend_from_slice(&piece);
                    }
                }
            }
            Self::File { client, request, .. } => {
                let request =
                    ReadFileRequest { from_byte: range.start, to_byte: Some(range.end), ..request.clone() };
                let mut reader =
                    client.retry(|client| client.read_file(request.clone())).await.map_err(failed)?;
                while let Some(piece) = reader.next().await.map_err(failed)? {
                    bytes.extend_from_slice(&piece);
                }
            }
        }
        Ok(bytes)
    }
}

/// The parts of a range before and after a gap.
fn outside(range: &Range<u64>, gap: Option<Range<u64>>) -> Vec<Range<u64>> {
    let Some(gap) = gap else { return vec![range.clone()] };
    let before = range.start..range.end.min(gap.start);
    let after = range.start.max(gap.end)..range.end;
    [before, after].into_iter().filter(|part| part.start < part.end).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_is_left_out_of_a_range() {
        assert_eq!(outside(&(2..8), None), [Range { start: 2, end: 8 }]);
        assert_eq!(outside(&(2..8), Some(4..6)), [2..4, 6..8]);
        assert_eq!(outside(&(2..8), Some(0..6)), [Range { start: 6, end: 8 }]);
        assert_eq!(outside(&(2..8), Some(0..9)), []);
        assert_eq!(outside(&(2..8), Some(8..9)), [Range { start: 2, end: 8 }]);
    }
}

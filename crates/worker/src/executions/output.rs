//! Reads kept output over the contract, by byte ranges.

use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::{BoxStream, unfold};
use headwater_contract::{Fault, FaultKind, v1};
use headwater_protocol::Stream;
use tonic::Status;

use headwater_log::{Log, LogError};

use crate::terminals::redact::Redactor;

/// The response of `Read`.
pub(crate) type ReadStream = BoxStream<'static, Result<v1::ReadResponse, Status>>;

/// Which bytes are kept.
pub(crate) fn kept(log: &Log, request: &v1::KeptRequest) -> Result<v1::KeptResponse, Fault> {
    let kept = log.kept(stream(request.stream)?);
    Ok(v1::KeptResponse {
        end_byte: kept.end,
        gap_from_byte: kept.gap.0,
        gap_to_byte: kept.gap.1,
        closed: kept.closed,
        last_seq: kept.last_seq.0,
    })
}

/// The requested bytes, read as fast as the caller takes them. What the redactor hides is not sent.
pub(crate) fn read(
    log: &Arc<Log>,
    request: &v1::ReadRequest,
    redactor: Option<Redactor>,
) -> Result<ReadStream, Fault> {
    let bytes = log.bytes(stream(request.stream)?, request.from_byte, request.to_byte);
    let chunks = unfold(Some((bytes, request.from_byte, redactor)), async |state| {
        let (mut bytes, at, mut redactor) = state?;
        match bytes.read_next() {
            Ok(data) => {
                let data = data?;
                let next = at + data.len() as u64;
                let data = match &mut redactor {
                    Some(redactor) => redactor.redact(at, data),
                    None => data,
                };
                Some((Ok(v1::ReadResponse { data }), Some((bytes, next, redactor))))
            }
            Err(error) => Some((Err(Status::from(fault(&error))), None)),
        }
    });
    Ok(chunks.boxed())
}

/// The stream with this number; 0 means all streams.
fn stream(number: i32) -> Result<Option<Stream>, Fault> {
    if number == i32::from(v1::Stream::Unspecified) {
        return Ok(None);
    }
    headwater_contract::stream(number).map(Some)
}

fn fault(error: &LogError) -> Fault {
    if let LogError::NotKept { .. } = error {
        return Fault::new(FaultKind::Conflict, error.to_string()).hint("query again which bytes are kept");
    }
    Fault::new(FaultKind::Internal, format!("cannot read the log: {error}"))
}

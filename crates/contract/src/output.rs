//! Reading kept output by byte ranges, in large chunks, over any number of connections.

use bytes::Bytes;
use headwater_protocol::{ExecutionId, Seq, Stream};
use tonic::Streaming;

use crate::client::Client;
use crate::error::ContractError;
use crate::resume::ResumingStream;
use crate::v1;

type Result<T> = std::result::Result<T, ContractError>;

/// An execution's output, or one stream of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutputSelector {
    /// The id of the execution.
    pub id: ExecutionId,
    /// The stream; `None` means all, in the order in which their bytes were written.
    pub stream: Option<Stream>,
}

impl OutputSelector {
    fn stream(&self) -> i32 {
        self.stream.map_or(v1::Stream::Unspecified, v1::Stream::from).into()
    }
}

/// Which bytes of an output are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeptOutput {
    /// The number of bytes written, kept or not.
    pub end: u64,
    /// The range that is no longer kept, from its first byte to the byte after its last.
    pub gap: Option<(u64, u64)>,
    /// Whether the output is final.
    pub closed: bool,
    /// The newest event of the log.
    pub last_seq: Seq,
}

impl KeptOutput {
    /// How many bytes are kept.
    pub fn len(&self) -> u64 {
        self.end - self.gap.map_or(0, |(from, to)| to - from)
    }

    /// Whether no bytes are kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The positions in the stream of a range of the kept bytes: before the gap, after it, or on both sides.
    pub fn ranges(&self, from: u64, to: u64) -> Vec<(u64, u64)> {
        let Some((gap_from, gap_to)) = self.gap else {
            return Vec::from_iter((from < to).then_some((from, to)));
        };
        let after = |position: u64| position.max(gap_from) - gap_from + gap_to;
        let places = [(from.min(gap_from), to.min(gap_from)), (after(from), after(to))];
        places.into_iter().filter(|(from, to)| from < to).collect()
    }
}

/// A reader of a byte range.
#[derive(Debug)]
pub struct OutputReader {
    output: OutputSelector,
    from: u64,
    to: u64,
    pieces: ResumingStream<v1::ReadResponse>,
}

impl Client {
    /// Returns which bytes of an output are kept now.
    pub async fn kept(&self, output: OutputSelector) -> Result<KeptOutput> {
        let request = v1::KeptRequest { execution_id: output.id.to_string(), stream: output.stream() };
        let kept = self.raw().kept(request).await?.into_inner();
        let gap = (kept.gap_from_byte, kept.gap_to_byte);
        let is_sane = gap.0 <= gap.1 && gap.1 <= kept.end_byte;
        if !is_sane {
            return Err(ContractError::Malformed("the gap is outside the output".into()));
        }
        Ok(KeptOutput {
            end: kept.end_byte,
            gap: (gap.0 < gap.1).then_some(gap),
            closed: kept.closed,
            last_seq: Seq(kept.last_seq),
        })
    }

    /// Reads bytes `from..to` of an output; all of them must be kept.
    pub fn read(&self, output: OutputSelector, from: u64, to: u64) -> OutputReader {
        OutputReader { output, from, to, pieces: ResumingStream::new(self.clone(), None) }
    }
}

impl OutputReader {
    /// The next bytes; `None` after the last. Continues over a restart of the worker.
    pub async fn next(&mut self) -> Result<Option<Bytes>> {
        if self.from >= self.to {
            return Ok(None);
        }
        let (output, from, to) = (self.output, self.from, self.to);
        let piece = self.pieces.next(|client| open(client, output, from, to)).await?;
        let short = || ContractError::Malformed("the output is shorter than announced".into());
        let data = piece.ok_or_else(short)?.data;
        self.from += data.len() as u64;
        Ok(Some(data))
    }
}

async fn open(
    client: Client,
    output: OutputSelector,
    from_byte: u64,
    to_byte: u64,
) -> Result<Streaming<v1::ReadResponse>> {
    let (execution_id, stream) = (output.id.to_string(), output.stream());
    let request = v1::ReadRequest { execution_id, stream, from_byte, to_byte };
    Ok(client.raw().read(request).await?.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(end: u64, gap: Option<(u64, u64)>) -> KeptOutput {
        KeptOutput { end, gap, closed: true, last_seq: Seq(1) }
    }

    #[test]
    fn a_range_of_kept_bytes_lies_before_the_gap_or_after_it_or_on_both_sides() {
        let whole = kept(10, None);
        assert_eq!((whole.len(), whole.ranges(2, 5), whole.ranges(3, 3)), (10, vec![(2, 5)], vec![]));
        let torn = kept(100, Some((10, 90)));
        assert_eq!(torn.len(), 20);
        assert_eq!(torn.ranges(0, 20), [(0, 10), (90, 100)]);
        assert_eq!(torn.ranges(3, 10), [(3, 10)]);
        assert_eq!(torn.ranges(10, 12), [(90, 92)]);
        assert_eq!(torn.ranges(9, 11), [(9, 10), (90, 91)]);
        assert_eq!(kept(100, Some((0, 100))).ranges(0, 0), []);
        assert_eq!(kept(100, Some((0, 40))).ranges(0, 60), [(40, 100)]);
    }
}

//! Response bodies of files: cached ones, and ones that are still being downloaded.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use tokio::fs::File;
use tokio::io::AsyncReadExt;
use tokio::sync::watch;

use super::super::meter::{Meter, add};
use super::super::response::Body;
use super::downloads::Download;

/// The bytes of one read.
const READ_BYTES: usize = 64 * 1024;
/// The end of a file that is held back until its checksum was verified: a program that gets the whole file gets the
/// right one.
const HELD_BACK_BYTES: u64 = 64 * 1024;

/// The body of a cached file.
pub(super) fn complete(file: File, bytes: u64, meter: &Arc<Meter>) -> Body {
    let (_, download) = watch::channel(Download::Complete { bytes });
    growing(file, download, meter)
}

/// The body of a file that is being downloaded; it ends with an error if the download fails or the checksum differs.
pub(super) fn growing(file: File, download: watch::Receiver<Download>, meter: &Arc<Meter>) -> Body {
    let reader = Reader { file, download, at: 0, meter: Arc::clone(meter) };
    let chunks = stream::try_unfold(reader, async |mut reader| {
        let chunk = reader.next().await?;
        Ok(chunk.map(|chunk| (Frame::data(chunk), reader)))
    });
    StreamBody::new(chunks).boxed_unsync()
}

struct Reader {
    file: File,
    download: watch::Receiver<Download>,
    at: u64,
    meter: Arc<Meter>,
}

impl Reader {
    async fn next(&mut self) -> io::Result<Option<Bytes>> {
        let at = self.at;
        let now = self.download.wait_for(|now| readable_bytes(now) > at || is_finished(now)).await;
        let now = now.map_err(io::Error::other)?.clone();
        if let Download::Failed(refusal) = now {
            return Err(io::Error::other(refusal.message));
        }
        let length = usize::try_from(readable_bytes(&now) - at).unwrap_or(usize::MAX).min(READ_BYTES);
        if length == 0 {
            return Ok(None);
        }
        let mut chunk = vec![0; length];
        self.file.read_exact(&mut chunk).await?;
        self.at += length as u64;
        add(&self.meter.received, length);
        Ok(Some(chunk.into()))
    }
}

fn readable_bytes(now: &Download) -> u64 {
    match now {
        Download::Receiving { bytes, .. } => bytes.saturating_sub(HELD_BACK_BYTES),
        Download::Complete { bytes } => *bytes,
        Download::Requested | Download::Failed(_) => 0,
    }
}

fn is_finished(now: &Download) -> bool {
    matches!(now, Download::Complete { .. } | Download::Failed(_))
}

#[cfg(test)]
mod tests {
    use headwater_protocol::SessionId;

    use super::*;
    use crate::response::Refusal;

    #[tokio::test]
    async fn no_file_is_complete_before_its_checksum_matches() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let bytes = HELD_BACK_BYTES + 10;
        std::fs::write(&path, vec![7; usize::try_from(bytes).unwrap()]).unwrap();
        let meter = Arc::new(Meter::new(SessionId::random()));
        for valid in [true, false] {
            let here = Download::Receiving { draft: path.clone(), bytes, total: Some(bytes) };
            let (progress, download) = watch::channel(here);
            let mut body = growing(File::open(&path).await.unwrap(), download, &meter);
            let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
            assert_eq!(first.len(), 10);
            let end = if valid {
                Download::Complete { bytes }
            } else {
                Download::Failed(Refusal::upstream("another"))
            };
            progress.send_replace(end);
            let rest = body.collect().await;
            assert_eq!(rest.is_ok(), valid);
            if let Ok(rest) = rest {
                assert_eq!(rest.to_bytes().len() as u64, HELD_BACK_BYTES);
            }
        }
    }
}

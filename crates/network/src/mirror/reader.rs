//! Files on their way to a program: those that are there, and those that are still coming.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use tokio::fs::File;
use tokio::io::AsyncReadExt;
use tokio::sync::watch;

use super::super::answer::Body;
use super::super::meter::{Meter, add};
use super::files::Coming;

/// Read at once.
const PIECE: usize = 64 * 1024;
/// The end of a file that nobody gets before all of it is known to be good: a program that has it whole has it right.
const HELD_BACK: u64 = 64 * 1024;

/// A file that is there.
pub(super) fn whole(file: File, bytes: u64, meter: &Arc<Meter>) -> Body {
    let (_, coming) = watch::channel(Coming::Whole { bytes });
    growing(file, coming, meter)
}

/// A file that is coming: as much of it as may be had, and an error if it turns out to be something else.
pub(super) fn growing(file: File, coming: watch::Receiver<Coming>, meter: &Arc<Meter>) -> Body {
    let reader = Reader { file, coming, at: 0, meter: Arc::clone(meter) };
    let pieces = stream::try_unfold(reader, async |mut reader| {
        let piece = reader.next().await?;
        Ok(piece.map(|piece| (Frame::data(piece), reader)))
    });
    StreamBody::new(pieces).boxed_unsync()
}

struct Reader {
    file: File,
    coming: watch::Receiver<Coming>,
    at: u64,
    meter: Arc<Meter>,
}

impl Reader {
    async fn next(&mut self) -> io::Result<Option<Bytes>> {
        let at = self.at;
        let now = self.coming.wait_for(|now| may_be_had(now) > at || is_settled(now)).await;
        let now = now.map_err(io::Error::other)?.clone();
        if let Coming::Failed(why) = now {
            return Err(io::Error::other(why.to_string()));
        }
        let length = usize::try_from(may_be_had(&now) - at).unwrap_or(usize::MAX).min(PIECE);
        if length == 0 {
            return Ok(None);
        }
        let mut piece = vec![0; length];
        self.file.read_exact(&mut piece).await?;
        self.at += length as u64;
        add(&self.meter.received, length);
        Ok(Some(piece.into()))
    }
}

fn may_be_had(now: &Coming) -> u64 {
    match now {
        Coming::Here { bytes, .. } => bytes.saturating_sub(HELD_BACK),
        Coming::Whole { bytes } => *bytes,
        Coming::Asked | Coming::Failed(_) => 0,
    }
}

fn is_settled(now: &Coming) -> bool {
    matches!(now, Coming::Whole { .. } | Coming::Failed(_))
}

#[cfg(test)]
mod tests {
    use headwater_protocol::SessionId;

    use super::*;

    #[tokio::test]
    async fn no_file_is_complete_before_its_checksum_matches() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let bytes = HELD_BACK + 10;
        std::fs::write(&path, vec![7; usize::try_from(bytes).unwrap()]).unwrap();
        let meter = Arc::new(Meter::new(SessionId::random()));
        for good in [true, false] {
            let here = Coming::Here { draft: path.clone(), bytes, total: Some(bytes) };
            let (told, coming) = watch::channel(here);
            let mut body = growing(File::open(&path).await.unwrap(), coming, &meter);
            let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
            assert_eq!(first.len(), 10);
            let end = if good { Coming::Whole { bytes } } else { Coming::Failed("another".into()) };
            told.send_replace(end);
            let rest = body.collect().await;
            assert_eq!(rest.is_ok(), good);
            if let Ok(rest) = rest {
                assert_eq!(rest.to_bytes().len() as u64, HELD_BACK);
            }
        }
    }
}

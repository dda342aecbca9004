//! Far more output than is kept: the beginning, a stated gap, the end, each exact.

use anyhow::Result;
use headwater_protocol::{Limits, Reason, StartSpec, Stream};
use headwater_tests::collect_until_closed;

use crate::{scale, worker};

const KEPT: u64 = 64 << 20;
const SLACK: u64 = 2 << 20;
/// Ten digits and a newline: the place of every byte is known.
const LINE: u64 = 11;

/// What stands from this byte on in the numbers from 1,000,000,000 on.
fn is_numbers(from: u64, bytes: &[u8]) -> bool {
    let mut at = from;
    let mut left = bytes;
    while !left.is_empty() {
        let line = format!("{}\n", 1_000_000_000 + at / LINE);
        let Some(wanted) = line.as_bytes().get(usize::try_from(at % LINE).unwrap_or(0)..) else {
            return false;
        };
        let length = wanted.len().min(left.len());
        if left[..length] != wanted[..length] {
            return false;
        }
        at += length as u64;
        left = &left[length..];
    }
    true
}

#[tokio::test]
async fn a_flood_through_a_small_limit_keeps_head_and_tail_exact() -> Result<()> {
    // 10 GiB at a scale of 40.
    let lines = (256 << 20) * scale() / LINE;
    let worker = worker().await?;
    let last = 1_000_000_000 + lines - 1;
    let mut spec = StartSpec::argv(["seq", "1000000000", &last.to_string()]);
    spec.limits = Limits { output_bytes: Some(KEPT), ..Limits::default() };
    let id = worker.begin(&spec).await?;
    let info = worker.client().await?.wait(id, std::time::Duration::from_mins(9), true).await?;
    let total = lines * LINE;
    assert_eq!(
        info.state.verdict().map(|verdict| (verdict.reason, verdict.code)),
        Some((Reason::Exited, Some(0)))
    );
    assert_eq!(info.stdout_bytes, total);
    // Read when all is over: the head, one gap, the tail.
    let mut follower = worker.client().await?.follow(id, collect_until_closed()).await?;
    let (mut at, mut gaps, mut kept) = (0, Vec::new(), 0);
    while let Some(event) = follower.next().await? {
        match event.kind {
            headwater_protocol::EventKind::Output { stream, offset, bytes } => {
                assert_eq!((stream, offset), (Stream::Stdout, at));
                assert!(is_numbers(at, &bytes), "wrong bytes in the {} from {at} on", bytes.len());
                at += bytes.len() as u64;
                kept += bytes.len() as u64;
            }
            headwater_protocol::EventKind::Gap { from_byte, to_byte, .. } => {
                assert_eq!(from_byte, at);
                gaps.push(to_byte - from_byte);
                at = to_byte;
            }
            _ => {}
        }
    }
    assert_eq!((at, gaps.len()), (total, 1));
    // Old output is dropped in steps, so a little more than asked for may be there.
    assert!((KEPT / 2..=KEPT + SLACK).contains(&kept), "{kept} bytes are kept");
    // And on the disk there is no more than that, roughly.
    let log = worker
        .data()
        .join("sessions")
        .join(info.session_id.to_string())
        .join("executions")
        .join(id.to_string());
    let blocks = std::os::unix::fs::MetadataExt::blocks(&std::fs::metadata(log.join("stdout"))?);
    assert!(blocks * 512 <= KEPT + SLACK, "{} bytes on the disk", blocks * 512);
    Ok(())
}

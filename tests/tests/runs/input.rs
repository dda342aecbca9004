//! Input: none, given bytes of any size, or bytes written while the program runs.

use anyhow::Result;
use bytes::Bytes;
use headwater_contract::FaultKind;
use headwater_protocol::{Reason, SessionSpec, SessionState, StartSpec, Stdin};
use headwater_tests::host::eventually;

use crate::{refused, worker};

/// Bytes without a short period.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x9E37_79B9_u32;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state.to_le_bytes()[1]
    };
    std::iter::repeat_with(&mut next).take(length).collect()
}

fn cat(stdin: Stdin) -> StartSpec {
    let mut spec = StartSpec::argv(["cat"]);
    spec.stdin = stdin;
    spec
}

#[tokio::test]
async fn without_input_a_program_reads_the_end_at_once() -> Result<()> {
    let worker = worker().await?;
    let seen = worker.run(&cat(Stdin::None)).await?;
    assert_eq!((seen.stdout.len(), seen.verdict().code), (0, Some(0)));
    Ok(())
}

#[tokio::test]
async fn given_input_of_any_size_is_read_to_its_end() -> Result<()> {
    let worker = worker().await?;
    for length in [0, 1, 5, 65_536, 65_537, 1 << 20, (1 << 20) + 1, 3 << 20] {
        let bytes = noise(length);
        let seen = worker.run(&cat(Stdin::Given(Bytes::from(bytes.clone())))).await?;
        assert!(seen.stdout == bytes, "{} of {length} bytes came back", seen.stdout.len());
        assert_eq!(seen.verdict().reason, Reason::Exited);
    }
    Ok(())
}

#[tokio::test]
async fn given_input_can_be_opened_again_by_name() -> Result<()> {
    let worker = worker().await?;
    for length in [5, 3 << 20] {
        let mut spec = StartSpec::shell("wc -c < /dev/stdin");
        spec.stdin = Stdin::Given(Bytes::from(noise(length)));
        let seen = worker.run(&spec).await?;
        assert_eq!(seen.text().trim(), length.to_string(), "{}", seen.errors());
    }
    Ok(())
}

#[tokio::test]
async fn a_program_that_does_not_read_its_input_ends_all_the_same() -> Result<()> {
    let worker = worker().await?;
    let mut spec = StartSpec::shell("exit 3");
    spec.stdin = Stdin::Given(Bytes::from(noise(3 << 20)));
    assert_eq!(worker.run(&spec).await?.verdict().code, Some(3));
    Ok(())
}

#[tokio::test]
async fn open_input_is_read_as_it_is_written_until_its_end_is_sent() -> Result<()> {
    let worker = worker().await?;
    let id = worker.begin(&cat(Stdin::Open)).await?;
    let mut watcher = worker.watch(id).await?;
    let mut stdin = worker.client().await?.stdin(id).await?;
    stdin.write("one\n".into()).await?;
    watcher.until_printed("one\n").await?;
    stdin.write("two\n".into()).await?;
    watcher.until_printed("two\n").await?;
    assert_eq!(stdin.offset(), 8);
    stdin.end().await?;
    let seen = watcher.rest().await?;
    assert_eq!((seen.text().as_str(), seen.verdict().code), ("one\ntwo\n", Some(0)));
    Ok(())
}

#[tokio::test]
async fn a_chunk_that_is_sent_again_is_read_once() -> Result<()> {
    let worker = worker().await?;
    let id = worker.begin(&cat(Stdin::Open)).await?;
    let client = worker.client().await?;
    let mut stdin = client.stdin(id).await?;
    stdin.write("abc".into()).await?;
    let mut again = client.stdin(id).await?;
    assert_eq!(again.offset(), 3);
    again.write_again(0, "abcdef".into()).await?;
    again.write_again(3, "def".into()).await?;
    again.end().await?;
    assert_eq!(worker.read(id).await?.text(), "abcdef");
    let fault = refused(client.stdin(id).await);
    assert_eq!(fault.kind, FaultKind::Conflict);
    Ok(())
}

#[tokio::test]
async fn large_open_input_passes_through_a_slow_reader() -> Result<()> {
    let worker = worker().await?;
    let mut spec = StartSpec::shell("sleep 0.2; md5sum");
    spec.stdin = Stdin::Open;
    let id = worker.begin(&spec).await?;
    let mut stdin = worker.client().await?.stdin(id).await?;
    for _ in 0..5 {
        stdin.write(Bytes::from(vec![b'x'; 1 << 20])).await?;
    }
    stdin.end().await?;
    // md5 of 5 MiB of `x`.
    let seen = worker.read(id).await?;
    assert_eq!(stdin.offset(), 5 << 20);
    assert!(seen.text().starts_with(MD5_OF_5_MIB_OF_X), "{}", seen.text());
    Ok(())
}

const MD5_OF_5_MIB_OF_X: &str = "4f08eef4096726bff1125e1b1b734644";

#[tokio::test]
async fn writing_to_a_program_without_open_input_is_refused() -> Result<()> {
    let worker = worker().await?;
    let id = worker.begin(&StartSpec::shell("sleep 100")).await?;
    let fault = refused(worker.client().await?.stdin(id).await);
    assert_eq!(fault.kind, FaultKind::Conflict);
    assert!(fault.hint.is_some_and(|hint| hint.contains("open")));
    Ok(())
}

#[tokio::test]
async fn ending_the_input_of_a_program_that_has_just_ended_succeeds() -> Result<()> {
    let worker = worker().await?;
    let client = worker.client().await?;
    for (one_shot, tty) in [(false, false), (true, false), (false, true), (true, true)] {
        let session = SessionSpec { one_shot, ..SessionSpec::default() };
        let session = client.create_session(None, &session).await?.id;
        let mut spec = StartSpec::shell("read word; echo $word");
        spec.stdin = Stdin::Open;
        spec.tty = tty.then(Default::default);
        let id = worker.begin_in(session, &spec).await?;
        let mut stdin = client.stdin(id).await?;
        stdin.write("word\n".into()).await?;
        // The bytes were taken and the program is over before the end is said, as it may be with `printf ... | run`.
        let seen = worker.read(id).await?;
        assert_eq!(seen.verdict().code, Some(0), "{}", seen.errors());
        eventually("a one-shot session ends", async || {
            !one_shot || client.session(session).await.is_ok_and(|info| info.state != SessionState::Ready)
        })
        .await?;
        stdin.end().await?;
    }
    Ok(())
}

//! Large files go through in bounded memory.

use anyhow::{Context, Result, ensure};
use headwater_tests::Fixture;
use headwater_tests::host::memory;
use headwater_tests::http::json_of;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::calls::Files;

const BYTES: usize = 100 << 20;
const PIECE: usize = 1 << 20;
/// What gateway and worker may need more for it: far less than the file.
const MORE_BYTES: u64 = 48 << 20;

/// A piece of the file: no two are the same.
fn piece(n: usize) -> Vec<u8> {
    (0..PIECE / 8)
        .flat_map(|at| ((n * PIECE + at) as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).to_le_bytes())
        .collect()
}

#[tokio::test]
async fn a_hundred_mebibytes_are_written_and_read_in_bounded_memory() -> Result<()> {
    let fixture = Fixture::new().await?;
    json_of(&fixture.write("warm", &piece(0)).await?, 201)?;
    let pids = [fixture.server.pid(), fixture.server.worker_pid().await?];
    let peak = || -> Result<u64> { Ok(memory(pids[0], "VmHWM")? + memory(pids[1], "VmHWM")?) };
    let before = peak()?;
    let head = |method: &str, length: usize| {
        format!(
            "{method} {} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n",
            fixture.route("/content?path=large"),
            fixture.server.address(),
            fixture.server.token()
        )
    };
    let mut stream = TcpStream::connect(fixture.server.address()).await?;
    stream.write_all(head("PUT", BYTES).as_bytes()).await?;
    for n in 0..BYTES / PIECE {
        stream.write_all(&piece(n)).await?;
    }
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    ensure!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    let mut stream = TcpStream::connect(fixture.server.address()).await?;
    stream.write_all(head("GET", 0).as_bytes()).await?;
    let mut got = Vec::new();
    while !got.windows(4).any(|four| four == b"\r\n\r\n") {
        ensure!(stream.read_buf(&mut got).await? > 0, "no head");
    }
    let end = got.windows(4).position(|four| four == b"\r\n\r\n").context("no head")? + 4;
    got.drain(..end);
    for n in 0..BYTES / PIECE {
        while got.len() < PIECE {
            ensure!(stream.read_buf(&mut got).await? > 0, "it ends in piece {n}");
        }
        ensure!(got[..PIECE] == piece(n), "piece {n} is another one");
        got.drain(..PIECE);
    }
    ensure!(got.is_empty() && stream.read_buf(&mut got).await? == 0, "more than all came");
    let more = peak()?.saturating_sub(before);
    ensure!(more < MORE_BYTES, "it took {more} bytes more");
    Ok(())
}

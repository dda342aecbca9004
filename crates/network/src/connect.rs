//! Opens a tunnel through the operator's proxy (CONNECT).

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::target::Target;
use super::upstream::Proxy;

/// How long the proxy may take to connect to the host.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The longest head of a response.
const MAX_HEAD_BYTES: usize = 16 << 10;
/// The longest reason of a refusal that is passed on, in characters.
const MAX_REASON_CHARS: usize = 100;

/// Why a proxy opened no tunnel.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectError {
    /// It answered with this status.
    #[error("{status} {reason}")]
    Refused {
        /// The status.
        status: u16,
        /// The text after the status.
        reason: String,
    },
    /// It did not answer, or not in HTTP.
    #[error("{0}")]
    Broken(#[from] io::Error),
}

/// Asks the proxy at the other end of the stream for a tunnel to the target.
pub(crate) async fn tunnel(
    mut stream: TcpStream,
    proxy: &Proxy,
    target: &Target,
) -> Result<TcpStream, ConnectError> {
    let asked = tokio::time::timeout(TIMEOUT, ask(&mut stream, proxy, target)).await;
    asked.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
    Ok(stream)
}

async fn ask(stream: &mut TcpStream, proxy: &Proxy, target: &Target) -> Result<(), ConnectError> {
    let mut request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n").into_bytes();
    if let Some(authorization) = &proxy.authorization {
        request.extend_from_slice(b"Proxy-Authorization: ");
        request.extend_from_slice(authorization.as_bytes());
        request.extend_from_slice(b"\r\n");
    }
    request.extend_from_slice(b"\r\n");
    stream.write_all(&request).await?;
    // Byte by byte, since what follows belongs to the tunnel; a head has a few hundred of them.
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() >= MAX_HEAD_BYTES {
            return Err(io::Error::from(io::ErrorKind::InvalidData).into());
        }
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8_lossy(&head);
    let line = head.lines().next().unwrap_or_default();
    let (status, reason) = status_line(line).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))?;
    if (200..300).contains(&status) { Ok(()) } else { Err(ConnectError::Refused { status, reason }) }
}

/// The status of `HTTP/1.1 407 Proxy Authentication Required`, and its reason.
fn status_line(line: &str) -> Option<(u16, String)> {
    let rest = line.strip_prefix("HTTP/1.")?.get(2..)?;
    let (status, reason) = rest.split_once(' ').unwrap_or((rest, ""));
    let reason = reason.chars().filter(|c| !c.is_control()).take(MAX_REASON_CHARS).collect();
    Some((status.parse().ok()?, reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_line_is_read_and_nothing_else() {
        assert_eq!(
            status_line("HTTP/1.1 200 Connection established"),
            Some((200, "Connection established".into()))
        );
        assert_eq!(status_line("HTTP/1.0 407 Go\u{1b}[2J away"), Some((407, "Go[2J away".into())));
        assert_eq!(status_line("HTTP/1.1 503"), Some((503, String::new())));
        for line in ["", "HTTP/2 200", "SSH-2.0", "HTTP/1.1 abc", "HTTP/1."] {
            assert_eq!(status_line(line), None, "{line}");
        }
    }
}

//! A minimal WebSocket server with a PTY, for comparison: no walls, no log, no store, one client. It runs as
//! a separate process and prints its port to standard output.

use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};
use futures_util::{SinkExt, StreamExt};
use rustix::io::Errno;
use tokio::io::unix::AsyncFd;
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use super::http::Http;
use super::socket::Socket;
use crate::relay::terminal;

/// The name of the hidden command that runs the server.
pub const COMMAND: &str = "socket-relay";

/// A running server.
#[derive(Debug)]
pub struct MinimalServer {
    child: Child,
    address: String,
}

impl MinimalServer {
    /// Starts a server with an idle terminal, or with one that shows a file after the first message.
    pub fn start(show: Option<&Path>) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg(COMMAND).args(show).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().context("starting the minimal server")?;
        let mut address = String::new();
        let said = child.stdout.take().context("no pipe")?;
        BufReader::new(said).read_line(&mut address)?;
        Ok(Self { child, address: address.trim().to_owned() })
    }

    /// Opens the only connection that it accepts.
    pub async fn connect(&self) -> Result<Socket> {
        Socket::open(Http::connect(&self.address, "none").await?, "/").await
    }
}

impl Drop for MinimalServer {
    fn drop(&mut self) {
        // It ends by itself with its connection; this is for one that does not.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs the server.
pub fn serve(show: Option<PathBuf>) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let mut out = io::stdout();
        writeln!(out, "{}", listener.local_addr()?)?;
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let mut socket = tokio_tungstenite::accept_async(stream).await?;
        let (master, slave) = terminal()?;
        let flags = rustix::fs::fcntl_getfl(&master)?;
        rustix::fs::fcntl_setfl(&master, flags | rustix::fs::OFlags::NONBLOCK)?;
        #[expect(
            deprecated,
            reason = "the sound one is unsafe: a descriptor of its own type needs no promise"
        )]
        let master = AsyncFd::new(master)?;
        let Some(path) = show else {
            relay(&mut socket, &master).await?;
            drop(slave); // kept until here: a terminal without an open slave does not echo
            return Ok(());
        };
        socket.next().await; // the first message means that the client is ready
        let mut child = Command::new("/bin/cat").arg(path).stdout(Stdio::from(slave)).spawn()?;
        relay(&mut socket, &master).await?;
        socket.close(None).await?;
        child.wait()?;
        Ok(())
    })
}

async fn relay(socket: &mut WebSocketStream<TcpStream>, master: &AsyncFd<OwnedFd>) -> Result<()> {
    let mut buffer = vec![0; 64 << 10];
    loop {
        tokio::select! {
            ready = master.readable() => {
                let read = ready?.try_io(|master| Ok(rustix::io::read(master, &mut buffer)?));
                match read {
                    Err(_) => {} // nothing was there after all
                    Ok(Ok(0)) => return Ok(()),
                    Ok(Ok(n)) => socket.send(Message::Binary(buffer[..n].to_vec().into())).await?,
                    Ok(Err(error)) if error.raw_os_error() == Some(Errno::IO.raw_os_error()) => return Ok(()),
                    Ok(Err(error)) => return Err(error.into()),
                }
            }
            message = socket.next() => match message {
                Some(Ok(Message::Binary(typed))) => {
                    rustix::io::write(master, &typed)?;
                }
                Some(Ok(Message::Close(_)) | Err(_)) | None => return Ok(()),
                Some(Ok(_)) => {}
            },
        }
    }
}

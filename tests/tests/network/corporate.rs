//! A proxy as companies have them: the only way out, with a password, and with an opinion about hosts.

use std::sync::{Arc, Mutex};

use anyhow::Result;
use base64::Engine;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A name that only the proxy knows.
pub(crate) const FAR: &str = "far.test";
pub(crate) const USER: &str = "worker";
pub(crate) const PASSWORD: &str = "s3cr:et";

/// A proxy on this machine, which remembers what it was asked.
#[derive(Debug)]
pub(crate) struct Corporate {
    pub(crate) port: u16,
    asked: Arc<Mutex<Vec<String>>>,
    serving: JoinHandle<()>,
}

impl Corporate {
    /// Leads `far.test` to these ports of this machine, for HTTP and for TLS.
    pub(crate) async fn new(http: u16, tls: u16) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let heads = Arc::clone(&asked);
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&heads), http, tls));
            }
        });
        Ok(Self { port, asked, serving })
    }

    /// Its URL with this password, as a user writes it.
    pub(crate) fn url(&self, password: &str) -> String {
        format!("http://{USER}:{}@127.0.0.1:{}", password.replace(':', "%3A"), self.port)
    }

    /// The first lines of all requests that had the right password.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

impl Drop for Corporate {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn serve(mut stream: TcpStream, asked: Arc<Mutex<Vec<String>>>, http: u16, tls: u16) -> Option<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let words = base64::engine::general_purpose::STANDARD.encode(format!("{USER}:{PASSWORD}"));
    let right = format!("proxy-authorization: basic {}", words.to_lowercase());
    let first = head.lines().next()?.to_owned();
    let answer =
        |status: &str| format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    if !head.to_lowercase().contains(&right) {
        return stream.write_all(answer("407 Proxy Authentication Required").as_bytes()).await.ok();
    }
    asked.lock().unwrap().push(first.clone());
    if !first.contains(FAR) {
        return stream.write_all(answer("403 Not on the list").as_bytes()).await.ok();
    }
    if first.starts_with("CONNECT ") {
        let mut host = TcpStream::connect(("127.0.0.1", tls)).await.ok()?;
        stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await.ok()?;
        tokio::io::copy_bidirectional(&mut stream, &mut host).await.ok()?;
        return Some(());
    }
    // The whole URL becomes a path.
    let mut host = TcpStream::connect(("127.0.0.1", http)).await.ok()?;
    let head = head.replacen(&format!("http://{FAR}:80"), "", 1).replacen(&format!("http://{FAR}"), "", 1);
    let own = |line: &&str| !line.to_lowercase().starts_with("proxy-authorization:");
    let head: String = head.split_inclusive("\r\n").filter(own).collect();
    host.write_all(head.as_bytes()).await.ok()?;
    tokio::io::copy_bidirectional(&mut stream, &mut host).await.ok()?;
    Some(())
}

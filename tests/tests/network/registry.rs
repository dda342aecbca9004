//! A small registry on this machine's loopback device, which remembers what it was asked.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use anyhow::Result;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A name that leads to it, by the worker's configuration.
pub(crate) const NAME: &str = "registry.test";

/// Downloads below this path never end.
pub(crate) const SLOW: &str = "/slow/";

#[derive(Debug, Default)]
struct Inside {
    /// Type and body by path.
    things: HashMap<String, (String, Vec<u8>)>,
    /// The heads of all requests.
    asked: Vec<String>,
}

/// A registry; it ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Registry {
    pub(crate) port: u16,
    inside: Arc<Mutex<Inside>>,
    serving: JoinHandle<()>,
}

impl Registry {
    pub(crate) async fn new() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        let inside = Arc::new(Mutex::new(Inside::default()));
        let shared = Arc::clone(&inside);
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let shared = Arc::clone(&shared);
                tokio::spawn(async move { serve(stream, &shared).await });
            }
        });
        Ok(Self { port, inside, serving })
    }

    /// A URL of it, by its name.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{NAME}:{}{path}", self.port)
    }

    /// Adds a page or a file.
    pub(crate) fn put(&self, path: &str, kind: &str, body: impl Into<Vec<u8>>) {
        self.inside.lock().unwrap().things.insert(path.to_owned(), (kind.to_owned(), body.into()));
    }

    /// The heads of all requests so far.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.inside.lock().unwrap().asked.clone()
    }

    /// How often a path was asked for.
    pub(crate) fn count(&self, path: &str) -> usize {
        let wanted = format!("GET {path} ");
        self.asked().iter().filter(|head| head.starts_with(&wanted)).count()
    }

    /// Stops it.
    pub(crate) async fn stop(self) {
        self.serving.abort();
        // Cancelled, which is what was asked for; its port is free when this is over.
        while !self.serving.is_finished() {
            tokio::task::yield_now().await;
        }
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// One request, one answer.
async fn serve(mut stream: TcpStream, shared: &Mutex<Inside>) -> Option<()> {
    let mut head = Vec::new();
    let mut byte = [0; 1];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).await.ok()?;
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let path = head.split(' ').nth(1)?.to_owned();
    let found = {
        let mut inside = shared.lock().unwrap();
        inside.asked.push(head);
        inside.things.get(&path).cloned()
    };
    let (status, (kind, body)) = match found {
        Some(thing) => ("200 OK", thing),
        None => ("404 Not Found", ("text/plain".into(), b"nothing".to_vec())),
    };
    let answer = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\netag: \"one\"\r\nconnection: close\r\n\
         keep-alive: 7\r\n\r\n",
        body.len()
    );
    if path.starts_with(SLOW) {
        // The first half, and then nothing for as long as anybody waits.
        stream.write_all(&[answer.as_bytes(), &body[..body.len() / 2]].concat()).await.ok()?;
        std::future::pending::<()>().await;
    }
    stream.write_all(&[answer.as_bytes(), &body].concat()).await.ok()?;
    stream.shutdown().await.ok()
}

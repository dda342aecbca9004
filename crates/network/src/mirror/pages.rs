//! Pages: what an index tells of a package, changed so that its files are asked for here.
//!
//! A page is kept with the addresses and checksums of its files, for a short time as it is, and after that asked for again
//! (by its tag, so that one that has not changed costs little). A registry that does not answer leaves what there is.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use headwater_contract::KeyedLock;
use headwater_limits::permits::OwnerTurns;
use hyper::HeaderMap;
use reqwest::header::{ACCEPT, CONTENT_TYPE, ETAG, HeaderValue, IF_NONE_MATCH};
use reqwest::{Response, StatusCode, Url};
use serde::{Deserialize, Serialize};

use super::super::answer::Refusal;
use super::super::meter::Seldom;
use super::checksum::Checksum;
use super::fetch::{Fetch, FetchError};
use super::store::Store;

/// How long a page is taken for what the index says.
const FRESH: Duration = Duration::from_mins(1);
/// The longest page.
const PAGE_BYTES: usize = 64 << 20;
/// Pages that are fetched and taken apart at once: each takes some of the worker's memory.
const AT_ONCE: usize = 6;
/// The same of one owner.
const OF_OWNER: usize = 2;

/// A file of a package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    /// Where it comes from.
    pub url: String,
    /// What it must be.
    pub checksum: Checksum,
}

/// The files of a package, by name.
pub(super) type Entries = BTreeMap<String, Entry>;

/// A page taken apart: what is shown, in JSON and, where there is such a form, in HTML, and its files.
#[derive(Debug, Default)]
pub(super) struct Apart {
    pub json: Vec<u8>,
    pub html: Vec<u8>,
    pub entries: Entries,
}

/// What takes a page apart: its address, its type, itself, and the package's name.
type TakeApart = fn(&Url, &str, &[u8], &str) -> Result<Apart, String>;

/// Where a page comes from and what it is made into.
pub(super) struct Source {
    pub url: Url,
    pub accept: &'static str,
    pub read: TakeApart,
    /// The package, as it is called in paths of the mirror.
    pub name: String,
}

/// The first line of a page as it is kept; JSON and HTML follow it.
#[derive(Debug, Serialize, Deserialize)]
struct Header {
    etag: Option<String>,
    json_bytes: u64,
    entries: Entries,
}

/// A form of a page that is kept: read from the disk while it is sent, since pages can be long and programs slow.
#[derive(Debug)]
pub(super) struct Page {
    pub file: File,
    pub bytes: u64,
}

impl Page {
    /// In JSON.
    pub(super) fn json(mut file: BufReader<File>) -> io::Result<Self> {
        let (header, at) = read_header(&mut file)?;
        Self::part(file, at, Some(header.json_bytes))
    }

    /// In HTML.
    pub(super) fn html(mut file: BufReader<File>) -> io::Result<Self> {
        let (header, at) = read_header(&mut file)?;
        Self::part(file, at + header.json_bytes, None)
    }

    /// Its files only.
    pub(super) fn entries(mut file: BufReader<File>) -> io::Result<Entries> {
        Ok(read_header(&mut file)?.0.entries)
    }

    fn part(file: BufReader<File>, at: u64, bytes: Option<u64>) -> io::Result<Self> {
        let mut file = file.into_inner();
        let left = file.metadata()?.len().saturating_sub(at);
        file.seek(SeekFrom::Start(at))?;
        Ok(Self { file, bytes: bytes.unwrap_or(left).min(left) })
    }
}

/// The header, and where what follows it begins.
fn read_header(file: &mut BufReader<File>) -> io::Result<(Header, u64)> {
    let mut line = Vec::new();
    file.read_until(b'\n', &mut line)?;
    Ok((serde_json::from_slice(&line)?, line.len() as u64))
}

/// The pages of the mirror.
#[derive(Debug)]
pub(super) struct Pages {
    fetch: Arc<Fetch>,
    store: Arc<Store>,
    locks: KeyedLock<String>,
    taking_apart: OwnerTurns,
    told: Seldom,
}

impl Pages {
    pub(super) fn new(fetch: Arc<Fetch>, store: Arc<Store>) -> Self {
        Self {
            fetch,
            store,
            locks: KeyedLock::default(),
            taking_apart: OwnerTurns::new(AT_ONCE, OF_OWNER),
            told: Seldom::default(),
        }
    }

    /// A page, or the part of it that `read` takes.
    pub(super) async fn get<T: Send + 'static>(
        &self,
        owner: &str,
        source: &Source,
        read: fn(BufReader<File>) -> io::Result<T>,
    ) -> Result<T, Refusal> {
        // Another registry is another page.
        let key = blake3::hash(format!("{}\n{}", source.url, source.accept).as_bytes()).to_hex().to_string();
        // Those of one owner wait for each other: nobody waits for a page behind all that another owner asked for.
        let _lock = self.locks.lock(format!("{owner}\n{key}")).await;
        let old = self.tag(&key).await;
        if !matches!(old, Some(Kept { fresh: true, .. })) {
            self.renew(owner, &key, source, old).await?;
        }
        let path = self.store.page(&key);
        let lost = |error: io::Error| {
            tracing::error!(%error, "a page of packages cannot be read");
            Refusal::upstream("the mirror cannot read what it keeps")
        };
        let taken = tokio::task::spawn_blocking(move || read(BufReader::new(File::open(path)?))).await;
        taken.map_err(io::Error::other).and_then(|taken| taken).map_err(lost)
    }

    /// What is kept, if anything is.
    async fn tag(&self, key: &str) -> Option<Kept> {
        let path = self.store.page(key);
        let look = move || {
            let file = File::open(path).ok()?;
            let age = file.metadata().ok()?.modified().ok()?.elapsed();
            let (header, _) = read_header(&mut BufReader::new(file)).ok()?;
            Some(Kept { etag: header.etag, fresh: age.is_ok_and(|age| age < FRESH) })
        };
        tokio::task::spawn_blocking(look).await.ok().flatten()
    }

    /// Asks the index again. A page that is kept does as long as the index does not say that it is gone.
    async fn renew(&self, owner: &str, key: &str, source: &Source, old: Option<Kept>) -> Result<(), Refusal> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static(source.accept));
        let etag = old.as_ref().and_then(|old| HeaderValue::from_str(old.etag.as_deref()?).ok());
        if let Some(etag) = etag {
            headers.insert(IF_NONE_MATCH, etag);
        }
        let failed = match self.fetch.get(&source.url, headers).await {
            Ok(response) => match response.status() {
                StatusCode::OK => match self.take(owner, key, source, response).await {
                    Ok(()) => return Ok(()),
                    Err(error) => error,
                },
                StatusCode::NOT_MODIFIED if old.is_some() => {
                    let path = self.store.page(key);
                    let touch =
                        move || File::options().append(true).open(path).map(|file| Store::touch(&file));
                    let _ = tokio::task::spawn_blocking(touch).await; // else it is asked for again
                    return Ok(());
                }
                StatusCode::NOT_FOUND | StatusCode::GONE => {
                    return Err(Refusal::missing(format!("the registry knows no package `{}`", source.name)));
                }
                status => FetchError::new(format!("the registry answers with {status}")),
            },
            Err(error) => error,
        };
        if self.told.may() {
            let kept = old.is_some();
            tracing::warn!(package = source.name, error = %failed, kept, "a registry does not serve a page");
        }
        if old.is_some() {
            return Ok(());
        }
        Err(Refusal::upstream(format!(
            "the registry cannot tell of `{}`: it cannot be reached or answers nonsense",
            source.name
        )))
    }

    /// Takes a page apart and keeps it.
    async fn take(
        &self,
        owner: &str,
        key: &str,
        source: &Source,
        mut response: Response,
    ) -> Result<(), FetchError> {
        let text = |name| response.headers().get(name).and_then(|value: &HeaderValue| value.to_str().ok());
        let etag = text(ETAG).map(str::to_owned);
        let kind = text(CONTENT_TYPE).unwrap_or_default().to_owned();
        let url = response.url().clone();
        let turn = self.taking_apart.turn(owner).await;
        let _turn = turn.map_err(|error| FetchError::new(error.to_string()))?;
        let mut bytes = BytesMut::new();
        while let Some(part) =
            response.chunk().await.map_err(|error| FetchError::new(error.without_url().to_string()))?
        {
            if bytes.len() + part.len() > PAGE_BYTES {
                return Err(FetchError::new("the page is too long"));
            }
            bytes.extend_from_slice(&part);
        }
        let (read, name) = (source.read, source.name.clone());
        let (store, place) = (Arc::clone(&self.store), self.store.page(key));
        let keep = move || {
            let Apart { json, html, entries } = read(&url, &kind, &bytes, &name)?;
            let header = Header { etag, json_bytes: json.len() as u64, entries };
            let header = serde_json::to_vec(&header).map_err(|error| error.to_string())?;
            let write = || {
                let (path, mut file) = store.draft()?;
                for part in [&header, &b"\n".to_vec(), &json, &html] {
                    file.write_all(part)?;
                }
                store.keep(&path, &place)
            };
            write().map_err(|error| format!("it cannot be kept: {error}"))
        };
        let kept = tokio::task::spawn_blocking(keep).await.map_err(|error| error.to_string());
        kept.and_then(|kept| kept).map_err(FetchError::new)
    }
}

/// What is known of a page that is kept.
struct Kept {
    etag: Option<String>,
    fresh: bool,
}

//! Pages: the index entry of a package, with the URLs of its files rewritten to the mirror.
//!
//! A page is cached with the URLs and checksums of its files. It is fresh for a short time and then revalidated (by
//! its entity tag, so an unchanged page costs little). If the registry does not answer, the cached page is used.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use headwater_contract::KeyedLock;
use headwater_limits::permits::OwnerPermits;
use hyper::HeaderMap;
use reqwest::header::{ACCEPT, CONTENT_TYPE, ETAG, HeaderValue, IF_NONE_MATCH};
use reqwest::{Response, StatusCode, Url};
use serde::{Deserialize, Serialize};

use super::super::meter::LogThrottle;
use super::super::response::Refusal;
use super::checksum::Checksum;
use super::fetch::{FetchError, Fetcher};
use super::store::Store;

/// How long a cached page is used without asking the index.
const FRESH_FOR: Duration = Duration::from_mins(1);
/// The largest page.
const MAX_PAGE_BYTES: usize = 64 << 20;
/// Pages that are fetched and parsed at once: each takes some of the worker's memory.
const MAX_PARSES: usize = 6;
/// Pages that are fetched and parsed at once for one owner.
const MAX_PARSES_PER_OWNER: usize = 2;

/// A file of a package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    /// Its URL at the registry.
    pub url: String,
    /// The checksum that the index gives.
    pub checksum: Checksum,
}

/// The files of a package, by name.
pub(super) type Entries = BTreeMap<String, Entry>;

/// A parsed page: its rewritten form in JSON and, for Python, in HTML, and its files.
#[derive(Debug, Default)]
pub(super) struct ParsedPage {
    pub json: Vec<u8>,
    pub html: Vec<u8>,
    pub entries: Entries,
}

/// Parses a page: takes its URL, its content type, its bytes and the name of the package.
type ParsePage = fn(&Url, &str, &[u8], &str) -> Result<ParsedPage, String>;

/// Where a page comes from and how it is parsed.
pub(super) struct Source {
    pub url: Url,
    pub accept: &'static str,
    pub parse: ParsePage,
    /// The name of the package in paths of the mirror.
    pub name: String,
    /// The setting that names the registry.
    pub setting: &'static str,
}

/// The first line of a cached page; JSON and HTML follow it.
#[derive(Debug, Serialize, Deserialize)]
struct Header {
    etag: Option<String>,
    json_bytes: u64,
    entries: Entries,
}

/// One form of a cached page: read from the disk while it is sent, since pages can be large and programs slow.
#[derive(Debug)]
pub(super) struct Page {
    pub file: File,
    pub bytes: u64,
}

impl Page {
    /// The whole JSON form in memory; only for small pages.
    pub(super) fn bytes(file: BufReader<File>) -> io::Result<Vec<u8>> {
        use std::io::Read;
        let Self { file, bytes } = Self::json(file)?;
        let mut all = Vec::new();
        file.take(bytes).read_to_end(&mut all)?;
        Ok(all)
    }

    /// The JSON form.
    pub(super) fn json(mut file: BufReader<File>) -> io::Result<Self> {
        let (header, at) = read_header(&mut file)?;
        Self::part(file, at, Some(header.json_bytes))
    }

    /// The HTML form.
    pub(super) fn html(mut file: BufReader<File>) -> io::Result<Self> {
        let (header, at) = read_header(&mut file)?;
        Self::part(file, at + header.json_bytes, None)
    }

    /// The files of the page.
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

/// The header, and the offset of the byte after it.
fn read_header(file: &mut BufReader<File>) -> io::Result<(Header, u64)> {
    let mut line = Vec::new();
    file.read_until(b'\n', &mut line)?;
    Ok((serde_json::from_slice(&line)?, line.len() as u64))
}

/// The pages of the mirror.
#[derive(Debug)]
pub(super) struct Pages {
    fetcher: Arc<Fetcher>,
    store: Arc<Store>,
    locks: KeyedLock<String>,
    parse_permits: OwnerPermits,
    log_throttle: LogThrottle,
}

impl Pages {
    pub(super) fn new(fetcher: Arc<Fetcher>, store: Arc<Store>) -> Self {
        Self {
            fetcher,
            store,
            locks: KeyedLock::default(),
            parse_permits: OwnerPermits::new(MAX_PARSES, MAX_PARSES_PER_OWNER),
            log_throttle: LogThrottle::default(),
        }
    }

    /// A page, or the part of it that `read` returns.
    pub(super) async fn get<T: Send + 'static>(
        &self,
        owner: &str,
        source: &Source,
        read: fn(BufReader<File>) -> io::Result<T>,
    ) -> Result<T, Refusal> {
        // The URL contains the registry: another registry's page of the same package is another page.
        let key = blake3::hash(format!("{}\n{}", source.url, source.accept).as_bytes()).to_hex().to_string();
        // Requests of one owner wait for each other, and not for those of other owners.
        let _lock = self.locks.lock(format!("{owner}\n{key}")).await;
        let old = self.cached(&key).await;
        let is_fresh = matches!(old, Some(CachedPage { fresh: true, .. }));
        self.store.counter.count(is_fresh);
        if !is_fresh {
            self.refresh(owner, &key, source, old).await?;
        }
        let path = self.store.page(&key);
        let lost = |error: io::Error| {
            tracing::error!(%error, "cannot read a cached page");
            Refusal::upstream("the mirror cannot read its cache")
        };
        let taken = tokio::task::spawn_blocking(move || read(BufReader::new(File::open(path)?))).await;
        taken.map_err(io::Error::other).and_then(|taken| taken).map_err(lost)
    }

    /// The cached page, if there is one.
    async fn cached(&self, key: &str) -> Option<CachedPage> {
        let path = self.store.page(key);
        let read = move || {
            let file = File::open(path).ok()?;
            let age = file.metadata().ok()?.modified().ok()?.elapsed();
            let (header, _) = read_header(&mut BufReader::new(file)).ok()?;
            Some(CachedPage { etag: header.etag, fresh: age.is_ok_and(|age| age < FRESH_FOR) })
        };
        tokio::task::spawn_blocking(read).await.ok().flatten()
    }

    /// Asks the index again. If that fails, a cached page stays valid, unless the index says that the package is gone.
    async fn refresh(
        &self,
        owner: &str,
        key: &str,
        source: &Source,
        old: Option<CachedPage>,
    ) -> Result<(), Refusal> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static(source.accept));
        let etag = old.as_ref().and_then(|old| HeaderValue::from_str(old.etag.as_deref()?).ok());
        if let Some(etag) = etag {
            headers.insert(IF_NONE_MATCH, etag);
        }
        let failed = match self.fetcher.get(&source.url, headers).await {
            Ok(response) => match response.status() {
                StatusCode::OK => match self.receive(owner, key, source, response).await {
                    Ok(()) => return Ok(()),
                    Err(error) => error,
                },
                StatusCode::NOT_MODIFIED if old.is_some() => {
                    let path = self.store.page(key);
                    let touch =
                        move || File::options().append(true).open(path).map(|file| Store::touch(&file));
                    let _ = tokio::task::spawn_blocking(touch).await; // else it is revalidated again
                    return Ok(());
                }
                StatusCode::NOT_FOUND | StatusCode::GONE => {
                    return Err(Refusal::missing(format!("the registry has no package `{}`", source.name)));
                }
                status => FetchError::new(answered(status, source.setting)),
            },
            Err(error) => error,
        };
        if self.log_throttle.allows() {
            let kept = old.is_some();
            tracing::warn!(package = source.name, error = %failed, kept, "cannot fetch a page from a registry");
        }
        if old.is_some() {
            return Ok(());
        }
        Err(Refusal::upstream(format!("cannot get `{}`: {}", source.name, failed.shown())))
    }

    /// Receives, parses and caches a page.
    async fn receive(
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
        let permit = self.parse_permits.acquire(owner).await;
        let _permit = permit.map_err(|error| FetchError::new(error.to_string()))?;
        let mut bytes = BytesMut::new();
        while let Some(part) = response.chunk().await.map_err(FetchError::of)? {
            if bytes.len() + part.len() > MAX_PAGE_BYTES {
                return Err(FetchError::new("the page is too large"));
            }
            bytes.extend_from_slice(&part);
        }
        let (parse, name) = (source.parse, source.name.clone());
        let (store, path) = (Arc::clone(&self.store), self.store.page(key));
        let keep = move || {
            let ParsedPage { json, html, entries } = parse(&url, &kind, &bytes, &name)?;
            let header = Header { etag, json_bytes: json.len() as u64, entries };
            let header = serde_json::to_vec(&header).map_err(|error| error.to_string())?;
            let write = || {
                let (draft, mut file) = store.draft()?;
                for part in [&header, &b"\n".to_vec(), &json, &html] {
                    file.write_all(part)?;
                }
                store.keep(&draft, &path)
            };
            write().map_err(|error| format!("cannot write to the package cache: {error}"))
        };
        let kept = tokio::task::spawn_blocking(keep).await.map_err(|error| error.to_string());
        kept.and_then(|kept| kept).map_err(FetchError::new)
    }
}

/// The reason for a status that is neither success nor absence.
fn answered(status: StatusCode, setting: &str) -> String {
    let remedy = match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            format!("; the operator can put a user name and a password into `{setting}`")
        }
        StatusCode::PROXY_AUTHENTICATION_REQUIRED => return Refusal::proxy_credentials().message,
        _ => String::new(),
    };
    format!("the registry answers with {status}{remedy}")
}

/// What is known of a cached page.
struct CachedPage {
    etag: Option<String>,
    fresh: bool,
}

//! Files of packages: the worker downloads each one once, verifies it meanwhile, and caches it under its checksum.
//!
//! Requests for a file that is being downloaded read along ([`reader`](super::reader)). The last part is held back
//! until the checksum of the whole file was found to match.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use headwater_limits::permits::{OwnerPermit, OwnerPermits};
use hyper::header::CONTENT_LENGTH;
use hyper::{HeaderMap, Response, StatusCode};
use reqwest::Url;
use tokio::io::AsyncWriteExt;
use tokio::sync::watch;

use super::super::meter::LogThrottle;
use super::super::outlet::Connection;
use super::super::response::{Body, Refusal, with_type};
use super::checksum::Checksum;
use super::fetch::{FetchError, Fetcher};
use super::pages::Entry;
use super::reader;
use super::store::Store;

/// Downloads at the same time.
const MAX_DOWNLOADS: usize = 16;
/// Downloads of one owner at the same time: it takes four owners with slow downloads to delay the others.
const MAX_DOWNLOADS_PER_OWNER: usize = 4;

/// The progress of a download.
#[derive(Debug, Clone)]
pub(super) enum Download {
    /// The registry has not answered yet.
    Requested,
    /// The draft has this many bytes.
    Receiving { draft: PathBuf, bytes: u64, total: Option<u64> },
    /// The file is complete and its checksum matches.
    Complete { bytes: u64 },
    /// Why the download failed.
    Failed(Refusal),
}

/// Downloads of package files into the cache of the mirror.
#[derive(Debug)]
pub(super) struct Downloads {
    fetcher: Arc<Fetcher>,
    store: Arc<Store>,
    running: Mutex<HashMap<Checksum, watch::Receiver<Download>>>,
    permits: OwnerPermits,
    log_throttle: LogThrottle,
}

impl Downloads {
    pub(super) fn new(fetcher: Arc<Fetcher>, store: Arc<Store>) -> Self {
        Self {
            fetcher,
            store,
            running: Mutex::default(),
            permits: OwnerPermits::new(MAX_DOWNLOADS, MAX_DOWNLOADS_PER_OWNER),
            log_throttle: LogThrottle::default(),
        }
    }

    /// Answers with a file.
    pub(super) async fn get(
        self: &Arc<Self>,
        connection: &Connection,
        entry: Option<&Entry>,
    ) -> Result<Response<Body>, Refusal> {
        let entry = entry.ok_or_else(|| Refusal::missing("the package has no such file"))?;
        let cached = self.cached(&entry.checksum).await;
        self.store.counter.count(cached.is_some());
        if let Some((file, bytes)) = cached {
            return Ok(answer(reader::complete(file, bytes, &connection.meter), Some(bytes)));
        }
        let mut download = if let Some(download) = self.download_of(&entry.checksum) {
            download
        } else {
            // Waits behind other requests of its owner, and only while the program waits.
            let permit = self.permits.acquire(&connection.owner).await.map_err(|_| stopping())?;
            self.start_download(entry, permit)
        };
        let first = download.wait_for(|now| !matches!(now, Download::Requested)).await.map(|now| now.clone());
        match first.map_err(|_| stopping())? {
            Download::Receiving { draft, total, .. } => {
                // It may have been moved into the cache meanwhile.
                let file = match tokio::fs::File::open(&draft).await {
                    Ok(file) => file,
                    Err(_) => tokio::fs::File::open(self.path(&entry.checksum)).await.map_err(lost)?,
                };
                Ok(answer(reader::growing(file, download, &connection.meter), total))
            }
            Download::Complete { .. } => {
                let (file, bytes) =
                    self.cached(&entry.checksum).await.ok_or_else(|| lost(io::ErrorKind::NotFound.into()))?;
                Ok(answer(reader::complete(file, bytes, &connection.meter), Some(bytes)))
            }
            Download::Failed(refusal) => Err(refusal),
            Download::Requested => Err(Refusal::upstream("the download did not start")),
        }
    }

    fn path(&self, checksum: &Checksum) -> PathBuf {
        self.store.file(&checksum.to_string())
    }

    /// A file in the cache.
    async fn cached(&self, checksum: &Checksum) -> Option<(tokio::fs::File, u64)> {
        let path = self.path(checksum);
        let open = move || {
            let file = File::open(path).ok()?;
            Store::touch(&file);
            let bytes = file.metadata().ok()?.len();
            Some((tokio::fs::File::from_std(file), bytes))
        };
        tokio::task::spawn_blocking(open).await.ok().flatten()
    }

    /// The download of this file, if one is running.
    fn download_of(&self, checksum: &Checksum) -> Option<watch::Receiver<Download>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).get(checksum).cloned()
    }

    /// Starts a download, or joins the one that is running. It is completed even if no request waits for it any more.
    fn start_download(self: &Arc<Self>, entry: &Entry, permit: OwnerPermit) -> watch::Receiver<Download> {
        let mut all = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(download) = all.get(&entry.checksum) {
            return download.clone();
        }
        let (progress, download) = watch::channel(Download::Requested);
        all.insert(entry.checksum.clone(), download.clone());
        let (files, entry) = (Arc::clone(self), entry.clone());
        tokio::spawn(async move {
            let _permit = permit;
            let end = match files.fetch(&entry, &progress).await {
                Ok(bytes) => Download::Complete { bytes },
                Err(refusal) => {
                    let missing = refusal.status == StatusCode::NOT_FOUND;
                    if !missing && files.log_throttle.allows() {
                        let why = &refusal.message;
                        tracing::warn!(checksum = %entry.checksum, why, "cannot cache a file of a package");
                    }
                    Download::Failed(refusal)
                }
            };
            files.running.lock().unwrap_or_else(PoisonError::into_inner).remove(&entry.checksum);
            progress.send_replace(end);
        });
        download
    }

    async fn fetch(&self, entry: &Entry, progress: &watch::Sender<Download>) -> Result<u64, Refusal> {
        let store = Arc::clone(&self.store);
        let draft = tokio::task::spawn_blocking(move || store.draft()).await;
        let (draft, file) = draft.map_err(io::Error::other).and_then(|draft| draft).map_err(cannot_keep)?;
        let fetched = self.receive(entry, progress, &draft, tokio::fs::File::from_std(file)).await;
        let (store, path) = (Arc::clone(&self.store), self.path(&entry.checksum));
        let finish = move || match fetched {
            Ok(bytes) => store.keep(&draft, &path).map(|()| bytes).map_err(cannot_keep),
            Err(why) => {
                let _ = fs::remove_file(&draft); // else the next worker removes it
                Err(why)
            }
        };
        tokio::task::spawn_blocking(finish).await.map_err(|_| stopping())?
    }

    /// Fetches a file into a draft and checks it.
    async fn receive(
        &self,
        entry: &Entry,
        progress: &watch::Sender<Download>,
        draft: &Path,
        mut file: tokio::fs::File,
    ) -> Result<u64, Refusal> {
        let no_url = |_| Refusal::upstream("the index has no valid URL for the file");
        let url: Url = entry.url.parse().map_err(no_url)?;
        let failed = |error: FetchError| {
            tracing::debug!(%error, "cannot download a file of a package");
            Refusal::upstream(error.shown())
        };
        let mut response = self.fetcher.get(&url, HeaderMap::new()).await.map_err(failed)?;
        match response.status() {
            StatusCode::OK => {}
            StatusCode::NOT_FOUND | StatusCode::GONE => {
                return Err(Refusal::missing("the registry has no such file"));
            }
            StatusCode::PROXY_AUTHENTICATION_REQUIRED => return Err(Refusal::proxy_credentials()),
            status => return Err(Refusal::upstream(format!("the registry answers with {status}"))),
        }
        let total = response.content_length();
        let mut hasher = entry.checksum.hasher();
        let mut bytes = 0;
        loop {
            if bytes.max(total.unwrap_or(0)) > self.store.limit() {
                let why =
                    "the file is larger than the package cache: the operator can raise `packages.cache`";
                return Err(Refusal::upstream(why));
            }
            progress.send_replace(Download::Receiving { draft: draft.to_owned(), bytes, total });
            let closed = |_| Refusal::upstream("the registry closed the connection");
            let part = response.chunk().await.map_err(closed)?;
            let Some(part) = part else { break };
            hasher.update(&part);
            file.write_all(&part).await.map_err(cannot_keep)?;
            file.flush().await.map_err(cannot_keep)?;
            bytes += part.len() as u64;
        }
        if hasher.finish() != entry.checksum || total.is_some_and(|total| total != bytes) {
            return Err(Refusal::upstream("the checksum of the file differs from the one in the index"));
        }
        Ok(bytes)
    }
}

fn stopping() -> Refusal {
    Refusal::upstream("the worker is stopping")
}

fn answer(body: Body, length: Option<u64>) -> Response<Body> {
    let mut response = with_type(StatusCode::OK, "application/octet-stream", "");
    if let Some(length) = length {
        response.headers_mut().insert(CONTENT_LENGTH, length.into());
    }
    response.map(|_| body)
}

#[allow(clippy::needless_pass_by_value)] // the signature that `map_err` needs
fn cannot_keep(error: io::Error) -> Refusal {
    tracing::error!(%error, "cannot write to the package cache");
    Refusal::upstream("the mirror cannot store the file; the operator can check the disk of the data folder")
}

#[allow(clippy::needless_pass_by_value)]
fn lost(error: io::Error) -> Refusal {
    tracing::error!(%error, "cannot read from the package cache");
    Refusal::upstream("the mirror cannot read its cache")
}

//! Files: each is fetched once, by the worker, checked while it comes, and kept under its checksum.
//!
//! Whoever asks while it is on its way reads along ([`reader`](super::reader)), up to the last part, which nobody gets before
//! the whole of it was found to be what the index says.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use headwater_limits::permits::{OwnerTurn, OwnerTurns};
use hyper::header::CONTENT_LENGTH;
use hyper::{HeaderMap, Response, StatusCode};
use reqwest::Url;
use tokio::io::AsyncWriteExt;
use tokio::sync::watch;

use super::super::answer::{Body, Refusal, with_type};
use super::super::meter::Seldom;
use super::super::outlet::Visit;
use super::checksum::Checksum;
use super::fetch::Fetch;
use super::pages::Entry;
use super::reader;
use super::store::Store;

/// Files that are fetched at once.
const AT_ONCE: usize = 16;
/// The same of those that one owner asked for first: four owners with slow downloads keep nobody else waiting.
const OF_OWNER: usize = 4;

/// How far a file has come.
#[derive(Debug, Clone)]
pub(super) enum Coming {
    /// Nothing is known yet.
    Asked,
    /// So much of it is in the draft.
    Here { draft: PathBuf, bytes: u64, total: Option<u64> },
    /// All of it, and it is what it must be.
    Whole { bytes: u64 },
    /// It is not to be had.
    Failed(Arc<str>),
}

/// The files of the mirror.
#[derive(Debug)]
pub(super) struct Files {
    fetch: Arc<Fetch>,
    store: Arc<Store>,
    coming: Mutex<HashMap<Checksum, watch::Receiver<Coming>>>,
    turns: OwnerTurns,
    told: Seldom,
}

impl Files {
    pub(super) fn new(fetch: Arc<Fetch>, store: Arc<Store>) -> Self {
        Self {
            fetch,
            store,
            coming: Mutex::default(),
            turns: OwnerTurns::new(AT_ONCE, OF_OWNER),
            told: Seldom::default(),
        }
    }

    /// Answers with a file.
    pub(super) async fn get(
        self: &Arc<Self>,
        visit: &Visit,
        entry: Option<&Entry>,
    ) -> Result<Response<Body>, Refusal> {
        let entry = entry.ok_or_else(|| Refusal::missing("the package has no such file"))?;
        if let Some((file, bytes)) = self.kept(&entry.checksum).await {
            return Ok(answer(reader::whole(file, bytes, &visit.meter), Some(bytes)));
        }
        let mut coming = if let Some(coming) = self.on_its_way(&entry.checksum) {
            coming
        } else {
            // It waits among the others of its owner, and only for as long as the program does.
            let turn = self.turns.turn(&visit.owner).await.map_err(|_| stopping())?;
            self.fetched(entry, turn)
        };
        let first = coming.wait_for(|now| !matches!(now, Coming::Asked)).await.map(|now| now.clone());
        match first.map_err(|_| stopping())? {
            Coming::Here { draft, total, .. } => {
                // Moved to its place meanwhile, perhaps.
                let file = match tokio::fs::File::open(&draft).await {
                    Ok(file) => file,
                    Err(_) => tokio::fs::File::open(self.place(&entry.checksum)).await.map_err(lost)?,
                };
                Ok(answer(reader::growing(file, coming, &visit.meter), total))
            }
            Coming::Whole { .. } => {
                let (file, bytes) =
                    self.kept(&entry.checksum).await.ok_or_else(|| lost(io::ErrorKind::NotFound.into()))?;
                Ok(answer(reader::whole(file, bytes, &visit.meter), Some(bytes)))
            }
            Coming::Failed(why) => Err(Refusal::upstream(why.to_string())),
            Coming::Asked => Err(Refusal::upstream("the file does not come")),
        }
    }

    fn place(&self, checksum: &Checksum) -> PathBuf {
        self.store.file(&checksum.to_string())
    }

    /// A file that is there.
    async fn kept(&self, checksum: &Checksum) -> Option<(tokio::fs::File, u64)> {
        let path = self.place(checksum);
        let open = move || {
            let file = File::open(path).ok()?;
            Store::touch(&file);
            let bytes = file.metadata().ok()?.len();
            Some((tokio::fs::File::from_std(file), bytes))
        };
        tokio::task::spawn_blocking(open).await.ok().flatten()
    }

    /// A file that is on its way.
    fn on_its_way(&self, checksum: &Checksum) -> Option<watch::Receiver<Coming>> {
        self.coming.lock().unwrap_or_else(PoisonError::into_inner).get(checksum).cloned()
    }

    /// A file that is on its way, or set on its way by this. It comes to its end also when nobody waits any more.
    fn fetched(self: &Arc<Self>, entry: &Entry, turn: OwnerTurn) -> watch::Receiver<Coming> {
        let mut all = self.coming.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(coming) = all.get(&entry.checksum) {
            return coming.clone();
        }
        let (told, coming) = watch::channel(Coming::Asked);
        all.insert(entry.checksum.clone(), coming.clone());
        let (files, entry) = (Arc::clone(self), entry.clone());
        tokio::spawn(async move {
            let _turn = turn;
            let end = match files.fetch(&entry, &told).await {
                Ok(bytes) => Coming::Whole { bytes },
                Err(why) => {
                    if files.told.may() {
                        tracing::warn!(checksum = %entry.checksum, why, "a file of a package is not kept");
                    }
                    Coming::Failed(why.into())
                }
            };
            files.coming.lock().unwrap_or_else(PoisonError::into_inner).remove(&entry.checksum);
            told.send_replace(end);
        });
        coming
    }

    async fn fetch(&self, entry: &Entry, told: &watch::Sender<Coming>) -> Result<u64, String> {
        let store = Arc::clone(&self.store);
        let draft = tokio::task::spawn_blocking(move || store.draft()).await;
        let (draft, file) = draft.map_err(io::Error::other).and_then(|draft| draft).map_err(cannot_keep)?;
        let fetched = self.fill(entry, told, &draft, tokio::fs::File::from_std(file)).await;
        let (store, place) = (Arc::clone(&self.store), self.place(&entry.checksum));
        let settle = move || match fetched {
            Ok(bytes) => store.keep(&draft, &place).map(|()| bytes).map_err(cannot_keep),
            Err(why) => {
                let _ = fs::remove_file(&draft); // else the next worker does
                Err(why)
            }
        };
        tokio::task::spawn_blocking(settle).await.map_err(|error| error.to_string())?
    }

    /// Fetches a file into a draft and checks it.
    async fn fill(
        &self,
        entry: &Entry,
        told: &watch::Sender<Coming>,
        draft: &Path,
        mut file: tokio::fs::File,
    ) -> Result<u64, String> {
        let url: Url = entry.url.parse().map_err(|_| "the index gives no good address for the file")?;
        let mut response = self.fetch.get(&url, HeaderMap::new()).await.map_err(|error| {
            tracing::debug!(%error, "a file of a package cannot be fetched");
            "the registry does not answer".to_owned()
        })?;
        if response.status() != StatusCode::OK {
            return Err(format!("the registry answers with {}", response.status()));
        }
        let total = response.content_length();
        let mut check = entry.checksum.begin();
        let mut bytes = 0;
        loop {
            if bytes.max(total.unwrap_or(0)) > self.store.limit() {
                return Err("the file is larger than the cache of packages: raise `packages.cache`".into());
            }
            told.send_replace(Coming::Here { draft: draft.to_owned(), bytes, total });
            let part = response.chunk().await.map_err(|_| "the registry broke off")?;
            let Some(part) = part else { break };
            check.update(&part);
            file.write_all(&part).await.map_err(cannot_keep)?;
            file.flush().await.map_err(cannot_keep)?;
            bytes += part.len() as u64;
        }
        if check.finish() != entry.checksum || total.is_some_and(|total| total != bytes) {
            return Err("the file is not what the index says it is: its checksum is another".into());
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

#[allow(clippy::needless_pass_by_value)] // as `map_err` gives it
fn cannot_keep(error: io::Error) -> String {
    tracing::error!(%error, "the cache of packages cannot be written");
    "the mirror cannot keep the file".to_owned()
}

#[allow(clippy::needless_pass_by_value)]
fn lost(error: io::Error) -> Refusal {
    tracing::error!(%error, "the cache of packages cannot be read");
    Refusal::upstream("the mirror cannot read what it keeps")
}

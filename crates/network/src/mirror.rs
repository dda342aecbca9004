//! The mirror: a cache of packages for all sessions, fetched by the worker.
//!
//! A session names a package and a file of it, never a URL or a checksum: those come from the index that the operator
//! configured. The checksum of a file is verified during the download ([`downloads`]), and the file is cached under it. So
//! a session cannot change what others get; its requests only decide which files are cached already.
//!
//! | path | what |
//! | --- | --- |
//! | `/pypi/simple/NAME/` | the files of a Python package (PEP 503, 691) |
//! | `/pypi/files/NAME/FILE` | one of them, or its metadata (`FILE.metadata`, PEP 658) |
//! | `/npm/NAME` | the versions of an npm package |
//! | `/npm/NAME/-/FILE` | one of them |
//! | `/cargo/config.json`, `/cargo/ab/cd/NAME` | the sparse index of Rust crates |
//! | `/cargo/crates/NAME/VERSION/download` | the file of a crate |
//! | `/go/...`, `/maven/...`, `/debian/...` | files that the package manager itself checks ([`passthrough`]) |
//! | `/-/refused?since=SECONDS` | why requests of this session were refused, for programs that do not show it |

mod cargo;
mod checksum;
mod downloads;
mod fetch;
mod html;
mod npm;
mod pages;
mod passthrough;
mod pypi;
mod reader;
mod request;
mod store;

use std::path::PathBuf;
use std::sync::Arc;

use headwater_contract::v1::CacheUsage;
use hyper::body::Incoming;
use hyper::header::{ACCEPT, CONTENT_LENGTH};
use hyper::{Method, Request, Response, StatusCode};
use reqwest::Url;

use super::dial::Dialler;
use super::outlet::Connection;
use super::response::{Body, Refusal, text, whole, with_type};
use crate::config::PackagesConfig;
use cargo::Cargo;
use downloads::Downloads;
use fetch::Fetcher;
use npm::Npm;
use pages::{Page, Pages};
use passthrough::{Kind, Wanted};
use pypi::Pypi;
use request::{MirrorRequest, parse_path};
use store::Store;

/// The registries and the cache.
#[derive(Debug)]
pub(crate) struct Mirror {
    pypi: Option<Pypi>,
    npm: Option<Npm>,
    cargo: Option<Cargo>,
    /// The registries whose files are passed on.
    passed: Vec<(Kind, Url)>,
    pages: Pages,
    downloads: Arc<Downloads>,
    store: Arc<Store>,
}

impl Mirror {
    pub(crate) fn new(config: &PackagesConfig, dialler: Dialler, folder: PathBuf) -> Self {
        let store = Arc::new(Store::new(folder, config.cache_bytes));
        let passed =
            Kind::ALL.into_iter().filter_map(|kind| Some((kind, registry_of(config, kind)?.clone())));
        let passed: Vec<_> = passed.collect();
        let others = [&config.python_index, &config.npm_registry, &config.cargo_index].into_iter().flatten();
        let registries = others.chain(passed.iter().map(|(_, url)| url)).cloned().collect();
        let fetch = Arc::new(Fetcher::new(dialler, registries));
        Self {
            cargo: config.cargo_index.clone().map(Cargo::new),
            passed,
            pypi: config.python_index.clone().map(Pypi::new),
            npm: config.npm_registry.clone().map(Npm::new),
            pages: Pages::new(Arc::clone(&fetch), Arc::clone(&store)),
            downloads: Arc::new(Downloads::new(fetch, Arc::clone(&store))),
            store,
        }
    }

    /// The look-ups and the size of the cache. Blocks.
    pub(crate) fn cache_usage(&self) -> CacheUsage {
        self.store.usage()
    }

    /// Answers a request to the mirror.
    pub(crate) async fn answer(
        &self,
        connection: &Connection,
        request: &Request<Incoming>,
    ) -> Result<Response<Body>, Refusal> {
        let head = match *request.method() {
            Method::GET => false,
            Method::HEAD => true,
            _ => {
                let refusal = "the package mirror is read-only";
                return Err(Refusal { status: StatusCode::METHOD_NOT_ALLOWED, message: refusal.into() });
            }
        };
        if request.uri().path() == REFUSED {
            return Ok(refused(connection, request.uri().query()));
        }
        let wanted = parse_path(request.uri().path())
            .ok_or_else(|| Refusal::missing("the package mirror has nothing at this path"))?;
        let accept: Vec<_> =
            request.headers().get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).collect();
        let response = self.find(connection, wanted, &accept.join(", ")).await?;
        Ok(if head { without_body(response) } else { response })
    }

    async fn find(
        &self,
        connection: &Connection,
        wanted: MirrorRequest<'_>,
        accept: &str,
    ) -> Result<Response<Body>, Refusal> {
        match wanted {
            MirrorRequest::NpmPing => Ok(with_type(StatusCode::OK, "application/json", "{}")),
            MirrorRequest::PypiPage(name) => {
                let source = self.pypi()?.source(name)?;
                if pypi::wants_json(accept) {
                    return Ok(page_response(
                        connection,
                        self.pages.get(&connection.owner, &source, Page::json).await?,
                        pypi::JSON,
                    ));
                }
                Ok(page_response(
                    connection,
                    self.pages.get(&connection.owner, &source, Page::html).await?,
                    pypi::HTML,
                ))
            }
            MirrorRequest::PypiFile(name, file) => {
                let entries =
                    self.pages.get(&connection.owner, &self.pypi()?.source(name)?, Page::entries).await?;
                self.downloads.get(connection, entries.get(file)).await
            }
            MirrorRequest::NpmPage(name) => {
                let page =
                    self.pages.get(&connection.owner, &self.npm()?.source(&name, accept), Page::json).await?;
                Ok(page_response(connection, page, npm::content_type(accept)))
            }
            MirrorRequest::NpmFile(name, file) => {
                let entries = self
                    .pages
                    .get(&connection.owner, &self.npm()?.source(&name, npm::SHORT), Page::entries)
                    .await?;
                self.downloads.get(connection, entries.get(file)).await
            }
            MirrorRequest::CargoConfig => {
                self.cargo()?;
                Ok(with_type(StatusCode::OK, "application/json", cargo::own_config()))
            }
            MirrorRequest::CargoPage(name) => {
                let page =
                    self.pages.get(&connection.owner, &self.cargo()?.source(name)?, Page::json).await?;
                Ok(page_response(connection, page, "text/plain"))
            }
            MirrorRequest::CargoFile(name, version) => {
                let (owner, cargo) = (&connection.owner, self.cargo()?);
                let entries = self.pages.get(owner, &cargo.source(name)?, Page::entries).await?;
                let config = self.pages.get(owner, &cargo.config_source(), Page::bytes).await?;
                self.downloads.get(connection, cargo::file(&config, &entries, name, version).as_ref()).await
            }
            MirrorRequest::Passed(kind, path) => self.pass_on(connection, kind, path).await,
        }
    }

    async fn pass_on(
        &self,
        connection: &Connection,
        kind: Kind,
        path: &str,
    ) -> Result<Response<Body>, Refusal> {
        let registry = self.passed.iter().find(|(other, _)| *other == kind).map(|(_, url)| url);
        let off = || Refusal::missing(format!("no registry is configured (`{}`)", kind.setting()));
        let invalid = || Refusal::missing("the package mirror has nothing at this path");
        match passthrough::wanted(kind, registry.ok_or_else(off)?, path).ok_or_else(invalid)? {
            Wanted::File(entry) => self.downloads.get(connection, Some(&entry)).await,
            Wanted::Page(source) => {
                let page = self.pages.get(&connection.owner, &source, Page::json).await?;
                Ok(page_response(connection, page, "application/octet-stream"))
            }
        }
    }

    fn cargo(&self) -> Result<&Cargo, Refusal> {
        let off = || Refusal::missing("no index of Rust crates is configured (`packages.cargo_index`)");
        self.cargo.as_ref().ok_or_else(off)
    }

    fn pypi(&self) -> Result<&Pypi, Refusal> {
        let off = || Refusal::missing("no index of Python packages is configured (`packages.python_index`)");
        self.pypi.as_ref().ok_or_else(off)
    }

    fn npm(&self) -> Result<&Npm, Refusal> {
        let off = || Refusal::missing("no registry of npm packages is configured (`packages.npm_registry`)");
        self.npm.as_ref().ok_or_else(off)
    }
}

/// The registry of a kind.
const fn registry_of(config: &PackagesConfig, kind: Kind) -> Option<&Url> {
    match kind {
        Kind::Go => config.go_proxy.as_ref(),
        Kind::Maven => config.maven_repository.as_ref(),
        Kind::Debian => config.debian_mirror.as_ref(),
    }
}

/// The path at which a session finds out why its requests were refused.
const REFUSED: &str = "/-/refused";

/// The refusals of the session since the second that the query names, one in each line.
fn refused(connection: &Connection, query: Option<&str>) -> Response<Body> {
    let since = query.and_then(|query| query.strip_prefix("since=")?.parse().ok()).unwrap_or(0);
    let lines = connection.meter.refusals(since).into_iter().map(|message| format!("headwater: {message}\n"));
    text(StatusCode::OK, &lines.collect::<String>())
}

/// A response with a page.
fn page_response(connection: &Connection, page: Page, kind: &'static str) -> Response<Body> {
    let Page { file, bytes } = page;
    let mut response = with_type(StatusCode::OK, kind, "");
    response.headers_mut().insert(CONTENT_LENGTH, bytes.into());
    response.map(|_| reader::complete(file.into(), bytes, &connection.meter))
}

/// The same response to HEAD.
fn without_body(response: Response<Body>) -> Response<Body> {
    response.map(|_| whole(""))
}

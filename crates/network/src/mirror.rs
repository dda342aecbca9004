//! The mirror: packages for all sessions, fetched by the worker itself.
//!
//! A session names a package and a file of it, never an address or a checksum: those come from the index that the operator
//! configured. What a file must be is checked while it comes ([`files`]), and it is kept under that checksum. So whatever
//! a session asks for, it changes nothing for others but what is fetched already.
//!
//! | path | what |
//! | --- | --- |
//! | `/pypi/simple/NAME/` | the files of a Python package (PEP 503, 691) |
//! | `/pypi/files/NAME/FILE` | one of them, or its metadata (`FILE.metadata`, PEP 658) |
//! | `/npm/NAME` | the versions of an npm package |
//! | `/npm/NAME/-/FILE` | one of them |

mod checksum;
mod fetch;
mod files;
mod html;
mod npm;
mod pages;
mod pypi;
mod reader;
mod store;

use std::path::PathBuf;
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::header::{ACCEPT, CONTENT_LENGTH};
use hyper::{Method, Request, Response, StatusCode};

use super::answer::{Body, Refusal, whole, with_type};
use super::dial::Dialler;
use super::outlet::Visit;
use crate::config::PackagesConfig;
use fetch::Fetch;
use files::Files;
use npm::Npm;
use pages::{Page, Pages};
use pypi::Pypi;
use store::Store;

/// Where packages come from and where they are kept.
#[derive(Debug)]
pub(crate) struct Mirror {
    pypi: Option<Pypi>,
    npm: Option<Npm>,
    pages: Pages,
    files: Arc<Files>,
}

/// What a path asks for.
#[derive(Debug, PartialEq, Eq)]
enum Asked<'a> {
    PypiPage(&'a str),
    PypiFile(&'a str, &'a str),
    NpmPage(String),
    NpmFile(String, &'a str),
    NpmPing,
}

impl Mirror {
    pub(crate) fn new(config: &PackagesConfig, dialler: Dialler, folder: PathBuf) -> Self {
        let store = Arc::new(Store::new(folder, config.cache_bytes));
        let registries =
            [&config.python_index, &config.npm_registry].into_iter().flatten().cloned().collect();
        let fetch = Arc::new(Fetch::new(dialler, registries));
        Self {
            pypi: config.python_index.clone().map(Pypi::new),
            npm: config.npm_registry.clone().map(Npm::new),
            pages: Pages::new(Arc::clone(&fetch), Arc::clone(&store)),
            files: Arc::new(Files::new(fetch, store)),
        }
    }

    /// Answers a request to the mirror.
    pub(crate) async fn answer(
        &self,
        visit: &Visit,
        request: &Request<Incoming>,
    ) -> Result<Response<Body>, Refusal> {
        let head = match *request.method() {
            Method::GET => false,
            Method::HEAD => true,
            _ => {
                let refusal = "the mirror of packages is only read";
                return Err(Refusal { status: StatusCode::METHOD_NOT_ALLOWED, message: refusal.into() });
            }
        };
        let asked = asked(request.uri().path())
            .ok_or_else(|| Refusal::missing("there is nothing at this path of the mirror of packages"))?;
        let accept: Vec<_> =
            request.headers().get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).collect();
        let response = self.find(visit, asked, &accept.join(", ")).await?;
        Ok(if head { without_body(response) } else { response })
    }

    async fn find(&self, visit: &Visit, asked: Asked<'_>, accept: &str) -> Result<Response<Body>, Refusal> {
        match asked {
            Asked::NpmPing => Ok(with_type(StatusCode::OK, "application/json", "{}")),
            Asked::PypiPage(name) => {
                let source = self.pypi()?.source(name)?;
                if pypi::wants_json(accept) {
                    return Ok(shown(
                        visit,
                        self.pages.get(&visit.owner, &source, Page::json).await?,
                        pypi::JSON,
                    ));
                }
                Ok(shown(visit, self.pages.get(&visit.owner, &source, Page::html).await?, pypi::HTML))
            }
            Asked::PypiFile(name, file) => {
                let entries =
                    self.pages.get(&visit.owner, &self.pypi()?.source(name)?, Page::entries).await?;
                self.files.get(visit, entries.get(file)).await
            }
            Asked::NpmPage(name) => {
                let page =
                    self.pages.get(&visit.owner, &self.npm()?.source(&name, accept), Page::json).await?;
                Ok(shown(visit, page, npm::kind(accept)))
            }
            Asked::NpmFile(name, file) => {
                let entries = self
                    .pages
                    .get(&visit.owner, &self.npm()?.source(&name, npm::SHORT), Page::entries)
                    .await?;
                self.files.get(visit, entries.get(file)).await
            }
        }
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

/// An answer with a page.
fn shown(visit: &Visit, page: Page, kind: &'static str) -> Response<Body> {
    let Page { file, bytes } = page;
    let mut response = with_type(StatusCode::OK, kind, "");
    response.headers_mut().insert(CONTENT_LENGTH, bytes.into());
    response.map(|_| reader::whole(file.into(), bytes, &visit.meter))
}

/// The same answer to HEAD.
fn without_body(response: Response<Body>) -> Response<Body> {
    response.map(|_| whole(""))
}

fn asked(path: &str) -> Option<Asked<'_>> {
    if let Some(rest) = path.strip_prefix("/pypi/") {
        let parts: Vec<_> = rest.split('/').collect();
        return match parts[..] {
            ["simple", name, ""] | ["simple", name] if !name.is_empty() => Some(Asked::PypiPage(name)),
            ["files", name, file] => Some(Asked::PypiFile(name, file)),
            _ => None,
        };
    }
    let rest = path.strip_prefix("/npm/")?;
    if rest == "-/ping" {
        return Some(Asked::NpmPing);
    }
    match rest.split_once("/-/") {
        Some((name, file)) => Some(Asked::NpmFile(npm::name(name)?, file.rsplit('/').next()?)),
        None => Some(Asked::NpmPage(npm::name(rest)?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_names_a_package_and_a_file_of_it_and_nothing_else() {
        assert_eq!(asked("/pypi/simple/six/"), Some(Asked::PypiPage("six")));
        assert_eq!(asked("/pypi/files/six/six-1.tar.gz"), Some(Asked::PypiFile("six", "six-1.tar.gz")));
        assert_eq!(asked("/npm/@a%2fb"), Some(Asked::NpmPage("@a/b".into())));
        assert_eq!(asked("/npm/@a/b/-/b-1.tgz"), Some(Asked::NpmFile("@a/b".into(), "b-1.tgz")));
        assert_eq!(asked("/npm/-/ping"), Some(Asked::NpmPing));
        for path in ["/", "/pypi/", "/pypi/simple/", "/pypi/simple/a/b/", "/npm/", "/npm/../x", "/npm/a/b/c"]
        {
            assert_eq!(asked(path), None, "{path}");
        }
    }
}

//! The gRPC service `Languages`: languages and installed packages.

use std::sync::Arc;
use std::time::Duration;

use headwater_contract::v1::languages_server::Languages as Contract;
use headwater_contract::{Fault, v1};
use headwater_protocol::SessionId;
use tonic::{Request, Response, Status};

use crate::detached::blocking;
use crate::engine::Engine;
use crate::files::open_workspace::OpenWorkspace;
use crate::languages::{Entry, debian, look_up, packages};

/// The tools of builds that no language stands for.
const BUILD_TOOLS: [&str; 2] = ["cmake", "make"];

/// The longest wait of a call for versions.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// Serves the calls of `Languages`.
#[derive(Debug)]
pub(crate) struct LanguagesService {
    engine: Arc<Engine>,
}

impl LanguagesService {
    pub(crate) const fn new(engine: Arc<Engine>) -> Self {
        Self { engine }
    }

    /// Determines the version of every tool once, and waits for that at most this long.
    async fn versions(&self, wait: Duration) {
        let asks = self.engine.languages.all().filter(|entry| !entry.is_asked()).map(|entry| {
            let (languages, name) = (self.engine.languages.clone(), entry.name.clone());
            tokio::task::spawn_blocking(move || {
                drop(languages.get(&name).map(|entry| entry.ask_version().is_some()));
            })
        });
        let asks: Vec<_> = asks.collect();
        // Tools that take longer continue in the background.
        let _ = tokio::time::timeout(wait.min(MAX_WAIT), futures_util::future::join_all(asks)).await;
    }
}

#[tonic::async_trait]
impl Contract for LanguagesService {
    async fn list_languages(
        &self,
        request: Request<v1::ListLanguagesRequest>,
    ) -> Result<Response<v1::ListLanguagesResponse>, Status> {
        self.versions(Duration::from_millis(request.into_inner().wait_ms)).await;
        let languages = self.engine.languages.all().map(to_proto).collect();
        let build_tools = BUILD_TOOLS.map(|name| build_tool(&self.engine, name)).to_vec();
        Ok(Response::new(v1::ListLanguagesResponse { languages, build_tools }))
    }

    async fn list_packages(
        &self,
        request: Request<v1::ListPackagesRequest>,
    ) -> Result<Response<v1::ListPackagesResponse>, Status> {
        let request = request.into_inner();
        let ecosystem = request.ecosystem();
        let session: SessionId = request.session_id.parse().map_err(Fault::from)?;
        let engine = Arc::clone(&self.engine);
        let list = move || Ok(packages::list(&OpenWorkspace::open(&engine, session)?, ecosystem));
        Ok(Response::new(blocking(list).await?))
    }
}

/// A tool of builds, installed or not.
fn build_tool(engine: &Engine, name: &str) -> v1::BuildTool {
    v1::BuildTool {
        name: name.to_owned(),
        package: debian::package_of(name).unwrap_or_else(|| name.to_owned()),
        installed: look_up(name, &engine.config.binds).is_some(),
    }
}

/// A tool whose version is not known yet takes too long and counts as not installed.
fn to_proto(entry: &Entry) -> v1::KnownLanguage {
    let language = entry.is_settled().then(|| entry.language()).flatten();
    v1::KnownLanguage {
        name: entry.name.clone(),
        aliases: entry.aliases.clone(),
        suffixes: entry.suffixes.clone(),
        icon: entry.icon.clone(),
        package: entry.package.clone(),
        version: entry.version().map(Into::into),
        interpreter: language.map(|language| language.interpreter.clone()),
        can_build: language.map_or(entry.can_build, |language| language.can_build),
        max_runtime_ms: language.and_then(|language| language.limits.wall_ms),
    }
}

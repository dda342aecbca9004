//! A cache of the worker's languages: finds a language by name or alias, and its interpreter.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use headwater_contract::v1::KnownLanguage;
use headwater_protocol::api::LanguageBody;

use crate::builds::commands::Tool;
use crate::error::ApiError;
use crate::state::Gateway;

/// How long a list of languages is cached: the worker may be restarted with another configuration.
const MEMORY: Duration = Duration::from_secs(5);
/// How long a list waits for tools that report their version for the first time.
const VERSIONS: Duration = Duration::from_secs(2);

/// The last list from the worker, and when it was received.
#[derive(Debug, Default)]
pub(crate) struct Languages(Mutex<Option<(Instant, Arc<Vec<KnownLanguage>>)>>);

impl Gateway {
    /// Returns all languages in the form of the API.
    pub(crate) async fn list_languages(&self) -> Result<Vec<LanguageBody>, ApiError> {
        Ok(self.ask_languages(VERSIONS).await?.iter().map(body).collect())
    }

    /// Finds a language by its name or, if there is none, by an alias.
    pub(crate) async fn language_named(&self, name: &str) -> Result<Option<KnownLanguage>, ApiError> {
        let known = self.languages().await?;
        let matches =
            |known: &&KnownLanguage| known.name == name || known.aliases.iter().any(|alias| alias == name);
        Ok(known.iter().find(|known| known.name == name).or_else(|| known.iter().find(matches)).cloned())
    }

    /// Refuses a build whose program is not installed.
    pub(crate) async fn needs(&self, tool: &Tool) -> Result<(), ApiError> {
        let (name, package) = match tool {
            Tool::Build(name) => {
                let tools = self.worker.build_tools().await?;
                match tools.into_iter().find(|tool| tool.name == *name && !tool.installed) {
                    Some(tool) => (tool.name, Some(tool.package)),
                    None => return Ok(()),
                }
            }
            Tool::Language(name) => match self.language_named(name).await? {
                Some(known) if known.interpreter.is_none() => (known.name, known.package),
                _ => return Ok(()),
            },
        };
        let error = ApiError::invalid(format!("`{name}` is not installed on this server"));
        Err(match package {
            Some(package) => error.hint(format!("apt-get install {package}")),
            None => error.hint("`GET /v1/languages` lists what is installed"),
        })
    }

    async fn languages(&self) -> Result<Arc<Vec<KnownLanguage>>, ApiError> {
        let cached = self.languages.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match cached.filter(|(at, _)| at.elapsed() < MEMORY) {
            Some((_, known)) => Ok(known),
            None => self.ask_languages(Duration::ZERO).await,
        }
    }

    async fn ask_languages(&self, wait: Duration) -> Result<Arc<Vec<KnownLanguage>>, ApiError> {
        let known = Arc::new(self.worker.known_languages(wait).await?);
        let cached = Some((Instant::now(), Arc::clone(&known)));
        *self.languages.0.lock().unwrap_or_else(PoisonError::into_inner) = cached;
        Ok(known)
    }
}

fn body(known: &KnownLanguage) -> LanguageBody {
    LanguageBody {
        name: known.name.clone(),
        aliases: known.aliases.clone(),
        suffixes: known.suffixes.clone(),
        icon: known.icon.clone(),
        version: known.version.clone(),
        available: known.interpreter.is_some(),
        package: known.package.clone(),
        interpreter: known.interpreter.clone(),
        can_build: known.can_build,
        max_runtime_ms: known.max_runtime_ms,
    }
}

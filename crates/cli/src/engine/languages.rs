//! The languages that an engine knows.

use std::time::Duration;

use headwater_contract::v1::KnownLanguage;
use headwater_protocol::api::LanguageBody;

use super::{Engine, Result};

impl Engine {
    /// All languages in the registry. The local worker waits at most this long for versions that are not known yet.
    pub async fn languages(&self, wait: Duration) -> Result<Vec<LanguageBody>> {
        match self {
            Self::Local(worker) => {
                let known = worker.retry(|worker| async move { worker.known_languages(wait).await }).await?;
                Ok(known.into_iter().map(body).collect())
            }
            Self::Remote(server) => {
                let all = server.retry_known_server(|server| async move { server.languages().await }).await?;
                Ok(all.languages)
            }
        }
    }
}

fn body(known: KnownLanguage) -> LanguageBody {
    LanguageBody {
        name: known.name,
        aliases: known.aliases,
        suffixes: known.suffixes,
        icon: known.icon,
        version: known.version,
        available: known.interpreter.is_some(),
        package: known.package,
        interpreter: known.interpreter,
        can_build: known.can_build,
        max_runtime_ms: known.max_runtime_ms,
    }
}

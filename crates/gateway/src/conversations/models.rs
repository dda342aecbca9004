//! The models of the configuration, as conversations use them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use headwater_agent::model::{Model, Models as Registry};
use headwater_protocol::api::{ModelBody, ModelList, ModelStatus};
use tokio::sync::Mutex;

use crate::error::ApiError;

/// How long it is remembered whether models can be reached: a provider counts each check as a request.
const CHECK_TTL: Duration = Duration::from_mins(1);
/// How long a check may take. A local model that is being loaded answers late.
const CHECK_TIMEOUT: Duration = Duration::from_secs(10);

/// Why each model cannot be reached; `None` if it can.
type Checked = BTreeMap<String, Option<String>>;

/// The models that agents can call.
#[derive(Debug, Default)]
pub(crate) struct Models {
    registry: Registry,
    /// The last check, which others wait for.
    checked: Mutex<Option<(Instant, Arc<Checked>)>>,
}

impl Models {
    /// These models.
    pub(crate) fn new(registry: Registry) -> Self {
        Self { registry, checked: Mutex::default() }
    }

    /// The model of this name, or the default one.
    pub(super) fn get(&self, name: Option<&str>) -> Option<Arc<dyn Model>> {
        match name {
            Some(name) => self.registry.get(name),
            None => self.registry.default_model(),
        }
    }

    /// The name, if there is a model of this name.
    pub(super) fn known(&self, name: &str) -> Result<String, ApiError> {
        if self.registry.get(name).is_some() {
            return Ok(name.to_owned());
        }
        let name: String = name.chars().take(64).collect();
        Err(ApiError::invalid(format!("there is no model `{name}`")).hint("`GET /v1/models` lists them"))
    }

    /// Fails if the provider of a model cannot search the web for it.
    pub(super) fn can_search_web(&self, name: Option<&str>) -> Result<(), ApiError> {
        // Without a model there is nothing to search for.
        let Some(model) = self.get(name).filter(|model| !model.can_search_web()) else { return Ok(()) };
        let message = format!("`web_search`: the API of the model `{}` has no search", model.name());
        let hint = "choose a model with the API `openai-responses` or `anthropic`, or leave `web_search` out";
        Err(ApiError::invalid(message).hint(hint))
    }

    /// All models, and whether they can be reached, if that is asked for or known.
    pub(crate) async fn list(&self, check: bool) -> ModelList {
        let checked = if check { Some(self.check().await) } else { self.last_check() };
        let items = self.registry.list().map(|model| {
            let found = checked.as_ref().and_then(|checked| checked.get(&model.name));
            ModelBody {
                name: model.name.clone(),
                api: model.api.name().to_owned(),
                model: model.model.clone(),
                is_default: model.is_default,
                context_tokens: model.context_tokens,
                status: match found {
                    None => ModelStatus::Unknown,
                    Some(None) => ModelStatus::Ok,
                    Some(Some(_)) => ModelStatus::Failed,
                },
                detail: found.cloned().flatten(),
            }
        });
        ModelList { items: items.collect() }
    }

    fn last_check(&self) -> Option<Arc<Checked>> {
        let last = self.checked.try_lock().ok()?;
        last.as_ref().filter(|(at, _)| at.elapsed() < CHECK_TTL).map(|(_, checked)| Arc::clone(checked))
    }

    async fn check(&self) -> Arc<Checked> {
        let mut last = self.checked.lock().await;
        if let Some((at, checked)) = last.as_ref()
            && at.elapsed() < CHECK_TTL
        {
            return Arc::clone(checked);
        }
        let late = || {
            let say =
                |name: &str| (name.to_owned(), Some(format!("it did not answer within {CHECK_TIMEOUT:?}")));
            self.registry.names().map(say).collect()
        };
        let checked = tokio::time::timeout(CHECK_TIMEOUT, self.registry.check()).await.map_or_else(
            |_| late(),
            |all| {
                all.into_iter().map(|(name, found)| (name, found.err().map(|why| why.to_string()))).collect()
            },
        );
        let checked = Arc::new(checked);
        *last = Some((Instant::now(), Arc::clone(&checked)));
        checked
    }
}

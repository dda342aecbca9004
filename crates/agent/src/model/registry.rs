//! The models of a server.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::config::{Api, ModelConfig, ModelConfigs};
use super::provider::Provider;
use super::{Model, ModelError};

/// What is known of a model without calling it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelInfo {
    /// The name in the configuration.
    pub name: String,
    /// The API of its endpoint.
    pub api: Api,
    /// The provider's name.
    pub model: String,
    /// Whether conversations that choose no model get this one.
    pub is_default: bool,
    /// How many tokens of prompt and answer it can hold.
    pub context_tokens: u64,
}

/// All models, by name.
#[derive(Debug, Clone, Default)]
pub struct Models {
    models: BTreeMap<String, (ModelInfo, Arc<dyn Model>)>,
    default: Option<String>,
}

impl Models {
    /// The models of a configuration that was checked. Nothing is sent yet. If none is the default, the first by name is.
    #[must_use]
    pub fn from_config(configs: &ModelConfigs) -> Self {
        let chosen = configs.iter().find(|(_, config)| config.default).or_else(|| configs.iter().next());
        let default = chosen.map(|(name, _)| name.clone());
        let entry = |(name, config): (&String, &ModelConfig)| {
            let info = ModelInfo {
                name: name.clone(),
                api: config.api,
                model: config.model.clone(),
                is_default: default.as_ref() == Some(name),
                context_tokens: config.context_tokens(),
            };
            let model: Arc<dyn Model> = Arc::new(Provider::new(name, config.clone()));
            (name.clone(), (info, model))
        };
        Self { models: configs.iter().map(entry).collect(), default }
    }

    /// A model by its name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Arc<dyn Model>> {
        self.models.get(name).map(|(_, model)| Arc::clone(model))
    }

    /// The model of conversations that choose none.
    #[must_use]
    pub fn default_model(&self) -> Option<Arc<dyn Model>> {
        self.get(self.default.as_ref()?)
    }

    /// What is known of each model, by name.
    pub fn list(&self) -> impl Iterator<Item = &ModelInfo> {
        self.models.values().map(|(info, _)| info)
    }

    /// The names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.models.keys().map(String::as_str)
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.models.is_empty()
    }

    /// Checks all models at once that they can be reached with their keys. The caller keeps the result for a while.
    pub async fn check(&self) -> BTreeMap<String, Result<(), ModelError>> {
        let checks =
            self.models.iter().map(|(name, (_, model))| async { (name.clone(), model.check().await) });
        futures_util::future::join_all(checks).await.into_iter().collect()
    }
}

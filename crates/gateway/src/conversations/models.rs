//! The models of the configuration, as conversations use them.

use std::sync::Arc;

use headwater_agent::model::Model;
use headwater_protocol::api::ModelList;

use crate::error::ApiError;

/// The models that agents can call.
#[derive(Debug, Default)]
pub(crate) struct Models {
    all: Vec<Arc<dyn Model>>,
}

impl Models {
    /// The model of this name, or the default one.
    pub(super) fn get(&self, name: Option<&str>) -> Option<Arc<dyn Model>> {
        let found = match name {
            Some(name) => self.all.iter().find(|model| model.name() == name),
            None => self.all.first(),
        };
        found.cloned()
    }

    /// All models, and whether they can be reached if they are to be checked.
    pub(crate) async fn list(&self, _check: bool) -> ModelList {
        ModelList { items: Vec::new() }
    }

    /// The name, if there is a model of this name.
    pub(super) fn known(&self, name: &str) -> Result<String, ApiError> {
        let found = self.get(Some(name));
        found.map(|model| model.name().to_owned()).ok_or_else(|| {
            let name: String = name.chars().take(64).collect();
            ApiError::invalid(format!("there is no model `{name}`")).hint("`GET /v1/models` lists them")
        })
    }
}

//! `[models.NAME]` of the configuration.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use reqwest::Url;
use reqwest::header::{HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};

/// The longest name of a model.
const MAX_NAME: usize = 64;

/// The models of the configuration, by name.
pub type ModelConfigs = BTreeMap<String, ModelConfig>;

/// The API that an endpoint speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Api {
    /// `OpenAI` Responses.
    #[serde(rename = "openai-responses")]
    Responses,
    /// Chat completions, as `OpenAI`, Ollama, vLLM, llama.cpp, LM Studio and others have them.
    #[serde(rename = "openai-chat")]
    Chat,
    /// Anthropic messages.
    #[serde(rename = "anthropic")]
    Messages,
}

impl Api {
    /// The name in the configuration.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Responses => "openai-responses",
            Self::Chat => "openai-chat",
            Self::Messages => "anthropic",
        }
    }

    /// The context of most models of the API, if the configuration does not say.
    const fn default_context_tokens(self) -> u64 {
        match self {
            Self::Responses | Self::Chat => 128_000,
            Self::Messages => 200_000,
        }
    }
}

/// A model of the configuration.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelConfig {
    /// The API of the endpoint.
    pub api: Api,
    /// The address of the endpoint, without the path of a call: `https://api.example/v1`.
    pub base_url: String,
    /// The provider's name of the model.
    pub model: String,
    /// The environment variable with the key.
    #[serde(default)]
    pub api_key_env: Option<String>,
    /// The file with the key.
    #[serde(default)]
    pub api_key_file: Option<PathBuf>,
    /// Whether conversations that choose no model get this one.
    #[serde(default)]
    pub default: bool,
    /// How many tokens of prompt and answer it can hold.
    #[serde(default)]
    pub context_tokens: Option<u64>,
    /// How many tokens it may write in one answer.
    #[serde(default)]
    pub max_output_tokens: Option<u64>,
    /// More headers of each request.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
}

/// Without the values of headers and the query of the address, which may be secrets.
impl fmt::Debug for ModelConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelConfig")
            .field("api", &self.api)
            .field("base_url", &self.base_url.split('?').next())
            .field("model", &self.model)
            .field("api_key_env", &self.api_key_env)
            .field("api_key_file", &self.api_key_file)
            .field("headers", &self.headers.keys())
            .finish_non_exhaustive()
    }
}

impl ModelConfig {
    /// How many tokens of prompt and answer the model can hold.
    #[must_use]
    pub fn context_tokens(&self) -> u64 {
        self.context_tokens.unwrap_or(self.api.default_context_tokens())
    }

    /// The address of a call. An address without a path gets `/v1`, which all providers use.
    pub(super) fn url(&self, path: &str) -> Result<Url, String> {
        let mut url: Url =
            self.base_url.parse().map_err(|error| format!("`base_url` is not a URL: {error}"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err("`base_url` must begin with `http://` or `https://`".to_owned());
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("`base_url` must not contain a user or a password".to_owned());
        }
        let base = match url.path().trim_end_matches('/') {
            "" => "/v1",
            base => base,
        };
        let path = format!("{base}/{path}");
        url.set_path(&path);
        url.set_fragment(None);
        Ok(url)
    }

    fn check(&self) -> Result<(), String> {
        self.url("models")?;
        if self.model.is_empty() {
            return Err("`model` is empty".to_owned());
        }
        if self.api_key_env.is_some() && self.api_key_file.is_some() {
            return Err("set either `api_key_env` or `api_key_file`".to_owned());
        }
        if self.context_tokens == Some(0) || self.max_output_tokens == Some(0) {
            return Err("`context_tokens` and `max_output_tokens` must be more than 0".to_owned());
        }
        for (name, value) in &self.headers {
            if HeaderName::try_from(name).is_err() || HeaderValue::try_from(value).is_err() {
                return Err(format!("`headers.{name}` is not a header"));
            }
        }
        Ok(())
    }
}

/// Checks models; the error names the setting.
pub fn check(models: &ModelConfigs) -> Result<(), String> {
    for (name, config) in models {
        let is_valid = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '_' | '-');
        if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(is_valid) {
            return Err(format!(
                "models.{name}: a name has up to {MAX_NAME} lower-case letters, digits, `.`, `_` and `-`"
            ));
        }
        config.check().map_err(|why| format!("models.{name}: {why}"))?;
    }
    let defaults: Vec<_> = models.iter().filter(|(_, config)| config.default).map(|(name, _)| name).collect();
    match defaults[..] {
        [first, second, ..] => Err(format!("models.{second}: `{first}` is the default already")),
        _ => Ok(()),
    }
}

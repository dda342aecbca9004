//! The key of a model: where it comes from, and how it is kept out of messages.

use std::fmt;
use std::path::PathBuf;

use super::config::ModelConfig;
use super::fault::Fault;

/// The largest file with a key.
const MAX_KEY_BYTES: u64 = 64 << 10;

/// Where a key comes from. It is read for each call, so a new key needs no restart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum KeySource {
    /// The endpoint needs none.
    None,
    Env(String),
    File(PathBuf),
}

impl KeySource {
    pub(super) fn of(config: &ModelConfig) -> Self {
        match (&config.api_key_env, &config.api_key_file) {
            (Some(name), _) => Self::Env(name.clone()),
            (None, Some(path)) => Self::File(path.clone()),
            (None, None) => Self::None,
        }
    }

    pub(super) async fn read(&self) -> Result<Option<Key>, Fault> {
        let text = match self {
            Self::None => return Ok(None),
            Self::Env(name) => std::env::var(name).unwrap_or_default(),
            Self::File(path) => {
                let why = |why: String| Fault::no_key(&format!("`{}` cannot be read: {why}", path.display()));
                let size = tokio::fs::metadata(path).await.map_err(|error| why(error.to_string()))?.len();
                if size > MAX_KEY_BYTES {
                    return Err(why("it is too large".to_owned()));
                }
                tokio::fs::read_to_string(path).await.map_err(|error| why(error.to_string()))?
            }
        };
        let key = text.trim();
        if key.is_empty() {
            return Err(Fault::no_key(&match self {
                Self::Env(name) => {
                    format!("the variable `{name}` is not set in the environment of Headwater")
                }
                Self::File(path) => format!("`{}` is empty", path.display()),
                Self::None => return Ok(None),
            }));
        }
        Ok(Some(Key(key.to_owned())))
    }
}

/// A key. It is never printed.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Key(String);

impl Key {
    pub(super) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// Texts that must not appear in a message, although a provider repeats them.
#[derive(Clone, Default)]
pub(super) struct Secrets(Vec<String>);

impl Secrets {
    pub(super) fn new(key: Option<&Key>, headers: impl IntoIterator<Item = String>) -> Self {
        let all = key.map(|key| key.0.clone()).into_iter().chain(headers);
        Self(all.filter(|secret| !secret.is_empty()).collect())
    }

    pub(super) fn hide(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), "***"))
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

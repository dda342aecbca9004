//! A model of the configuration: sends prompts to its provider.

use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use reqwest::header::{ACCEPT, HeaderValue, LOCATION};
use reqwest::{Client, Response, Url};
use serde_json::Value;
use tokio::time::timeout;

use super::config::{Api, ModelConfig};
use super::decoding::{CallIds, Decoder, Decoding};
use super::fault::Fault;
use super::key::{Key, KeySource, Secrets};
use super::quirks::Quirks;
use super::retry::{retry, retry_after};
use super::stream::{Answer, Timeouts};
use super::{Model, ModelError, ModelErrorKind, ModelEvent, ModelStream, Prompt};
use super::{chat, http, messages, responses};

/// How long a check may take.
const CHECK_TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes of a refusal that are read.
const MAX_REFUSAL_BYTES: usize = 64 << 10;
/// How long the body of a refusal may take.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(5);

/// A model that is called over HTTP.
#[derive(Debug)]
pub struct Provider {
    name: String,
    config: ModelConfig,
    key: KeySource,
    timeouts: Timeouts,
    client: OnceLock<Client>,
    quirks: Mutex<Quirks>,
}

impl Provider {
    /// A model with this name. Nothing is sent yet.
    #[must_use]
    pub fn new(name: &str, config: ModelConfig) -> Self {
        Self {
            name: name.to_owned(),
            key: KeySource::of(&config),
            config,
            timeouts: Timeouts::default(),
            client: OnceLock::new(),
            quirks: Mutex::default(),
        }
    }

    #[cfg(test)]
    pub(super) const fn with_timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = timeouts;
        self
    }

    fn client(&self, url: &Url) -> Result<&Client, Fault> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let client = http::client(url)?;
        Ok(self.client.get_or_init(|| client))
    }

    fn url(&self, path: &str) -> Result<Url, Fault> {
        self.config.url(path).map_err(|why| Fault::new(ModelErrorKind::Refused, &why))
    }

    fn quirks(&self) -> Quirks {
        *self.quirks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the endpoint refuses an optional part of the request, which is left out from now on.
    fn learns(&self, fault: &Fault) -> bool {
        self.quirks.lock().unwrap_or_else(PoisonError::into_inner).learn(self.config.api, fault)
    }

    fn body(&self, prompt: &Prompt) -> Value {
        match self.config.api {
            Api::Chat => chat::body(prompt, &self.config, self.quirks()),
            Api::Responses => responses::body(prompt, &self.config, &self.name, self.quirks()),
            Api::Messages => messages::body(prompt, &self.config, &self.name),
        }
    }

    fn decoder(&self, prompt: &Prompt) -> Box<dyn Decoder> {
        let ids = CallIds::of(prompt);
        match self.config.api {
            Api::Chat => Box::new(chat::ChatDecoder::new(ids)),
            Api::Responses => Box::new(responses::ResponsesDecoder::new(ids, &self.name)),
            Api::Messages => Box::new(messages::MessagesDecoder::new(ids, &self.name)),
        }
    }

    const fn path(&self) -> &'static str {
        match self.config.api {
            Api::Chat => "chat/completions",
            Api::Responses => "responses",
            Api::Messages => "messages",
        }
    }

    /// One call, until its first event.
    async fn attempt(&self, prompt: &Prompt, key: Option<&Key>) -> Result<(ModelEvent, Answer), Fault> {
        let response = loop {
            match self.post(prompt, key).await {
                Err(fault) if self.learns(&fault) => {
                    tracing::info!(model = self.name, quirks = ?self.quirks(), "the endpoint accepts less");
                }
                result => break result?,
            }
        };
        let decoding = Decoding::new(self.decoder(prompt));
        let mut answer = Answer::new(response, decoding, self.timeouts);
        match answer.next().await {
            Some(Ok(first)) => Ok((first, answer)),
            Some(Err(fault)) => Err(fault),
            None => Err(Fault::garbage("it is empty")),
        }
    }

    async fn post(&self, prompt: &Prompt, key: Option<&Key>) -> Result<Response, Fault> {
        let url = self.url(self.path())?;
        let mut headers = http::headers(&self.config, key)?;
        headers.entry(ACCEPT).or_insert(HeaderValue::from_static("text/event-stream, application/json"));
        let request = self.client(&url)?.post(url).headers(headers).json(&self.body(prompt));
        send(request, self.timeouts.first).await
    }

    async fn list(&self, key: Option<&Key>) -> Result<(), Fault> {
        let url = self.url("models")?;
        let request = self.client(&url)?.get(url).headers(http::headers(&self.config, key)?);
        send(request, CHECK_TIMEOUT).await.map(drop)
    }

    /// The key, and what no message may contain.
    async fn secrets(&self) -> Result<(Option<Key>, Secrets), ModelError> {
        let headers = self.config.headers.values().cloned();
        match self.key.read().await {
            Ok(key) => {
                let secrets = Secrets::new(key.as_ref(), headers);
                Ok((key, secrets))
            }
            Err(fault) => Err(fault.into_error(&self.name, &Secrets::new(None, headers))),
        }
    }
}

#[async_trait]
impl Model for Provider {
    fn name(&self) -> &str {
        &self.name
    }

    fn context_tokens(&self) -> u64 {
        self.config.context_tokens()
    }

    fn can_search_web(&self) -> bool {
        self.config.api != Api::Chat
    }

    async fn call(&self, prompt: &Prompt) -> Result<ModelStream, ModelError> {
        let (key, secrets) = self.secrets().await?;
        let called = if prompt.is_tried_once {
            self.attempt(prompt, key.as_ref()).await
        } else {
            retry(&self.name, || self.attempt(prompt, key.as_ref())).await
        };
        let (first, answer) = called.map_err(|fault| fault.into_error(&self.name, &secrets))?;
        Ok(answer.into_stream(first, self.name.clone(), secrets))
    }

    async fn check(&self) -> Result<(), ModelError> {
        let (key, secrets) = self.secrets().await?;
        match self.list(key.as_ref()).await {
            // Some endpoints have no list of models. They can be reached, and that is all that is known.
            Err(fault) if !fault.is_missing_list() => Err(fault.into_error(&self.name, &secrets)),
            _ => Ok(()),
        }
    }
}

/// Sends a request; a response that is not a success is a fault.
async fn send(request: reqwest::RequestBuilder, limit: Duration) -> Result<Response, Fault> {
    let unreachable = |error| Fault::transport(ModelErrorKind::Unreachable, &error);
    let sent = timeout(limit, request.send()).await;
    let mut response = sent
        .map_err(|_| {
            Fault::new(ModelErrorKind::Unreachable, &format!("no answer for {} s", limit.as_secs_f64()))
        })?
        .map_err(unreachable)?;
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    if status.is_redirection() && response.headers().contains_key(LOCATION) {
        let detail = format!("it redirects to another address ({}), which is not followed", status.as_u16());
        return Err(Fault::new(ModelErrorKind::Refused, &detail));
    }
    let after = retry_after(response.headers(), SystemTime::now());
    let mut body = Vec::new();
    // If the body does not arrive, the status is enough.
    while let Ok(Ok(Some(bytes))) = timeout(REFUSAL_TIMEOUT, response.chunk()).await {
        body.extend_from_slice(&bytes);
        if body.len() > MAX_REFUSAL_BYTES {
            break;
        }
    }
    Err(Fault::refusal(status.as_u16(), &body, after))
}

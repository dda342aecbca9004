//! The client itself: where the server is, who asks, and how long it is waited for.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use headwater_protocol::api::{InfoBody, LanguagesBody};
use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};

use crate::error::ClientError;
use crate::retry::Retry;
use crate::{Result, address};

/// A server that does not take a connection for so long is not there.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a lost server is waited for, unless told otherwise.
const RETRY_TIMEOUT: Duration = Duration::from_mins(1);

/// The server says something on a stream every 15 s at least: three times as long means that it cannot be heard any
/// more.
const IDLE_TIMEOUT: Duration = Duration::from_secs(45);

/// A client of one server; cheap to clone, and its clones share connections.
#[derive(Debug, Clone)]
pub struct Client {
    pub(crate) http: reqwest::Client,
    base: Arc<Url>,
    retry_timeout: Duration,
    idle_timeout: Duration,
    /// Whether the server has ever answered.
    has_answered: Arc<AtomicBool>,
}

impl Client {
    /// A client of the server at this address, who proves itself with this token (empty: not at all). Nothing is sent
    /// yet.
    pub fn new(url: &str, token: &str) -> Result<Self> {
        let base = address::parse(url)?;
        let mut headers = HeaderMap::new();
        if !token.is_empty() {
            let mut value =
                HeaderValue::from_str(&format!("Bearer {token}")).map_err(|_| ClientError::BadToken)?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        let mut builder = reqwest::Client::builder()
            .default_headers(headers)
            .user_agent(concat!("headwater/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none()) // the API has none, and a token must not follow one
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_nodelay(true)
            .resolve_to_addrs("localhost", &address::LOCALHOST);
        if address::is_loopback(&base) {
            builder = builder.no_proxy();
        }
        #[cfg(feature = "tls")]
        {
            // Refused if there is one already: then that one is used.
            let _ = rustls::crypto::ring::default_provider().install_default();
            if base.scheme() == "http" {
                // No certificates need to be read where none will be looked at.
                builder = builder.tls_certs_only([]);
            }
        }
        let http = builder.build().map_err(|error| ClientError::Setup(crate::http::innermost(&error)))?;
        Ok(Self {
            http,
            base: Arc::new(base),
            retry_timeout: RETRY_TIMEOUT,
            idle_timeout: IDLE_TIMEOUT,
            has_answered: Arc::default(),
        })
    }

    /// The same, but waiting so long for a server that went away.
    #[must_use]
    pub const fn with_retry_timeout(mut self, retry_timeout: Duration) -> Self {
        self.retry_timeout = retry_timeout;
        self
    }

    /// The same, but taking a stream on which nothing was heard for so long for lost.
    #[must_use]
    pub const fn with_idle_timeout(mut self, idle_timeout: Duration) -> Self {
        self.idle_timeout = idle_timeout;
        self
    }

    pub(crate) const fn idle_timeout(&self) -> Duration {
        self.idle_timeout
    }

    /// Where the server is.
    pub fn url(&self) -> &str {
        self.base.as_str()
    }

    /// The address of a route, given without its first slash.
    pub(crate) fn route(&self, path: &str) -> Result<Url> {
        self.base.join(path).map_err(ClientError::malformed)
    }

    pub(crate) const fn new_retry(&self) -> Retry {
        Retry::new(self.retry_timeout)
    }

    /// Asks, and asks again over a restart of the server: for calls that can be asked twice. A start can be, with a
    /// [`IdempotencyKey`](crate::IdempotencyKey).
    pub async fn retry<T, F: Future<Output = Result<T>>>(&self, call: impl Fn(Self) -> F) -> Result<T> {
        let mut retry = self.new_retry();
        loop {
            match call(self.clone()).await {
                Err(error) if error.is_transient() => retry.pause(error).await?,
                answer => return answer,
            }
        }
    }

    /// The same, but a server that has never answered this client or a clone of it is told at once: a mistyped address
    /// is no restart.
    pub async fn retry_known_server<T, F: Future<Output = Result<T>>>(
        &self,
        call: impl Fn(Self) -> F,
    ) -> Result<T> {
        let mut retry = self.new_retry();
        loop {
            match call(self.clone()).await {
                Err(error @ ClientError::Unreachable { .. })
                    if !self.has_answered.load(Ordering::Relaxed) =>
                {
                    return Err(error);
                }
                Err(error) if error.is_transient() => retry.pause(error).await?,
                answer => return answer,
            }
        }
    }

    pub(crate) fn note_answer(&self) {
        self.has_answered.store(true, Ordering::Relaxed);
    }

    /// What the server tells of itself.
    pub async fn info(&self) -> Result<InfoBody> {
        self.get_json("v1/info").await
    }

    /// The languages that can be run.
    pub async fn languages(&self) -> Result<LanguagesBody> {
        self.get_json("v1/languages").await
    }
}

//! The client: the server's address, the credentials, and the timeouts.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use headwater_protocol::api::{InfoBody, LanguagesBody};
use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};

use crate::error::ClientError;
use crate::retry::Retry;
use crate::{Result, address};

/// How long connecting may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The default time that a lost server is awaited.
const RETRY_TIMEOUT: Duration = Duration::from_mins(1);

/// The server sends something on a stream at least every 15 s. After three times that, the connection is
/// lost.
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
    /// A client of the server at this address, with this token (empty: no authentication). Sends nothing yet.
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
            .redirect(reqwest::redirect::Policy::none()) // a token must not follow one
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_nodelay(true)
            .resolve_to_addrs("localhost", &address::LOCALHOST);
        if !cfg!(target_os = "linux") {
            // Only a static binary needs another resolver than that of the system.
            builder = builder.no_hickory_dns();
        }
        if address::is_loopback(&base) {
            builder = builder.no_proxy();
        }
        #[cfg(feature = "tls")]
        {
            // Refused if one is installed already, which is then used.
            let _ = rustls::crypto::ring::default_provider().install_default();
            if base.scheme() == "http" {
                // No certificates have to be loaded if none will be checked.
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

    /// Sets how long a lost server is awaited.
    #[must_use]
    pub const fn with_retry_timeout(mut self, retry_timeout: Duration) -> Self {
        self.retry_timeout = retry_timeout;
        self
    }

    /// Sets after how long without data a stream counts as lost.
    #[must_use]
    pub const fn with_idle_timeout(mut self, idle_timeout: Duration) -> Self {
        self.idle_timeout = idle_timeout;
        self
    }

    pub(crate) const fn idle_timeout(&self) -> Duration {
        self.idle_timeout
    }

    /// The address of the server.
    pub fn url(&self) -> &str {
        self.base.as_str()
    }

    /// The URL of a route, given without its leading slash.
    pub(crate) fn route(&self, path: &str) -> Result<Url> {
        self.base.join(path).map_err(ClientError::malformed)
    }

    pub(crate) const fn new_retry(&self) -> Retry {
        Retry::new(self.retry_timeout)
    }

    /// Makes a call, and repeats it over a restart of the server. Only for calls that are safe to repeat. A
    /// start is, with an [`IdempotencyKey`](crate::IdempotencyKey).
    pub async fn retry<T, F: Future<Output = Result<T>>>(&self, call: impl Fn(Self) -> F) -> Result<T> {
        let mut retry = self.new_retry();
        loop {
            match call(self.clone()).await {
                Err(error) if error.is_transient() => retry.pause(error).await?,
                answer => return answer,
            }
        }
    }

    /// The same, but fails at once if the server has never answered this client or a clone of it: a mistyped
    /// address is not a restart.
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

    /// Information about the server.
    pub async fn info(&self) -> Result<InfoBody> {
        self.get_json("v1/info").await
    }

    /// The languages in the registry.
    pub async fn languages(&self) -> Result<LanguagesBody> {
        self.get_json("v1/languages").await
    }
}

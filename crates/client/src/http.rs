//! Sending requests: headers, errors, and waiting when the server asks for it.

use std::error::Error as _;
use std::future::Future;
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{HeaderMap, RETRY_AFTER};
use reqwest::{Method, RequestBuilder, Response, Url};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Result;
use crate::client::Client;
use crate::error::{ApiError, ClientError};

/// The longest time of a plain call.
pub(crate) const CALL_TIMEOUT: Duration = Duration::from_secs(45);
/// The maximum that is read of an error's body.
const MAX_ERROR_BYTES: usize = 64 << 10;

impl Client {
    /// Prepares a request with the client's headers.
    pub(crate) fn request(&self, method: Method, url: Url) -> RequestBuilder {
        self.http.request(method, url)
    }

    /// Sends a request, and returns when the head of a successful answer has come.
    pub(crate) async fn send(&self, request: RequestBuilder) -> Result<Response> {
        let answer = request.send().await.map_err(|error| self.request_error(&error))?;
        self.note_answer();
        if answer.status().is_success() || answer.status().as_u16() == 101 {
            return Ok(answer);
        }
        Err(refusal(answer).await)
    }

    /// Sends a request that is safe to repeat; waits and repeats it if the server asks for that.
    pub(crate) async fn send_idempotent(
        &self,
        make: impl Fn() -> Result<RequestBuilder>,
    ) -> Result<Response> {
        let mut retry = self.new_retry();
        loop {
            match self.send(make()?).await {
                Err(error) if error.retry_after().is_some() && !error.is_disconnected() => {
                    retry.pause(error).await?;
                }
                answer => return answer,
            }
        }
    }

    pub(crate) async fn get_json<T: DeserializeOwned>(&self, path: &str) -> Result<T> {
        let url = self.route(path)?;
        self.json(self.send_idempotent(|| Ok(self.request(Method::GET, url.clone()).timeout(CALL_TIMEOUT))))
            .await
    }

    /// Sends a request and parses the answer as JSON.
    pub(crate) async fn json<T: DeserializeOwned>(
        &self,
        answer: impl Future<Output = Result<Response>>,
    ) -> Result<T> {
        let body = answer.await?.bytes().await.map_err(|error| self.request_error(&error))?;
        serde_json::from_slice(&body).map_err(ClientError::malformed)
    }

    /// Sends a POST request once: it may not be safe to repeat.
    pub(crate) async fn post_once(&self, path: &str, body: Option<&impl Serialize>) -> Result<()> {
        let request = self.request(Method::POST, self.route(path)?).timeout(CALL_TIMEOUT);
        let request = match body {
            Some(body) => request.json(body),
            None => request,
        };
        self.send(request).await.map(drop)
    }

    /// Converts an error of the HTTP client.
    pub(crate) fn request_error(&self, error: &reqwest::Error) -> ClientError {
        let why = innermost(error);
        if error.is_connect() {
            ClientError::Unreachable { url: self.url().to_owned(), why }
        } else if error.is_builder() {
            ClientError::Malformed(why)
        } else {
            ClientError::Disconnected(why)
        }
    }
}

async fn refusal(mut answer: Response) -> ClientError {
    let (status, after) = (answer.status().as_u16(), retry_after(answer.headers()));
    let mut body = Vec::new();
    // If the body does not arrive completely, the status is reported.
    while let Ok(Ok(Some(chunk))) = tokio::time::timeout(CALL_TIMEOUT, answer.chunk()).await {
        body.extend_from_slice(&chunk);
        if body.len() > MAX_ERROR_BYTES {
            break;
        }
    }
    ClientError::Api(Box::new(ApiError::read(status, after, &body)))
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok().map(Duration::from_secs)
}

/// The innermost error, from the system: the outer ones only say that a request failed.
pub(crate) fn innermost(error: &reqwest::Error) -> String {
    let mut inner = error.source();
    let mut text = error.to_string();
    while let Some(source) = inner {
        text = source.to_string();
        inner = source.source();
    }
    text
}

/// A JSON body that can be sent repeatedly.
pub(crate) fn json_body(value: &impl Serialize) -> Result<Bytes> {
    serde_json::to_vec(value).map(Bytes::from).map_err(ClientError::malformed)
}

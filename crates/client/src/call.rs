//! Calls of routes that have no typed method.

use reqwest::Method;
use reqwest::header::CONTENT_TYPE;
use serde_json::Value;

use crate::Result;
use crate::client::Client;
use crate::error::ClientError;
use crate::http::{CALL_TIMEOUT, json_body};

impl Client {
    /// Calls a route, given without its leading slash, and returns the JSON of the response; null if it is empty. A
    /// request that is refused for a moment is repeated, unless it is a `POST`, which may not be safe to repeat.
    pub async fn call(
        &self,
        method: Method,
        path: &str,
        query: &[(&str, String)],
        body: Option<&Value>,
    ) -> Result<Value> {
        let mut url = self.route(path)?;
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let body = body.map(json_body).transpose()?;
        let make = || {
            let request = self.request(method.clone(), url.clone()).timeout(CALL_TIMEOUT);
            Ok(match &body {
                Some(body) => request.header(CONTENT_TYPE, "application/json").body(body.clone()),
                None => request,
            })
        };
        let answer = if method == Method::POST {
            self.send(make()?).await?
        } else {
            self.send_idempotent(make).await?
        };
        let bytes = answer.bytes().await.map_err(|error| self.request_error(&error))?;
        if bytes.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&bytes).map_err(ClientError::malformed)
    }
}

//! Idempotency keys: a request that is repeated with its key is carried out once.

use std::fmt::Display;
use std::str::FromStr;
use std::sync::Arc;

use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, Method};
use headwater_contract::KeyedLock;
use headwater_protocol::SessionId;
use headwater_protocol::api::ErrorCode;
use headwater_store::{Claim, KeyRow, Store};
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use tokio::sync::OwnedMutexGuard;

use crate::auth::Identity;
use crate::error::ApiError;
use crate::http::extract::json_body;
use crate::now_ms;

const HEADER: &str = "idempotency-key";
/// The maximum length of a key, in characters.
const MAX_KEY: usize = 255;

/// The idempotency key of a request, with the hash of the request.
#[derive(Debug, Clone, Default)]
pub(crate) struct RequestKey {
    pub(crate) key: Option<String>,
    /// SHA-256 of method, path and body. A key may only be used again with the same request.
    pub(crate) hash: [u8; 32],
}

/// A JSON body with the idempotency key of its request.
pub(crate) struct Keyed<T> {
    pub(crate) value: T,
    pub(crate) request_key: RequestKey,
}

/// The ids of the objects that a request creates. While this is held, other requests with the same key wait.
pub(crate) struct Claimed<T> {
    /// The id of the created object.
    pub(crate) id: T,
    /// The session that is created for it.
    pub(crate) session: Option<SessionId>,
    /// Whether an earlier request with the key chose the ids.
    pub(crate) repeated: bool,
    _lock: Option<OwnedMutexGuard<()>>,
}

/// The idempotency keys of all owners.
#[derive(Debug)]
pub(crate) struct IdempotencyKeys {
    store: Arc<dyn Store>,
    /// Serialises the requests of each owner and key.
    locks: KeyedLock<(String, String)>,
}

impl IdempotencyKeys {
    /// Keeps the keys in this store.
    pub(crate) fn new(store: Arc<dyn Store>) -> Self {
        Self { store, locks: KeyedLock::default() }
    }

    /// Claims the key of a request for these ids. If an earlier request has claimed it, returns the ids of
    /// that request, or an error if the two requests differ.
    pub(crate) async fn claim<T: Display + FromStr>(
        &self,
        who: &Identity,
        request_key: &RequestKey,
        id: T,
        session: Option<SessionId>,
    ) -> Result<Claimed<T>, ApiError> {
        let Some(key) = &request_key.key else {
            return Ok(Claimed { id, session, repeated: false, _lock: None });
        };
        let lock = Some(self.locks.lock((who.owner.clone(), key.clone())).await);
        let row = KeyRow {
            owner: who.owner.clone(),
            key: key.clone(),
            request_hash: request_key.hash,
            object: id.to_string(),
            session,
            created_at_ms: now_ms(),
        };
        let Claim::Known(known) = self.store.claim_key(&row).await? else {
            return Ok(Claimed { id, session, repeated: false, _lock: lock });
        };
        match known.object.parse() {
            Ok(id) if known.request_hash == request_key.hash => {
                Ok(Claimed { id, session: known.session, repeated: true, _lock: lock })
            }
            _ => Err(key_reused(key)),
        }
    }
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Keyed<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let key = key(request.headers())?;
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let body = json_body(request, state).await?;
        let hash = hash(&method, &path, &body);
        Ok(Self { value: crate::http::extract::parse(&body)?, request_key: RequestKey { key, hash } })
    }
}

/// Returns the key of a request, if it has one.
pub(crate) fn key(headers: &HeaderMap) -> Result<Option<String>, ApiError> {
    let mut values = headers.get_all(HEADER).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    let is_valid = (1..=MAX_KEY).contains(&value.len()) && value.as_bytes().iter().all(u8::is_ascii_graphic);
    match value.to_str() {
        Ok(key) if is_valid && values.next().is_none() => Ok(Some(key.to_owned())),
        _ => Err(ApiError::invalid("`Idempotency-Key` is not valid")
            .hint("send one key of 1 to 255 visible ASCII characters, a UUID for example")),
    }
}

/// Hashes a request, to compare it with an earlier request that has the same key.
pub(crate) fn hash(method: &Method, path: &str, body: &[u8]) -> [u8; 32] {
    let mut digest = Sha256::new();
    for part in [method.as_str().as_bytes(), path.as_bytes(), body] {
        // The length before each part separates it from the next one.
        digest.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_le_bytes());
        digest.update(part);
    }
    digest.finalize().into()
}

/// The key was used before with a different request (422).
fn key_reused(key: &str) -> ApiError {
    ApiError::new(
        ErrorCode::KeyReused,
        format!("`Idempotency-Key` `{key}` was used before with a different request"),
        "use a new key for each new request; send the same key only to repeat a request exactly",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[&[u8]]) -> Result<Option<String>, u16> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(HEADER, axum::http::HeaderValue::from_bytes(value).unwrap());
        }
        key(&headers).map_err(|error| error.status.as_u16())
    }

    #[test]
    fn a_key_is_one_word_of_visible_characters() {
        assert_eq!(of(&[]), Ok(None));
        assert_eq!(of(&[b"a-1_~!"]), Ok(Some("a-1_~!".into())));
        assert_eq!(of(&[&[b'k'; 255]]), Ok(Some("k".repeat(255))));
        for bad in [&[b"".as_slice()][..], &[&[b'k'; 256]], &[b"a b"], &[b"\xff"], &[b"a\tb"], &[b"a", b"a"]]
        {
            assert_eq!(of(bad), Err(400), "{bad:?}");
        }
    }

    #[test]
    fn a_hash_depends_on_the_boundaries_of_its_parts() {
        let one = hash(&Method::POST, "/v1/executions", b"{}");
        assert_eq!(one, hash(&Method::POST, "/v1/executions", b"{}"));
        assert_ne!(one, hash(&Method::PUT, "/v1/executions", b"{}"));
        assert_ne!(one, hash(&Method::POST, "/v1/executions{", b"}"));
        assert_ne!(one, hash(&Method::POST, "/v1/executions", b"{ }"));
    }
}

//! Tokens of a server, in the same form as those of the store.

use headwater_client::{Client, Method};
use headwater_protocol::api::Timestamp;
use serde_json::{Value, json};

use super::{ACTIVE, NewToken, unknown};
use crate::engine::pages_of;
use crate::error::{CommandError, ErrorKind};
use crate::resolve::segment;
use headwater_protocol::now_ms;

pub(super) async fn create(client: &Client, new: &NewToken) -> Result<Value, CommandError> {
    let mut request = json!({ "name": new.name });
    if let Some(user) = &new.user {
        request["owner"] = user.as_str().into();
    }
    if let Some(role) = new.role {
        request["role"] = role.name().into();
    }
    if !new.scopes.is_empty() {
        request["scopes"] = new.scopes.clone().into();
    }
    if let Some(expires) = new.expires {
        request["expires_in_ms"] = u64::try_from(expires.as_millis()).unwrap_or(u64::MAX).into();
    }
    let created = client.call(Method::POST, "v1/tokens", &[], Some(&request)).await?;
    Ok(as_stored(created))
}

/// All tokens that the caller may see, oldest first.
pub(super) async fn list(client: &Client) -> Result<Vec<Value>, CommandError> {
    let mut all: Vec<Value> = pages_of(client, "v1/tokens", &[]).await?.into_iter().map(as_stored).collect();
    all.reverse();
    Ok(all)
}

pub(super) async fn revoke(client: &Client, ids: &[String]) -> Result<(), CommandError> {
    for id in ids {
        let path = format!("v1/tokens/{}", segment(id));
        let done = client.call(Method::DELETE, &path, &[], None).await.map_err(CommandError::from);
        done.map_err(|error| if error.kind == ErrorKind::NotFound { unknown(id) } else { error })?;
    }
    Ok(())
}

/// The server's form of a token as the store's: `user` instead of `owner`, and the state in a word.
fn as_stored(mut token: Value) -> Value {
    let expires = serde_json::from_value::<Option<Timestamp>>(token["expires_at"].clone()).ok().flatten();
    let state = match expires {
        _ if !token["revoked_at"].is_null() => "revoked",
        Some(at) if at.0 <= now_ms() => "expired",
        _ => ACTIVE,
    };
    if let Some(fields) = token.as_object_mut() {
        let owner = fields.remove("owner").unwrap_or_default();
        fields.insert("user".into(), owner);
        fields.insert("state".into(), state.into());
        for name in ["sessions", "scopes"] {
            fields.entry(name).or_insert(Value::Null);
        }
    }
    token
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_of_a_server_has_the_form_of_one_of_the_store() {
        let token = json!({"id": "tok_1", "owner": "ann", "expires_at": null, "revoked_at": null});
        let stored = as_stored(token.clone());
        assert_eq!((&stored["user"], &stored["state"]), (&json!("ann"), &json!(ACTIVE)));
        assert!(stored.get("owner").is_none() && stored["scopes"].is_null());
        let with = |name: &str, value: Value| {
            let mut token = token.clone();
            token[name] = value;
            as_stored(token)["state"].clone()
        };
        assert_eq!(with("expires_at", json!("2001-01-01T00:00:00Z")), "expired");
        assert_eq!(with("revoked_at", json!("2001-01-01T00:00:00Z")), "revoked");
    }
}

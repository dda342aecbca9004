//! Users of a server, in the same form as those of the store.

use std::io::IsTerminal;

use headwater_client::{Client, ClientError, Method};
use serde_json::{Value, json};

use super::password::{ask_password, read_hidden};
use super::{has_sessions, taken, unknown};
use crate::args::UserAction;
use crate::commands::token::ACTIVE;
use crate::engine::pages_of;
use crate::error::{CommandError, ErrorKind};
use crate::resolve::segment;

/// The server's error code for a name that owns sessions.
const NAME_OWNS_SESSIONS: &str = "name_owns_sessions";

pub(super) async fn list(client: &Client) -> Result<Vec<Value>, CommandError> {
    Ok(pages_of(client, "v1/users", &[]).await?.into_iter().map(as_stored).collect())
}

/// Makes a change. Returns the id of a user that was created.
pub(super) async fn change(client: &Client, action: UserAction) -> Result<Option<String>, CommandError> {
    match action {
        UserAction::Add { name, role, no_password, take_over } => {
            let role = role.name();
            let mut request = json!({ "name": name, "role": role, "take_over": take_over });
            if !no_password {
                request["password"] = ask_password(&name)?.into();
            }
            let created = client.call(Method::POST, "v1/users", &[], Some(&request)).await;
            let created = created.map_err(|error| refused_name(error, &name))?;
            return Ok(created["id"].as_str().map(ToOwned::to_owned));
        }
        UserAction::Password { name } => set_password(client, &name).await?,
        UserAction::Disable { name } => patch(client, &name, &json!({ "disabled": true })).await?,
        UserAction::Enable { name } => patch(client, &name, &json!({ "disabled": false })).await?,
        UserAction::List { .. } => {} // it changes nothing
    }
    Ok(None)
}

/// Sets a password. Users who are not operators must know their current one.
async fn set_password(client: &Client, name: &str) -> Result<(), CommandError> {
    let me = client.call(Method::GET, "v1/me", &[], None).await?;
    let mut request = json!({});
    if me["role"] != "admin" && std::io::stdin().is_terminal() {
        request["current_password"] = read_hidden("Current password: ")?.into();
    }
    request["password"] = ask_password(name)?.into();
    patch(client, name, &request).await
}

async fn patch(client: &Client, name: &str, change: &Value) -> Result<(), CommandError> {
    let path = format!("v1/users/{}", segment(name));
    match client.call(Method::PATCH, &path, &[], Some(change)).await.map_err(CommandError::from) {
        Err(error) if error.kind == ErrorKind::NotFound => Err(unknown(name)),
        done => done.map(drop),
    }
}

fn refused_name(error: ClientError, name: &str) -> CommandError {
    match &error {
        ClientError::Api(refused) if refused.code == NAME_OWNS_SESSIONS => has_sessions(name),
        ClientError::Api(refused) if refused.status == 409 => taken(name),
        _ => error.into(),
    }
}

/// The server's form of a user as the store's: the state in a word.
fn as_stored(mut user: Value) -> Value {
    if let Some(fields) = user.as_object_mut() {
        let disabled = fields.remove("disabled") == Some(Value::Bool(true));
        fields.insert("state".into(), if disabled { "disabled" } else { ACTIVE }.into());
    }
    user
}

//! `headwater login`, `logout` and `context`: servers that are stored with their tokens.

use headwater_client::{Client, Method};
use serde_json::{Value, json};

use super::user::read_hidden;
use crate::args::{ContextAction, ContextArgs, LoginArgs, LogoutArgs};
use crate::contexts::{Context, Contexts, LOCAL};
use crate::error::{CommandError, ErrorKind};
use crate::escape::printable;
use crate::output::{print_json, print_line, print_note};
use crate::resolve::segment;
use crate::view::{Table, field};

/// Signs in and stores the context. `token` is that of `--token` or `HEADWATER_TOKEN`.
pub async fn login(args: &LoginArgs, token: Option<String>) -> Result<u8, CommandError> {
    let (url, in_url) = match args.url.split_once("/login?token=") {
        Some((url, token)) => (url.to_owned(), Some(token.to_owned())),
        None => (args.url.trim_end_matches('/').to_owned(), None),
    };
    let name = args.name.clone().unwrap_or_else(|| host(&url).to_owned());
    if name.is_empty() || name == LOCAL || name.chars().any(char::is_control) {
        return Err(CommandError::usage(format!("`{name}` cannot be the name of a context"))
            .hint("choose another one with `--name NAME`"));
    }
    let context = if let Some(user) = &args.user {
        by_password(url, user).await?
    } else {
        let token = match in_url.or(token.filter(|token| !token.is_empty())) {
            Some(token) => token,
            None => read_hidden(&format!("Token for {url}: "))?,
        };
        Context { url, token, token_id: None }
    };
    let me = Client::new(&context.url, &context.token)?.call(Method::GET, "v1/me", &[], None).await?;
    let mut all = Contexts::load()?;
    let at = context.url.clone();
    all.contexts.insert(name.clone(), context);
    all.current = Some(name.clone());
    all.save()?;
    let user = printable(field(&me, "owner"));
    print_note(&format!(
        "headwater: signed in to {at} as {user}; `{}` is the current context",
        printable(&name)
    ));
    Ok(0)
}

/// Signs in with a password, and creates a token that is valid until `logout` revokes it.
async fn by_password(url: String, user: &str) -> Result<Context, CommandError> {
    let password = read_hidden(&format!("Password of {}: ", printable(user)))?;
    let request = json!({ "name": user, "password": password });
    let signed_in = Client::new(&url, "")?.call(Method::POST, "v1/login", &[], Some(&request)).await?;
    let client = Client::new(&url, field(&signed_in, "access_token"))?;
    let request = json!({ "name": "headwater login" });
    let created = client.call(Method::POST, "v1/tokens", &[], Some(&request)).await?;
    let token_id = created["id"].as_str().map(ToOwned::to_owned);
    Ok(Context { url, token: field(&created, "token").to_owned(), token_id })
}

/// The host of a URL, without the port.
fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = rest.split('/').next().unwrap_or(rest);
    match host.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => host,
    }
}

/// Removes a context, and revokes the token that `login` created for it.
pub async fn logout(args: &LogoutArgs) -> Result<u8, CommandError> {
    let mut all = Contexts::load()?;
    let Some(name) = args.name.clone().or_else(|| all.current.clone()) else {
        return Err(CommandError::new(ErrorKind::NotFound, "you are not signed in to a server")
            .hint("`headwater context list` lists the stored contexts"));
    };
    let context = all.get(&name)?.clone();
    if let Some(id) = &context.token_id {
        let client = Client::new(&context.url, &context.token)?;
        let path = format!("v1/tokens/{}", segment(id));
        if let Err(error) = client.call(Method::DELETE, &path, &[], None).await {
            // The context is removed all the same: the user wants this machine to forget the token.
            print_note(&format!("headwater: the token was not revoked: {}", printable(&error.to_string())));
        }
    }
    all.contexts.remove(&name);
    all.current = all.current.filter(|current| *current != name);
    all.save()?;
    Ok(0)
}

/// Lists the contexts, or selects one.
pub fn context(args: ContextArgs) -> Result<u8, CommandError> {
    let mut all = Contexts::load()?;
    match args.action {
        Some(ContextAction::Use { name }) => {
            if name == LOCAL {
                all.current = None;
            } else {
                all.get(&name)?;
                all.current = Some(name);
            }
            all.save()?;
        }
        None => table(&all).iter().try_for_each(|line| print_line(line))?,
        Some(ContextAction::List { json: false }) => {
            table(&all).iter().try_for_each(|line| print_line(line))?;
        }
        Some(ContextAction::List { json: true }) => rows(&all).iter().try_for_each(print_json)?,
    }
    Ok(0)
}

/// The contexts without their tokens.
fn rows(all: &Contexts) -> Vec<Value> {
    let local = json!({ "name": LOCAL, "url": null, "current": all.current.is_none() });
    let stored = all.contexts.iter().map(|(name, context)| {
        json!({ "name": name, "url": context.url, "current": all.current.as_ref() == Some(name) })
    });
    std::iter::once(local).chain(stored).collect()
}

fn table(all: &Contexts) -> Vec<String> {
    let mut table = Table::new(&["CURRENT", "CONTEXT", "SERVER"]);
    for row in rows(all) {
        let current = if row["current"] == true { "*" } else { "" };
        let url = row["url"].as_str().unwrap_or("the worker on this machine");
        table.row([current.to_owned(), printable(field(&row, "name")), printable(url)]);
    }
    table.lines()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot;

    #[test]
    fn a_context_is_named_after_the_host() {
        for (url, name) in [
            ("https://a.example:8443/x", "a.example"),
            ("http://127.0.0.1:8080", "127.0.0.1"),
            ("localhost:8080", "localhost"),
            ("https://a.example", "a.example"),
        ] {
            assert_eq!(host(url), name);
        }
    }

    #[test]
    fn the_table_shows_the_current_context_and_no_token() {
        let mut all = Contexts { current: Some("prod".into()), ..Contexts::default() };
        let prod = Context { url: "https://a.example".into(), token: "SECRET".into(), token_id: None };
        all.contexts.insert("prod".into(), prod);
        let lines = table(&all).join("\n");
        assert!(!lines.contains("SECRET"));
        snapshot::assert("context-list", &lines);
    }
}

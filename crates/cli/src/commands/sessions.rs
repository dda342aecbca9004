//! `headwater sessions`: list, show, create and end sessions.

use headwater_protocol::api::{SessionBody, SessionStateName};
use headwater_protocol::{Limits, SandboxKind, SessionSpec};

use crate::args::{CreateArgs, EndArgs, ListArgs, SessionsAction, SessionsArgs, Variable, millis};
use crate::confirm::confirm;
use crate::connect::Place;
use crate::engine::Engine;
use crate::error::{CommandError, ErrorKind};
use crate::escape::{self, printable};
use crate::output::{say, say_json};
use crate::view::{self, Table};
use crate::{resolve, words};

/// Does it.
pub async fn sessions(place: &Place, args: SessionsArgs) -> Result<u8, CommandError> {
    let before = args.list;
    if before != ListArgs::default() && !matches!(args.action, None | Some(SessionsAction::List(_))) {
        return Err(CommandError::usage("flags of a list in front of something else")
            .hint("write them at the end: `headwater sessions show SESSION --json`"));
    }
    match args.action {
        None => list(place, before.all, before.json).await?,
        Some(SessionsAction::List(list_args)) => {
            list(place, list_args.all || before.all, list_args.json || before.json).await?;
        }
        Some(SessionsAction::Create(args)) => create(place, &args).await?,
        Some(SessionsAction::Show { session, json }) => show(place, &session, json).await?,
        Some(SessionsAction::End(args)) => end(place, &args).await?,
    }
    Ok(0)
}

async fn list(place: &Place, include_ended: bool, json: bool) -> Result<(), CommandError> {
    let engine = place.existing_engine().await?;
    let mut all = engine.sessions(include_ended).await?;
    all.sort_by_key(|session| (session.created_at, session.id));
    if json {
        return all.iter().try_for_each(|session| say_json(&view::object(session)));
    }
    let mut table = Table::new(&["SESSION", "NAME", "STATE", "SANDBOX", "CREATED", "RUNNING"]);
    for session in &all {
        let plain = |text: String| (text.clone(), text);
        table.painted_row([
            plain(table.id(&session.id)),
            plain(printable(session.name.as_deref().unwrap_or("-"))),
            plain(state(session).to_owned()),
            view::sandbox(session.sandbox, table.style()),
            plain(words::ago(session.created_at.0)),
            plain(session.running.to_string()),
        ]);
    }
    table.lines().iter().try_for_each(|line| say(line))
}

const fn state(session: &SessionBody) -> &'static str {
    match session.state {
        SessionStateName::Ready => "ready",
        SessionStateName::Hibernated => "hibernated",
        SessionStateName::Ended => "ended",
    }
}

async fn create(place: &Place, args: &CreateArgs) -> Result<(), CommandError> {
    let limits = Limits { wall_ms: args.timeout.map(millis), ..args.limits.limits() };
    let spec = SessionSpec {
        name: args.name.clone(),
        env: Variable::collect(&args.env),
        limits,
        idle_timeout_ms: args.idle_timeout.map(millis),
        ..SessionSpec::default()
    };
    spec.check().map_err(|error| CommandError::usage(error.to_string()))?;
    let mut place = place.clone();
    place.sandbox = args.sandbox.map(SandboxKind::from);
    let engine = place.engine().await?;
    if let Some(name) = &spec.name {
        check_is_free(&engine, name).await?;
    }
    let session = engine.create_session(&spec).await?;
    if args.json { say_json(&view::object(&session)) } else { say(&session.id.to_string()) }
}

/// A name that two sessions had would name neither.
async fn check_is_free(engine: &Engine, name: &str) -> Result<(), CommandError> {
    let all = engine.sessions(false).await?;
    let Some(other) = all.iter().find(|session| session.name.as_deref() == Some(name)) else {
        return Ok(());
    };
    let message = format!("there is a session `{name}` already: {}", other.id);
    Err(CommandError::new(ErrorKind::Refused, message)
        .hint(format!("`headwater run --session {name}` uses it, `headwater sessions end {name}` ends it")))
}

async fn show(place: &Place, text: &str, json: bool) -> Result<(), CommandError> {
    let engine = place.existing_engine().await?;
    let id = resolve::session(&engine, text).await?;
    let session = engine.session(id).await?;
    let value = view::object(&session);
    if json {
        return say_json(&value);
    }
    let mut table = Table::new(&["SESSION", &session.id.to_string()]);
    for (name, value) in value.as_object().into_iter().flatten() {
        let text = match value {
            serde_json::Value::Null => continue,
            serde_json::Value::String(text) => printable(text),
            other => escape::json(other),
        };
        if name != "id" && text != "{}" {
            table.row([name.clone(), text]);
        }
    }
    table.lines().iter().try_for_each(|line| say(line))
}

async fn end(place: &Place, args: &EndArgs) -> Result<(), CommandError> {
    let engine = place.existing_engine().await?;
    let mut ids = Vec::new();
    for text in &args.sessions {
        ids.push(resolve::session(&engine, text).await?);
    }
    let (what, whose) = match args.sessions.as_slice() {
        [one] => (format!("the session `{}`", printable(one)), "its"),
        all => (format!("{} sessions", all.len()), "their"),
    };
    let lost = if args.keep_logs {
        format!("{whose} workspace and snapshots are deleted, {whose} executions and logs stay")
    } else {
        format!("{whose} workspace, snapshots, executions and logs are deleted")
    };
    confirm(&format!("end {what}: {lost}"), args.yes || args.forget)?;
    for id in ids {
        engine.end_session(id, args.keep_logs).await?;
    }
    Ok(())
}

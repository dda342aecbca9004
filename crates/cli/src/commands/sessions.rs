//! `headwater sessions`: list, show, create and end sessions.

use headwater_protocol::api::{SessionBody, SessionStateName};
use headwater_protocol::{Limits, SandboxKind, SessionId, SessionSpec};

use crate::args::{CreateArgs, EndArgs, ListArgs, SessionsAction, SessionsArgs, Variable, millis};
use crate::confirm::confirm;
use crate::connect::Place;
use crate::engine::Engine;
use crate::error::{CommandError, ErrorKind};
use crate::escape::{self, printable};
use crate::output::{print_json, print_line, print_list};
use crate::view::{self, Table};
use crate::{humanize, resolve};

/// Runs the action.
pub async fn sessions(place: &Place, args: SessionsArgs) -> Result<u8, CommandError> {
    let before = args.list;
    if before != ListArgs::default() && !matches!(args.action, None | Some(SessionsAction::List(_))) {
        return Err(misplaced_flags());
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

fn misplaced_flags() -> CommandError {
    CommandError::usage("flags of `list` before another action")
        .hint("put them last: `headwater sessions show SESSION --json`")
}

async fn list(place: &Place, include_ended: bool, json: bool) -> Result<(), CommandError> {
    let engine = place.existing_engine().await?;
    let mut all = engine.sessions(include_ended).await?;
    all.sort_by_key(|session| (session.created_at, session.id));
    print_list(&all, json, table)
}

fn table(all: &[SessionBody]) -> Vec<String> {
    let mut table = Table::new(&["SESSION", "NAME", "STATE", "SANDBOX", "CREATED", "RUNNING"]);
    for session in all {
        let plain = |text: String| (text.clone(), text);
        table.painted_row([
            plain(table.id(&session.id)),
            plain(printable(session.name.as_deref().unwrap_or("-"))),
            plain(state(session).to_owned()),
            view::sandbox(session.sandbox, table.style()),
            plain(humanize::ago(session.created_at.0)),
            plain(session.running.to_string()),
        ]);
    }
    table.lines()
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
        network: args.network.map(Into::into).unwrap_or_default(),
        ..SessionSpec::default()
    };
    spec.check().map_err(|error| CommandError::usage(error.to_string()))?;
    let mut place = place.clone();
    place.sandbox = args.sandbox.map(SandboxKind::from);
    let engine = place.engine().await?;
    if let Some(name) = &spec.name
        && matches!(engine, Engine::Local(_))
    {
        check_is_free(&engine, name).await?;
    }
    let session = engine.create_session(&spec).await?;
    if args.json { print_json(&view::object(&session)) } else { print_line(&session.id.to_string()) }
}

/// Names of the sessions of one owner are unique, so that a name identifies a session. A server checks it itself.
pub async fn check_is_free(engine: &Engine, name: &str) -> Result<(), CommandError> {
    let all = engine.sessions(false).await?;
    let is_taken =
        |session: &&SessionBody| session.name.as_deref() == Some(name) && resolve::is_local(session);
    let Some(other) = all.iter().find(is_taken) else {
        return Ok(());
    };
    Err(taken(name, other.id))
}

fn taken(name: &str, id: SessionId) -> CommandError {
    let message = format!("a session `{name}` already exists: {id}");
    CommandError::new(ErrorKind::Refused, message)
        .hint(format!("`headwater run --session {name}` uses it, `headwater sessions end {name}` ends it"))
}

async fn show(place: &Place, text: &str, json: bool) -> Result<(), CommandError> {
    let engine = place.existing_engine().await?;
    let id = resolve::session(&engine, text).await?;
    let session = engine.session(id).await?;
    if json {
        return print_json(&view::object(&session));
    }
    details(&session).iter().try_for_each(|line| print_line(line))
}

/// One session as text: all fields that are set.
fn details(session: &SessionBody) -> Vec<String> {
    let value = view::object(session);
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
    table.lines()
}

async fn end(place: &Place, args: &EndArgs) -> Result<(), CommandError> {
    let engine = place.existing_engine().await?;
    let mut ids = Vec::new();
    for text in &args.sessions {
        ids.push(resolve::session(&engine, text).await?);
    }
    confirm(&question(&args.sessions, args.keep_logs), args.yes || args.forget)?;
    for id in ids {
        engine.end_session(id, args.keep_logs).await?;
    }
    Ok(())
}

/// The question before sessions are ended: what is deleted.
fn question(sessions: &[String], keep_logs: bool) -> String {
    let (what, workspace) = match sessions {
        [one] => (format!("session `{}`", printable(one)), "its workspace"),
        all => (format!("{} sessions", all.len()), "their workspaces"),
    };
    let effect = if keep_logs {
        format!("delete {workspace} and snapshots, and keep executions and logs")
    } else {
        format!("delete {workspace}, snapshots, executions and logs")
    };
    format!("end {what}: {effect}")
}

#[cfg(test)]
mod tests {
    use headwater_protocol::{Session, SessionState, now_ms};

    use super::*;
    use crate::snapshot;

    fn session(id: u32, name: Option<&str>, sandbox: SandboxKind, state: SessionState) -> SessionBody {
        let limits = Limits { memory_bytes: Some(1 << 30), ..Limits::default() };
        SessionBody::from(Session {
            id: format!("ses_{id:032x}").parse().unwrap(),
            spec: SessionSpec { name: name.map(Into::into), limits, ..SessionSpec::default() },
            sandbox,
            state,
            created_at_ms: now_ms() - 25 * 3_600_000,
            running: id - 1,
        })
    }

    #[test]
    fn lists_details_questions_and_errors_match_their_snapshots() {
        let all = [
            session(1, None, SandboxKind::Full, SessionState::Hibernated),
            session(2, Some("work"), SandboxKind::None, SessionState::Ready),
            session(3, Some("old\u{1b}[2J"), SandboxKind::Full, SessionState::Ended { ended_at_ms: 0 }),
        ];
        snapshot::assert("sessions-list", &table(&all).join("\n"));
        let mut one = all[1].clone();
        one.created_at.0 = 0;
        snapshot::assert("sessions-show", &details(&one).join("\n"));
        let (one, two) = (["work".to_owned()], ["a".to_owned(), "b".to_owned()]);
        let asked = [(&one[..], false), (&one, true), (&two, false), (&two, true)];
        let asked = asked.map(|(sessions, keep_logs)| question(sessions, keep_logs));
        snapshot::assert("sessions-end", &asked.join("\n"));
        snapshot::assert_errors("sessions-errors", &[misplaced_flags(), taken("work", all[1].id)]);
    }
}

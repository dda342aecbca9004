//! Resolves an id, a unique id prefix or a session's name to a session or an execution.

use headwater_client::Method;
use headwater_protocol::api::{SessionBody, SessionStateName, percent_encoded};
use headwater_protocol::{ExecutionId, SessionId};
use serde_json::Value;

use crate::engine::{Engine, Which};
use crate::error::{CommandError, ErrorKind};

/// The hint if a session is not found.
const LIST_SESSIONS: &str = "`headwater sessions list --all` lists them";
/// The metadata key of a session's owner, which the gateway sets.
const OWNER: &str = "headwater.owner";
/// Candidates listed in an error.
const MAX_CANDIDATES: usize = 5;

/// Finds an execution.
pub async fn execution(engine: &Engine, text: &str) -> Result<ExecutionId, CommandError> {
    if let Ok(id) = text.parse() {
        return Ok(id);
    }
    let all = engine.executions(None, Which::All).await?;
    let ids: Vec<ExecutionId> = all.iter().map(|execution| execution.id).collect();
    let error = match by_prefix("exe_", &ids, text) {
        Ok(id) => return Ok(id),
        Err(error) => error,
    };
    Err(no_execution(error, text))
}

fn no_execution(error: NoSuch, text: &str) -> CommandError {
    if text.starts_with("ses_") {
        CommandError::usage(format!("`{text}` is a session, not an execution"))
            .hint(format!("`headwater ps --all --session {text}` lists its executions"))
    } else {
        error.of("execution", text).hint("`headwater ps --all` lists them")
    }
}

/// Finds a session by its id, its name or a unique prefix of its id; a name refers only to a session that has not ended.
/// A server finds it itself: names are unique among the sessions of an owner, and it knows whose they are.
pub async fn session(engine: &Engine, text: &str) -> Result<SessionId, CommandError> {
    if let Ok(id) = text.parse() {
        return Ok(id);
    }
    match engine {
        Engine::Local(_) => pick_session(&engine.sessions(true).await?, text),
        Engine::Remote(server) => {
            if matches!(text, "" | "." | "..") {
                return Err(NoSuch::None.of("session", text).hint(LIST_SESSIONS)); // not part of a URL
            }
            let path = &format!("v1/sessions/{}", segment(text));
            let found = server
                .retry_known_server(|server| async move { server.call(Method::GET, path, &[], None).await });
            match found.await.map_err(CommandError::from) {
                Ok(found) => parsed_id(&found),
                Err(error) if error.kind == ErrorKind::NotFound && !error.message.contains("several") => {
                    Err(NoSuch::None.of("session", text).hint(LIST_SESSIONS))
                }
                Err(error) => Err(error),
            }
        }
    }
}

fn parsed_id(session: &Value) -> Result<SessionId, CommandError> {
    let id = session["id"].as_str().and_then(|id| id.parse().ok());
    id.ok_or_else(|| CommandError::internal("the server returned a session without an id"))
}

fn pick_session(all: &[SessionBody], text: &str) -> Result<SessionId, CommandError> {
    let named = |session: &&SessionBody| {
        session.name.as_deref() == Some(text) && session.state != SessionStateName::Ended
    };
    let mut named: Vec<&SessionBody> = all.iter().filter(named).collect();
    // The worker has the sessions of all owners; those of the local command line come first.
    if named.iter().any(|session| is_local(session)) {
        named.retain(|session| is_local(session));
    }
    let named: Vec<SessionId> = named.iter().map(|session| session.id).collect();
    let found = match named.as_slice() {
        [] => {
            let ids: Vec<SessionId> = all.iter().map(|session| session.id).collect();
            by_prefix("ses_", &ids, text)
        }
        [one] => Ok(*one),
        many => Err(NoSuch::Many(many.iter().map(ToString::to_string).collect())),
    };
    found.map_err(|error| error.of("session", text).hint(LIST_SESSIONS))
}

/// Whether a session of the worker on this machine belongs to the local command line, and not to a user of a server.
pub fn is_local(session: &SessionBody) -> bool {
    !session.metadata.contains_key(OWNER)
}

/// A name or an id as one part of a path.
pub fn segment(text: &str) -> String {
    percent_encoded(text.as_bytes()).replace('/', "%2F")
}

#[derive(Debug, PartialEq, Eq)]
enum NoSuch {
    None,
    Many(Vec<String>),
}

impl NoSuch {
    fn of(self, what: &str, text: &str) -> CommandError {
        let message = match self {
            Self::None => format!("there is no {what} `{text}`"),
            Self::Many(ids) => {
                let more = if ids.len() > MAX_CANDIDATES { ", ..." } else { "" };
                let ids: Vec<_> = ids.into_iter().take(MAX_CANDIDATES).collect();
                format!("`{text}` matches several {what}s: {}{more}", ids.join(", "))
            }
        };
        CommandError::new(ErrorKind::NotFound, message)
    }
}

/// The only id with this prefix, given with or without `exe_` or `ses_`.
fn by_prefix<T: Copy + ToString>(prefix: &str, ids: &[T], text: &str) -> Result<T, NoSuch> {
    let digits = text.strip_prefix(prefix).unwrap_or(text);
    if digits.is_empty() {
        return Err(NoSuch::None);
    }
    let full = format!("{prefix}{digits}");
    let matches: Vec<T> = ids.iter().copied().filter(|id| id.to_string().starts_with(&full)).collect();
    match matches.as_slice() {
        [] => Err(NoSuch::None),
        [one] => Ok(*one),
        many => Err(NoSuch::Many(many.iter().map(ToString::to_string).collect())),
    }
}

#[cfg(test)]
mod tests {
    use headwater_protocol::{SandboxKind, Session, SessionSpec, SessionState};

    use super::*;
    use crate::snapshot;

    fn id(digits: &str) -> ExecutionId {
        format!("exe_{digits:0<32}").parse().unwrap()
    }

    fn session(digits: &str, name: Option<&str>, state: SessionState) -> SessionBody {
        SessionBody::from(Session {
            id: format!("ses_{digits:0<32}").parse().unwrap(),
            spec: SessionSpec { name: name.map(Into::into), ..SessionSpec::default() },
            sandbox: SandboxKind::Full,
            state,
            created_at_ms: 0,
            running: 0,
        })
    }

    #[test]
    fn a_unique_prefix_finds_an_execution_with_and_without_its_type() {
        let ids = [id("abc1"), id("abd2"), id("e")];
        for text in ["exe_abc", "abc", "exe_abc1"] {
            assert_eq!(by_prefix("exe_", &ids, text), Ok(ids[0]));
        }
        assert_eq!(by_prefix("exe_", &ids, "e"), Ok(ids[2]));
    }

    #[test]
    fn an_ambiguous_or_unknown_prefix_finds_nothing() {
        let ids = [id("abc1"), id("abd2")];
        assert!(matches!(by_prefix("exe_", &ids, "ab"), Err(NoSuch::Many(many)) if many.len() == 2));
        for text in ["f", "", "exe_", "ses_ab"] {
            assert_eq!(by_prefix("exe_", &ids, text), Err(NoSuch::None), "{text}");
        }
    }

    #[test]
    fn errors_match_their_snapshot() {
        let many = || NoSuch::Many((1..=7).map(|digit| id(&digit.to_string()).to_string()).collect());
        let sessions = [("3", "twin"), ("4", "twin")]
            .map(|(digits, name)| session(digits, Some(name), SessionState::Ready));
        snapshot::assert_errors(
            "resolve-errors",
            &[
                no_execution(NoSuch::None, "abc"),
                no_execution(many(), "abc"),
                no_execution(NoSuch::None, "ses_1"),
                pick_session(&sessions, "twin").unwrap_err(),
                pick_session(&sessions, "nobody").unwrap_err(),
            ],
        );
    }

    #[test]
    fn a_name_finds_the_session_that_has_not_ended() {
        let all = [
            session("1", Some("work"), SessionState::Ended { ended_at_ms: 1 }),
            session("2", Some("work"), SessionState::Ready),
            session("3", Some("twin"), SessionState::Ready),
            session("4", Some("twin"), SessionState::Ready),
            session("5", Some("sleeper"), SessionState::Hibernated),
        ];
        assert_eq!(pick_session(&all, "sleeper"), Ok(all[4].id));
        assert_eq!(pick_session(&all, "work"), Ok(all[1].id));
        assert_eq!(pick_session(&all, "ses_3"), Ok(all[2].id));
        assert!(pick_session(&all, "twin").unwrap_err().message.contains("several"));
        assert_eq!(pick_session(&all, "nobody").unwrap_err().kind, ErrorKind::NotFound);
    }
}

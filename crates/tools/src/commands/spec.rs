//! How commands are started: shell, environment, metadata.

use std::collections::BTreeMap;

use headwater_protocol::{SandboxKind, Session, StartSpec, TOOL_CALL_METADATA};

use super::Context;
use crate::agent::Agent;

/// The metadata key of the agent that started an execution.
pub const AGENT_METADATA: &str = "agent";
/// The metadata key of the tool.
const TOOL_METADATA: &str = "tool_name";
/// The metadata key of its arguments.
const ARGUMENTS_METADATA: &str = "tool_args";
/// The maximum size of arguments in the metadata, in bytes: the rest of its 64 KiB is the caller's.
const MAX_ARGUMENTS_BYTES: usize = 16 << 10;
/// The longest id of a call, in bytes.
const MAX_ID_BYTES: usize = 256;

/// The shell of commands, unless the session or the call names another.
const SHELL: &str = "bash";
/// A locale that every system has.
const UTF_8: &str = "C.UTF-8";

/// How the output of a command is shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct Display {
    pub(super) terminal: bool,
    pub(super) colours: bool,
}

/// The shell that runs a script: the one that the call names, or that of the session.
pub(super) fn shell_of(session: &Session, named: Option<&str>) -> String {
    let own = session.spec.env.get("SHELL").map(String::as_str);
    named.or(own).filter(|shell| !shell.is_empty()).unwrap_or(SHELL).to_owned()
}

/// The arguments that run a script.
pub(super) fn script(shell: String, login: bool, script: &str) -> Vec<String> {
    vec![shell, if login { "-lc" } else { "-c" }.to_owned(), script.to_owned()]
}

/// Variables that make output fit for a model: no colours, no pager, UTF-8. Variables of the session win.
pub(super) fn environment(session: &Session, display: Display) -> BTreeMap<String, String> {
    let has = |name: &str| session.spec.env.contains_key(name);
    let mut all = vec![("PAGER", "cat"), ("GIT_PAGER", "cat"), ("GH_PAGER", "cat")];
    if !has("LANG") && !has("LC_ALL") {
        all.extend([("LANG", UTF_8), ("LC_CTYPE", UTF_8), ("LC_ALL", UTF_8)]);
    }
    if !display.colours {
        all.extend([("NO_COLOR", "1"), ("COLORTERM", "")]);
    }
    if !display.terminal {
        all.push(("TERM", "dumb"));
    }
    let new = all.into_iter().filter(|(name, _)| !has(name));
    new.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// The metadata of an execution: agent, conversation, tool, call and arguments.
pub(super) fn metadata(context: &Context<'_>) -> BTreeMap<String, String> {
    let info = context.agent.info();
    let mut metadata = info.metadata.clone();
    let mut put = |key: &str, value: String| metadata.insert(key.to_owned(), value);
    put(AGENT_METADATA, info.name.clone());
    put(TOOL_METADATA, context.request.call.name().to_owned());
    if let Some(id) = &context.request.tool_call_id {
        put(
            TOOL_CALL_METADATA,
            id.get(..id.floor_char_boundary(MAX_ID_BYTES)).unwrap_or_default().to_owned(),
        );
    }
    // Without them, lists show the command.
    let arguments = serde_json::to_string(&context.request.call).unwrap_or_default();
    if (1..=MAX_ARGUMENTS_BYTES).contains(&arguments.len()) {
        put(ARGUMENTS_METADATA, arguments);
    }
    metadata
}

/// A spec with what all commands have in common.
pub(super) fn complete(context: &Context<'_>, spec: StartSpec, display: Display) -> StartSpec {
    let session = context.agent.session_info();
    StartSpec { env: environment(session, display), metadata: metadata(context), ..spec }
}

/// The absolute working directory of a command, as its program sees it.
pub(crate) fn working_directory(agent: &Agent, workdir: Option<&str>) -> String {
    let session = agent.session_info();
    let workspace = match (&session.spec.place, session.sandbox) {
        // The path that the person knows: `/workspace` leads there.
        (Some(place), _) => place.folder.clone(),
        (None, SandboxKind::Full) => "/workspace".to_owned(),
        (None, SandboxKind::None) => {
            let folder = agent.host().calls().socket().parent().unwrap_or_else(|| "".as_ref());
            folder.join("sessions").join(session.id.to_string()).join("workspace").display().to_string()
        }
    };
    match workdir {
        None | Some("") => workspace,
        Some(path) if path.starts_with('/') => path.to_owned(),
        Some(path) => format!("{workspace}/{path}"),
    }
}

#[cfg(test)]
mod tests {
    use headwater_protocol::{SessionId, SessionSpec, SessionState};

    use super::*;

    fn session(env: &[(&str, &str)]) -> Session {
        let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Session {
            id: SessionId::random(),
            spec: SessionSpec { env, ..SessionSpec::default() },
            sandbox: SandboxKind::Full,
            state: SessionState::Ready,
            created_at_ms: 0,
            running: 0,
        }
    }

    #[test]
    fn output_is_plain_unless_a_terminal_or_colours_are_asked_for() {
        let names = |terminal, colours| {
            let env = environment(&session(&[]), Display { terminal, colours });
            let has = |name: &str| env.contains_key(name);
            assert!(env.keys().all(|name| !name.starts_with("CODEX")) && has("PAGER") && has("LC_ALL"));
            (has("TERM"), has("NO_COLOR"))
        };
        assert_eq!(names(false, false), (true, true));
        assert_eq!(names(true, false), (false, true));
        assert_eq!(names(true, true), (false, false));
    }

    #[test]
    fn the_session_chooses_its_shell_and_its_variables_win() {
        let own = session(&[("SHELL", "/bin/zsh"), ("LANG", "de_DE.UTF-8")]);
        assert_eq!(shell_of(&own, None), "/bin/zsh");
        assert_eq!(shell_of(&own, Some("sh")), "sh");
        assert_eq!(shell_of(&session(&[]), None), "bash");
        let env = environment(&own, Display { terminal: false, colours: false });
        assert!(!env.contains_key("LANG") && !env.contains_key("LC_ALL"));
    }
}

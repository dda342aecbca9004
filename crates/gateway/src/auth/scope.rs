//! Scopes, which narrow down what a token may do. `files:write` includes `files:read`.

use std::fmt;
use std::str::FromStr;

use super::{Bounds, Need};
use crate::error::ApiError;
use crate::tools::FILE_TOOLS;

/// The area of the API that a request uses, by its path.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) enum Area {
    /// The server's own pages and the caller's identity: open to every token.
    Server,
    /// Sessions, without what is in them.
    Sessions,
    /// Executions and their output.
    Executions,
    /// Files of workspaces.
    Files,
    /// Terminals and recordings.
    Terminals,
    /// Builds and packages.
    Builds,
    /// Conversations with agents, and models. An agent works with all rights of its conversation's owner.
    Chat,
    /// API tokens.
    Tokens,
    /// The server's metrics.
    Metrics,
    /// Everything else, which no scope covers.
    #[default]
    Other,
}

impl Area {
    /// The areas that scopes exist for.
    const NAMED: [(Self, &str); 8] = [
        (Self::Sessions, "sessions"),
        (Self::Executions, "executions"),
        (Self::Files, "files"),
        (Self::Terminals, "terminals"),
        (Self::Builds, "builds"),
        (Self::Chat, "chat"),
        (Self::Tokens, "tokens"),
        (Self::Metrics, "metrics"),
    ];

    fn name(self) -> &'static str {
        Self::NAMED.iter().find(|(area, _)| *area == self).map_or("other", |(_, name)| name)
    }

    /// The area of a path. Only the fixed words of the routes count, never the parts that a client chooses.
    pub(crate) fn of(path: &str) -> Self {
        let rest = path.strip_prefix("/v1/").unwrap_or(path.trim_start_matches('/'));
        let words: Vec<&str> = rest.split('/').take(3).collect();
        match words.first().copied().unwrap_or_default() {
            "" | "docs" | "openapi.json" | "info" | "languages" | "me" | "tickets" | "logout" | "login"
            // Each call of a tool is authorised there.
            | "mcp" => {
                Self::Server
            }
            "sessions" => Self::in_session(&words),
            "tools" => Self::of_tool(words.get(1).copied().unwrap_or_default()),
            "executions" | "tool-progress" => Self::Executions,
            "conversations" if words.get(2) == Some(&"events") => Self::Executions,
            "chat" if words.get(1) == Some(&"executions") => Self::Executions,
            "conversations" | "chat" | "models" => Self::Chat,
            "terminals" | "recordings" => Self::Terminals,
            "builds" => Self::Builds,
            "tokens" => Self::Tokens,
            "metrics" if words.len() == 1 => Self::Metrics,
            _ => Self::Other,
        }
    }

    /// The area of a tool: the list of tools is open to every token, and tools for files belong to files.
    fn of_tool(name: &str) -> Self {
        match name {
            "" => Self::Server,
            name if FILE_TOOLS.contains(&name) => Self::Files,
            _ => Self::Executions,
        }
    }

    fn in_session(words: &[&str]) -> Self {
        // `/sessions/{id}/files` and `/sessions/execute/{language}`: ids have a prefix, words have none.
        let word = match words {
            [_, id] if id.starts_with("ses_") => "",
            [_, id, word] if id.starts_with("ses_") => word,
            [_, word, ..] => word,
            _ => "",
        };
        match word {
            "executions" | "execute" | "events" | "tool-calls" => Self::Executions,
            "files" | "file" | "tree" | "trees" | "search" | "watch" | "archive" | "snapshots"
            | "snapshot" | "export" | "import" | "diff" | "fork" | "restore" | "workspace" => Self::Files,
            "terminal" | "terminals" | "recordings" => Self::Terminals,
            "build" | "builds" | "packages" | "python" | "node" => Self::Builds,
            _ => Self::Sessions,
        }
    }
}

/// The right to read or write one area.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Scope {
    area: Area,
    writes: bool,
}

impl Scope {
    /// Whether this scope includes `other`.
    pub(crate) fn includes(self, other: Self) -> bool {
        self.area == other.area && (self.writes || !other.writes)
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.area.name(), if self.writes { "write" } else { "read" })
    }
}

impl FromStr for Scope {
    type Err = ApiError;

    fn from_str(text: &str) -> Result<Self, ApiError> {
        let unknown = || {
            let text: String = text.chars().take(64).collect();
            let areas = Area::NAMED.map(|(_, name)| format!("`{name}`")).join(", ");
            ApiError::invalid(format!("`{text}` is not a scope"))
                .hint(format!("a scope is an area ({areas}), `:`, and `read` or `write`"))
        };
        let (area, verb) = text.split_once(':').ok_or_else(unknown)?;
        let area = Area::NAMED.iter().find(|(_, name)| *name == area).ok_or_else(unknown)?.0;
        match verb {
            "read" => Ok(Self { area, writes: false }),
            "write" => Ok(Self { area, writes: true }),
            _ => Err(unknown()),
        }
    }
}

impl Bounds {
    /// Whether the scopes allow this in the area of the request.
    pub(crate) fn allows(&self, need: Need) -> bool {
        self.allows_in(self.area, need)
    }

    /// Whether the scopes allow this in an area.
    pub(crate) fn allows_in(&self, area: Area, need: Need) -> bool {
        let Some(scopes) = self.scopes.as_deref() else {
            return true;
        };
        let wanted = Scope { area, writes: need != Need::Read };
        (area == Area::Server && need == Need::Read) || scopes.iter().any(|scope| scope.includes(wanted))
    }
}

/// Checks scopes that an operator wrote, and returns them as they are stored. The error says what is wrong.
pub fn checked_scopes(texts: &[String]) -> Result<Vec<String>, String> {
    let check = |text: &String| text.parse::<Scope>().map(|scope| scope.to_string());
    texts
        .iter()
        .map(check)
        .collect::<Result<_, _>>()
        .map_err(|error| format!("{}: {}", error.message, error.hint))
}

/// The token has no scope for the request (403).
pub(crate) fn out_of_scope(area: Area, need: Need) -> ApiError {
    let scope = Scope { area, writes: need != Need::Read };
    let hint = if area == Area::Other {
        "use a token without scopes".into()
    } else {
        format!("use a token with the scope `{scope}`")
    };
    ApiError::forbidden("this token has no scope for this", hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_belong_to_areas_and_what_a_client_chose_does_not_count() {
        let id = "ses_00000000000000000000000000000000";
        for (path, area) in [
            ("/".to_owned(), Area::Server),
            ("/v1/me".into(), Area::Server),
            ("/v1/sessions".into(), Area::Sessions),
            (format!("/v1/sessions/{id}"), Area::Sessions),
            (format!("/v1/sessions/{id}/members/files"), Area::Sessions),
            (format!("/v1/sessions/{id}/files/executions"), Area::Files),
            (format!("/v1/sessions/{id}/events"), Area::Executions),
            ("/v1/sessions/execute/bash".into(), Area::Executions),
            ("/v1/sessions/build/cpp".into(), Area::Builds),
            ("/v1/executions/exe_1/output".into(), Area::Executions),
            ("/tool-progress/x".into(), Area::Executions),
            ("/v1/chat/executions/x".into(), Area::Executions),
            ("/v1/chat".into(), Area::Chat),
            ("/v1/chat/executions/stream".into(), Area::Executions),
            ("/v1/models".into(), Area::Chat),
            ("/v1/conversations".into(), Area::Chat),
            ("/v1/conversations/c/events".into(), Area::Executions),
            ("/v1/conversations/events/log".into(), Area::Chat),
            ("/v1/tools".into(), Area::Server),
            ("/v1/tools/read_file".into(), Area::Files),
            ("/v1/tools/exec_command".into(), Area::Executions),
            ("/v1/tools/code_execution".into(), Area::Executions),
            (format!("/v1/sessions/{id}/tool-calls"), Area::Executions),
            ("/v1/tokens".into(), Area::Tokens),
            ("/v1/users/files".into(), Area::Other),
            ("/metrics".into(), Area::Metrics),
            ("/v1/metrics/x".into(), Area::Other),
            ("/v1/something/new".into(), Area::Other),
        ] {
            assert_eq!(Area::of(&path), area, "{path}");
        }
    }

    #[test]
    fn a_scope_has_one_text_and_writing_holds_reading() {
        for (_, name) in Area::NAMED {
            for verb in ["read", "write"] {
                let text = format!("{name}:{verb}");
                assert_eq!(text.parse::<Scope>().unwrap().to_string(), text);
            }
        }
        let (read, write): (Scope, Scope) = ("files:read".parse().unwrap(), "files:write".parse().unwrap());
        assert!(write.includes(read) && write.includes(write) && !read.includes(write));
        for bad in ["", "files", "files:", "files:all", "users:read", "other:read", "*", "FILES:read"] {
            assert_eq!(bad.parse::<Scope>().unwrap_err().status, 400, "{bad}");
        }
    }
}

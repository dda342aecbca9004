//! Decides about one command.

use super::rules::Verdict;
use super::script::simple_commands;
use super::trusted::only_reads;
use super::{ApprovalPolicy, Extra, Policy, Wanted};
use crate::error::ToolError;

/// What happens to a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// It runs, with what it wants.
    Run,
    /// A person is asked, for this reason.
    Ask(String),
    /// It is refused.
    Refuse(Refusal),
}

/// Why a command is refused, and what would be allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The reason.
    pub why: String,
    /// What the agent can do instead.
    pub instead: String,
}

impl From<Refusal> for ToolError {
    fn from(refusal: Refusal) -> Self {
        Self::new(format!("the command was not run: {}", refusal.why)).hint(refusal.instead)
    }
}

const INSIDE: &str = "Run it without sandbox_permissions: it then has the rights of the session";

impl Policy {
    /// Decides about a command.
    pub fn decide(&self, wanted: &Wanted) -> Decision {
        match self.rules.verdict(wanted) {
            Verdict::Forbid(rule) => {
                let reason = rule.reason.as_ref().map_or_else(String::new, |reason| format!(" ({reason})"));
                refuse(
                    format!("a rule of this project forbids `{}`{reason}", rule.prefix.join(" ")),
                    "Use another command, or ask the person to change the rule",
                )
            }
            Verdict::Ask(rule) => self.ask(format!("a rule asks for `{}`", rule.prefix.join(" "))),
            Verdict::Allow => Decision::Run,
            Verdict::Nothing if wanted.extra.is_empty() => self.plain(wanted),
            Verdict::Nothing => self.extended(wanted),
        }
    }

    /// A command with the rights of its session.
    fn plain(&self, wanted: &Wanted) -> Decision {
        if self.approval != ApprovalPolicy::UnlessTrusted {
            return Decision::Run;
        }
        let reads = wanted.env.is_empty()
            && simple_commands(&wanted.argv)
                .is_some_and(|commands| commands.iter().all(|command| only_reads(command)));
        if reads { Decision::Run } else { Decision::Ask("it is not known to only read".to_owned()) }
    }

    /// A command that wants more than the rights of its session.
    fn extended(&self, wanted: &Wanted) -> Decision {
        if self.granted.covers(&wanted.extra) {
            return self.plain(wanted);
        }
        let more = describe(&wanted.extra);
        match self.approval {
            ApprovalPolicy::Never => {
                refuse(format!("it asks for {more}, and nobody is asked (approval policy `never`)"), INSIDE)
            }
            ApprovalPolicy::OnFailure if !wanted.has_failed => refuse(
                format!("it asks for {more} before it has failed without (approval policy `on-failure`)"),
                "Run it without sandbox_permissions first, and ask for more only if that fails",
            ),
            _ => Decision::Ask(format!("it asks for {more}")),
        }
    }

    fn ask(&self, reason: String) -> Decision {
        if self.approval == ApprovalPolicy::Never {
            return refuse(
                format!("{reason}, and nobody is asked (approval policy `never`)"),
                "Use another command",
            );
        }
        Decision::Ask(reason)
    }
}

fn refuse(why: String, instead: &str) -> Decision {
    Decision::Refuse(Refusal { why, instead: instead.to_owned() })
}

/// What a command wants besides, as a list for people.
pub(super) fn describe(extra: &Extra) -> String {
    let mut parts = Vec::new();
    if extra.unsandboxed {
        parts.push("no isolation: everything that your account can do, with the network".to_owned());
    }
    if extra.network {
        parts.push("the network".to_owned());
    }
    for (what, paths) in [("read access to", &extra.read), ("write access to", &extra.write)] {
        if !paths.is_empty() {
            parts.push(format!("{what} {}", paths.join(", ")));
        }
    }
    for (limit, unit) in extra.limits.all() {
        parts.extend(limit.map(|limit| format!("up to {limit} {unit}")));
    }
    parts.join(", ")
}

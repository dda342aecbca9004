//! Approvals: which commands run at once, which need a person's consent, and which are refused.
//!
//! The policy decides who is asked. It is not a wall: what a command can do is limited by the isolation of its
//! session, whatever the policy says. So a command without an answer here still cannot leave its workspace.
//!
//! [`Policy::decide`] takes a [`Wanted`]: the exact argv, working directory, environment, and what the command
//! wants besides its session's rights. A consent holds for exactly that: [`Wanted::fingerprint`] binds it.

mod decide;
mod fingerprint;
mod limits;
mod question;
mod rules;
mod script;
#[cfg(test)]
mod tests;
mod trusted;

use std::collections::BTreeMap;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use decide::{Decision, Refusal};
pub use limits::MoreLimits;
pub use question::{PolicyError, Question, RuleKeeper, SharedPolicy};
pub use rules::{Action, Rule, RuleError, Rules};
pub use script::simple_commands;

/// When a person is asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalPolicy {
    /// Never: what needs consent is refused.
    Never,
    /// Only for a command that has failed with its session's rights.
    OnFailure,
    /// When the agent asks for more than its session's rights.
    #[default]
    OnRequest,
    /// For every command that is not known to only read.
    UnlessTrusted,
}

impl ApprovalPolicy {
    /// All policies.
    pub const ALL: [Self; 4] = [Self::Never, Self::OnFailure, Self::OnRequest, Self::UnlessTrusted];

    /// The name in settings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::OnFailure => "on-failure",
            Self::OnRequest => "on-request",
            Self::UnlessTrusted => "unless-trusted",
        }
    }
}

/// No policy has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no approval policy `{0}`: use never, on-failure, on-request or unless-trusted")]
pub struct UnknownPolicy(String);

impl FromStr for ApprovalPolicy {
    type Err = UnknownPolicy;

    fn from_str(name: &str) -> Result<Self, UnknownPolicy> {
        Self::ALL
            .into_iter()
            .find(|policy| policy.name() == name)
            .ok_or_else(|| UnknownPolicy(name.to_owned()))
    }
}

/// The policy of one project.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    /// When a person is asked.
    pub approval: ApprovalPolicy,
    /// What was decided before.
    pub rules: Rules,
    /// What a person has granted to all commands that ask for it.
    pub granted: Extra,
}

/// What a command wants besides its session's rights.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Extra {
    /// To run without the limits on files and network.
    #[serde(skip_serializing_if = "is_false")]
    pub unsandboxed: bool,
    /// Access to the network.
    #[serde(skip_serializing_if = "is_false")]
    pub network: bool,
    /// Paths outside the workspace to read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub read: Vec<String>,
    /// Paths outside the workspace to write.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub write: Vec<String>,
    /// Limits above those of the session.
    #[serde(skip_serializing_if = "MoreLimits::is_empty")]
    pub limits: MoreLimits,
}

impl Extra {
    /// Whether it is nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Adds what another one has.
    pub fn merge(&mut self, other: Self) {
        self.unsandboxed |= other.unsandboxed;
        self.network |= other.network;
        for (own, more) in [(&mut self.read, other.read), (&mut self.write, other.write)] {
            let new: Vec<String> = more.into_iter().filter(|path| !own.contains(path)).collect();
            own.extend(new);
        }
        self.limits.merge(&other.limits);
    }

    /// What it is, as a list for people.
    pub fn describe(&self) -> String {
        decide::describe(self)
    }

    /// Whether everything in `other` is also in this one.
    pub fn covers(&self, other: &Self) -> bool {
        let all = |own: &[String], others: &[String]| others.iter().all(|path| own.contains(path));
        let walls = self.unsandboxed
            || (!other.unsandboxed
                && (self.network || !other.network)
                && all(&self.write, &other.write)
                && other.read.iter().all(|path| self.read.contains(path) || self.write.contains(path)));
        walls && self.limits.covers(&other.limits)
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_false(value: &bool) -> bool {
    !*value
}

/// A command that is about to start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The program and its arguments. A shell command is `[shell, "-c", command]`.
    pub argv: Vec<String>,
    /// The working directory.
    pub workdir: String,
    /// Variables of this command only.
    pub env: BTreeMap<String, String>,
    /// The text that it reads, if the call gives it one.
    pub input: Option<String>,
    /// The session that it would run in.
    pub session: String,
    /// What it wants besides.
    pub extra: Extra,
    /// Whether the same command has failed with its session's rights.
    pub has_failed: bool,
}

//! Rules of a project: prefixes of commands that are allowed, asked for, or forbidden.

use serde::{Deserialize, Serialize};

use super::script::simple_commands;
use super::{Extra, Wanted};

/// The most rules of a project.
const MAX_RULES: usize = 1000;
/// The most words of a prefix.
const MAX_WORDS: usize = 64;
/// Programs that run whatever their arguments say: a prefix that ends there would allow everything.
const RUNNERS: &[&str] = &[
    "sh", "bash", "zsh", "dash", "ksh", "ash", "env", "sudo", "su", "doas", "xargs", "nohup", "nice",
    "timeout", "setsid", "python", "python3", "node", "perl", "ruby", "php", "deno", "bun", "awk", "find",
    "ssh", "eval", "exec",
];

/// What happens to a command that matches. The strictest of all matching rules holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// It runs without a question.
    Allow,
    /// A person is asked.
    Ask,
    /// It is refused.
    Forbid,
}

/// A rule for commands that begin with these words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The first words of the command.
    pub prefix: Vec<String>,
    /// What happens to it.
    pub action: Action,
    /// Only in this working directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workdir: Option<String>,
    /// What an allowed command gets besides its session's rights.
    #[serde(default, skip_serializing_if = "Extra::is_empty")]
    pub grants: Extra,
    /// Why, for the error of a refused command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Why a rule is not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// The prefix is empty.
    #[error("the prefix of a rule must have at least one word")]
    Empty,
    /// The prefix is too long.
    #[error("the prefix of a rule can have at most {MAX_WORDS} words")]
    TooLong,
    /// It would allow every command.
    #[error("a rule for `{0}` alone would allow every command: name the words that follow it")]
    TooBroad(String),
    /// It would allow a different program in every directory.
    #[error("a rule for `{0}`, a relative path, needs a working directory")]
    NeedsWorkdir(String),
    /// Too many rules.
    #[error("a project can have at most {MAX_RULES} rules")]
    TooMany,
}

impl Rule {
    /// A rule without conditions.
    pub fn new(prefix: &[&str], action: Action) -> Self {
        let prefix = prefix.iter().map(|word| (*word).to_owned()).collect();
        Self { prefix, action, workdir: None, grants: Extra::default(), reason: None }
    }

    /// Whether it can be added.
    pub fn check(&self) -> Result<(), RuleError> {
        let (first, rest) = self.prefix.split_first().ok_or(RuleError::Empty)?;
        if self.prefix.len() > MAX_WORDS {
            return Err(RuleError::TooLong);
        }
        let name = first.rsplit('/').next().unwrap_or(first);
        // `python -c` and `bash -lc` are as broad as `python` and `bash`.
        let is_open = rest.iter().all(|word| word.starts_with('-'));
        if self.action == Action::Allow && is_open && RUNNERS.contains(&name) {
            return Err(RuleError::TooBroad(self.prefix.join(" ")));
        }
        let is_relative = first.contains('/') && !first.starts_with('/');
        if self.action == Action::Allow && is_relative && self.workdir.is_none() {
            return Err(RuleError::NeedsWorkdir(first.clone()));
        }
        Ok(())
    }

    fn matches(&self, command: &[String], workdir: &str) -> bool {
        command.starts_with(&self.prefix) && self.workdir.as_deref().is_none_or(|only| only == workdir)
    }
}

/// The rules of a project, in the order in which they were made.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Rules(Vec<Rule>);

/// What the rules say about a whole command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict<'a> {
    /// No rule matches, or a part of a script is not allowed what the whole wants.
    Nothing,
    /// Every part is allowed, with what the command wants.
    Allow,
    /// A person is asked.
    Ask(&'a Rule),
    /// It is refused.
    Forbid(&'a Rule),
}

impl Rules {
    /// Adds a rule; a rule with the same prefix and directory is replaced.
    pub fn add(&mut self, rule: Rule) -> Result<(), RuleError> {
        rule.check()?;
        self.0.retain(|old| old.prefix != rule.prefix || old.workdir != rule.workdir);
        if self.0.len() >= MAX_RULES {
            return Err(RuleError::TooMany);
        }
        self.0.push(rule);
        Ok(())
    }

    /// Rules that were kept before; those that are no longer accepted are left out.
    pub fn of(rules: impl IntoIterator<Item = Rule>) -> Self {
        Self(rules.into_iter().filter(|rule| rule.check().is_ok()).take(MAX_RULES).collect())
    }

    /// All rules.
    pub fn all(&self) -> &[Rule] {
        &self.0
    }

    /// Checks rules that were read from a file.
    pub fn check(&self) -> Result<(), RuleError> {
        if self.0.len() > MAX_RULES {
            return Err(RuleError::TooMany);
        }
        self.0.iter().try_for_each(Rule::check)
    }

    pub(super) fn verdict(&self, wanted: &Wanted) -> Verdict<'_> {
        let Some(commands) = simple_commands(&wanted.argv) else { return self.by_words(wanted) };
        let mut asked = None;
        // Variables can change what a command does, for example `PATH` and `LD_PRELOAD`.
        let mut allowed = wanted.env.is_empty();
        for command in &commands {
            let matching: Vec<&Rule> =
                self.0.iter().filter(|rule| rule.matches(command, &wanted.workdir)).collect();
            match matching.iter().max_by_key(|rule| rule.action) {
                Some(rule) if rule.action == Action::Forbid => return Verdict::Forbid(rule),
                Some(rule) if rule.action == Action::Ask => asked = Some(*rule),
                // Rules do not widen each other: one of them must grant everything.
                _ => allowed &= matching.iter().any(|rule| rule.grants.covers(&wanted.extra)),
            }
        }
        match asked {
            Some(rule) => Verdict::Ask(rule),
            None if allowed => Verdict::Allow,
            None => Verdict::Nothing,
        }
    }

    /// A script that cannot be split is never allowed by a rule. It is refused or asked for if the words of such a
    /// rule occur in it.
    fn by_words(&self, wanted: &Wanted) -> Verdict<'_> {
        let text = wanted.argv.join(" ");
        let is_separator = |ch: char| ch.is_whitespace() || ";|&(){}<>`'\"$".contains(ch);
        let words: Vec<&str> = text.split(is_separator).filter(|word| !word.is_empty()).collect();
        let occurs = |rule: &&Rule| {
            rule.action != Action::Allow
                && rule.workdir.as_deref().is_none_or(|only| only == wanted.workdir)
                && words.windows(rule.prefix.len()).any(|window| window.iter().eq(rule.prefix.iter()))
        };
        match self.0.iter().filter(occurs).max_by_key(|rule| rule.action) {
            Some(rule) if rule.action == Action::Forbid => Verdict::Forbid(rule),
            Some(rule) => Verdict::Ask(rule),
            None => Verdict::Nothing,
        }
    }
}

//! A question to a person, and the policy that their answers change.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::decide::describe;
use super::{ApprovalPolicy, Decision, Extra, Policy, Rule, RuleError, Rules, Wanted};

/// The longest part of an agent's justification that is shown, in characters.
const MAX_JUSTIFICATION: usize = 500;

/// A command that runs only if a person consents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The command.
    pub wanted: Wanted,
    /// Why the person is asked.
    pub reason: String,
    /// What the agent says about it. Nobody has checked that it is true.
    pub justification: Option<String>,
    /// The rule that would allow commands like this from now on, if the agent proposes one.
    pub rule: Option<Rule>,
}

impl Question {
    /// The text for the person. The command comes first, exactly as it would run; the words of the agent are marked as
    /// such, and control characters are visible.
    pub fn text(&self) -> String {
        let Wanted { argv, workdir, extra, input, .. } = &self.wanted;
        let command = match argv.as_slice() {
            [_, flag, script] if matches!(flag.as_str(), "-c" | "-lc") => script.clone(),
            words => words.iter().map(|word| format!("{word:?}")).collect::<Vec<_>>().join(" "),
        };
        let mut parts = vec![format!("Run this command in {}?", in_line(workdir)), block(&command)];
        if let Some(input) = input {
            parts.push(format!("It would read this input:\n\n{}", block(input)));
        }
        if !extra.is_empty() {
            parts.push(format!("It would get: {}", in_line(&describe(extra))));
        }
        parts.push(format!("You are asked because {}.", in_line(&self.reason)));
        if let Some(justification) = &self.justification {
            let said: String = justification.chars().take(MAX_JUSTIFICATION).collect();
            parts.push(format!("The agent says: {said:?}"));
        }
        parts.join("\n\n")
    }

    /// What the person would allow from now on, if the agent proposes a rule.
    pub fn rule_text(&self) -> Option<String> {
        let Rule { prefix, workdir, grants, .. } = self.rule.as_ref()?;
        let place = workdir.as_ref().map(|workdir| format!(" (in {})", in_line(workdir))).unwrap_or_default();
        let with =
            if grants.is_empty() { String::new() } else { format!(", with {}", in_line(&describe(grants))) };
        Some(format!("Always allow commands that begin with: {}{place}{with}", in_line(&prefix.join(" "))))
    }
}

/// Text of the agent as a block. Its lines are indented, so that none of them can pass for one of ours.
fn block(text: &str) -> String {
    visible(text).lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}

/// Text of the agent in a line of ours.
fn in_line(text: &str) -> String {
    visible(text).replace('\n', "\\n")
}

/// Control characters could hide a part of a command from the person who reads it.
fn visible(text: &str) -> String {
    let shown = |ch: char| match ch {
        '\n' | '\t' => ch.to_string(),
        ch if ch.is_control() || is_formatting(ch) => ch.escape_unicode().to_string(),
        ch => ch.to_string(),
    };
    text.chars().map(shown).collect()
}

/// Characters that change the order or the look of those around them.
const fn is_formatting(ch: char) -> bool {
    matches!(ch, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// Keeps the rules of a project for a server. They only allow: they come from the answers of a person, who is asked only
/// about what would otherwise not run.
#[async_trait]
pub trait RuleKeeper: std::fmt::Debug + Send + Sync {
    /// The rules as they are now.
    async fn rules(&self) -> Result<Rules, PolicyError>;

    /// Keeps one more.
    async fn add(&self, rule: Rule) -> Result<(), PolicyError>;
}

/// The policy of a project, shared by its agents.
#[derive(Debug, Clone, Default)]
pub struct SharedPolicy {
    policy: Arc<Mutex<Policy>>,
    kept: Kept,
}

/// Where rules are kept.
#[derive(Debug, Clone, Default)]
enum Kept {
    /// In the memory.
    #[default]
    Nowhere,
    /// In this file.
    File(PathBuf),
    /// By a server.
    Keeper(Arc<dyn RuleKeeper>),
}

/// The file of a project's rules.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    rules: Rules,
}

/// Why rules cannot be read or kept.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// The file cannot be read or written.
    #[error("cannot use the rules in `{0}`: {1}")]
    Io(String, io::Error),
    /// The file is not valid.
    #[error("the rules in `{0}` are not valid: {1}")]
    Malformed(String, serde_json::Error),
    /// A rule is not accepted.
    #[error(transparent)]
    Rule(#[from] RuleError),
    /// The server cannot read or keep rules.
    #[error("{0}")]
    Keeper(String),
}

impl SharedPolicy {
    /// A policy without rules, which keeps none.
    pub fn new(approval: ApprovalPolicy) -> Self {
        let policy = Policy { approval, ..Policy::default() };
        Self { policy: Arc::new(Mutex::new(policy)), kept: Kept::Nowhere }
    }

    /// The policy of a project whose rules are kept in this file, which need not exist. The file must be outside of what
    /// the agent can write.
    pub fn of_project(approval: ApprovalPolicy, file: &Path) -> Result<Self, PolicyError> {
        let rules = read(file)?;
        let policy = Arc::new(Mutex::new(Policy { approval, rules, ..Policy::default() }));
        Ok(Self { policy, kept: Kept::File(file.to_owned()) })
    }

    /// The policy of a project whose rules a server keeps.
    pub fn kept_by(approval: ApprovalPolicy, keeper: Arc<dyn RuleKeeper>) -> Self {
        Self { kept: Kept::Keeper(keeper), ..Self::new(approval) }
    }

    /// The policy as it is now, without the rules that a server keeps.
    pub fn get(&self) -> Policy {
        self.lock().clone()
    }

    /// Sets when a person is asked from now on.
    pub fn set_approval(&self, approval: ApprovalPolicy) {
        self.lock().approval = approval;
    }

    /// Sets what a person has granted to all commands that ask for it.
    pub fn set_granted(&self, granted: Extra) {
        self.lock().granted = granted;
    }

    /// Decides about a command.
    pub async fn decide(&self, wanted: &Wanted) -> Result<Decision, PolicyError> {
        let policy = self.get();
        let decision = policy.decide(wanted);
        match &self.kept {
            // Those rules only allow, so nothing is read for a command that runs anyway.
            Kept::Keeper(keeper) if decision != Decision::Run => {
                Ok(Policy { rules: keeper.rules().await?, ..policy }.decide(wanted))
            }
            _ => Ok(decision),
        }
    }

    /// Adds a rule, and keeps it. Rules that another process has added stay, and hold from now on.
    pub async fn add(&self, rule: Rule) -> Result<(), PolicyError> {
        match &self.kept {
            Kept::Nowhere => Ok(self.lock().rules.add(rule)?),
            Kept::File(file) => self.add_to(file, rule),
            Kept::Keeper(keeper) => keeper.add(rule).await,
        }
    }

    fn add_to(&self, file: &Path, rule: Rule) -> Result<(), PolicyError> {
        let mut policy = self.lock();
        let failed = |error| PolicyError::Io(file.display().to_string(), error);
        let _lock = lock(file).map_err(failed)?;
        let mut rules = read(file)?;
        rules.add(rule)?;
        save(file, &rules).map_err(failed)?;
        policy.rules = rules;
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Policy> {
        self.policy.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read(file: &Path) -> Result<Rules, PolicyError> {
    let name = || file.display().to_string();
    let bytes = match fs::read(file) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Rules::default()),
        Err(error) => return Err(PolicyError::Io(name(), error)),
    };
    let File { rules } =
        serde_json::from_slice(&bytes).map_err(|error| PolicyError::Malformed(name(), error))?;
    rules.check()?;
    Ok(rules)
}

/// Held while rules are read and written, so that two agents of a project do not overwrite each other's. The lock file
/// stays: a file that is replaced cannot be locked.
fn lock(file: &Path) -> io::Result<fs::File> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    let held = fs::File::create(file.with_extension("lock"))?;
    held.lock()?;
    Ok(held)
}

/// Writes all rules, or changes nothing.
fn save(file: &Path, rules: &Rules) -> io::Result<()> {
    let beside = file.with_extension("new");
    let mut new = fs::File::create(&beside)?;
    serde_json::to_writer_pretty(&mut new, &File { rules: rules.clone() })?;
    new.write_all(b"\n")?;
    new.sync_all()?;
    fs::rename(&beside, file)
}

//! Consent of a person, for commands that need it.

use std::collections::BTreeMap;

use headwater_protocol::{Command, Execution, StartSpec, Stdin};

use super::Context;
use super::find::{is_own, of_session};
use super::spec::working_directory;
use crate::error::ToolError;
use crate::host::nothing_to_grant;
use crate::policy::{Action, ApprovalPolicy, Decision, Extra, Question, Rule, Wanted, simple_commands};
use crate::schema::{Call, Permissions, SandboxPermissions};

/// The metadata key of a command's digest, by which a later call finds that it has failed.
const FINGERPRINT_METADATA: &str = "command_digest";

/// What is allowed without a person, for a command that asks for more than its session's rights.
const ASKED_FOR_MORE: &str =
    "run the command without sandbox_permissions: it then has the rights of the session";
/// The same for a command with the rights of its session.
const ASKED_FOR_CHANGES: &str = "run commands that only read, such as ls, cat, rg or git diff, and those that a rule \
    of this project allows; ask the person to add a rule or to choose another policy (--approvals)";

/// What a call asks for besides the rights of its session.
#[derive(Debug, Default)]
struct Asked<'a> {
    permissions: SandboxPermissions,
    additional: Option<&'a Permissions>,
    justification: Option<&'a str>,
    prefix: Option<&'a [String]>,
}

impl<'a> Asked<'a> {
    fn of(call: &'a Call) -> Self {
        match call {
            Call::ExecCommand(asked) => Self {
                permissions: asked.sandbox_permissions,
                additional: asked.additional_permissions.as_ref(),
                justification: asked.justification.as_deref(),
                prefix: asked.prefix_rule.as_deref(),
            },
            Call::Shell(asked) => Self {
                permissions: asked.sandbox_permissions,
                justification: asked.justification.as_deref(),
                prefix: asked.prefix_rule.as_deref(),
                ..Self::default()
            },
            Call::ShellCommand(asked) => Self {
                permissions: asked.sandbox_permissions,
                justification: asked.justification.as_deref(),
                prefix: asked.prefix_rule.as_deref(),
                ..Self::default()
            },
            _ => Self::default(),
        }
    }
}

/// Decides about a command, and notes its digest in the metadata. Returns what it gets besides its session's rights.
///
/// With `decided`, the same call has been decided before: it is another attempt to start the same script.
pub(super) async fn check(
    context: &Context<'_>,
    spec: &mut StartSpec,
    decided: bool,
) -> Result<Extra, ToolError> {
    let agent = context.agent;
    let asked = Asked::of(&context.request.call);
    let mut wanted = Wanted {
        argv: argv(&spec.command),
        workdir: working_directory(agent, spec.cwd.as_deref()),
        env: BTreeMap::new(), // no tool sets variables
        input: input(&spec.stdin),
        session: agent.session().to_string(),
        extra: Extra::default(),
        has_failed: false,
    };
    let plain = wanted.fingerprint();
    spec.metadata.insert(FINGERPRINT_METADATA.to_owned(), plain.clone());
    wanted.extra = extra(&asked)?;
    let policy = &agent.info().policy;
    if policy.get().approval == ApprovalPolicy::OnFailure && !wanted.extra.is_empty() {
        wanted.has_failed = has_failed(context, &plain).await?;
    }
    let is_allowed = decided || context.request.approved.as_deref() == Some(wanted.fingerprint().as_str());
    match policy.decide(&wanted).await.map_err(|error| ToolError::new(error.to_string()))? {
        Decision::Run => Ok(wanted.extra),
        Decision::Ask(_) if is_allowed => Ok(wanted.extra),
        Decision::Ask(_) if !wanted.extra.is_empty() && !context.agent.host().can_grant() => {
            Err(nothing_to_grant())
        }
        Decision::Ask(reason) => Err(needs_consent(wanted, reason, &asked)),
        Decision::Refuse(refusal) => Err(refusal.into()),
    }
}

/// The arguments that a command stands for.
fn argv(command: &Command) -> Vec<String> {
    match command {
        Command::Argv(argv) => argv.clone(),
        Command::Shell(shell) => vec!["sh".to_owned(), "-c".to_owned(), shell.clone()],
        Command::Code { language, code, args, .. } => {
            let mut all = vec![language.clone(), "-".to_owned(), code.clone()];
            all.extend(args.iter().cloned());
            all
        }
    }
}

/// The input that a call gives its program: for a shell or an interpreter it is as good as a command.
fn input(stdin: &Stdin) -> Option<String> {
    match stdin {
        Stdin::Given(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        _ => None,
    }
}

fn extra(asked: &Asked<'_>) -> Result<Extra, ToolError> {
    match (asked.permissions, asked.additional) {
        (SandboxPermissions::UseDefault, None) => Ok(Extra::default()),
        (SandboxPermissions::RequireEscalated, None) => Ok(Extra { unsandboxed: true, ..Extra::default() }),
        (SandboxPermissions::WithAdditionalPermissions, Some(more)) => extra_of(more),
        _ => Err(ToolError::new("additional_permissions and sandbox_permissions do not fit together").hint(
            "Send additional_permissions together with sandbox_permissions \"with_additional_permissions\"",
        )),
    }
}

/// What these permissions are besides the rights of a session. Fails if they name nothing, or a path that is not plain.
pub fn extra_of(more: &Permissions) -> Result<Extra, ToolError> {
    let files = more.file_system.clone().unwrap_or_default();
    for path in files.read.iter().chain(&files.write) {
        check_path(path)?;
    }
    let extra = Extra {
        unsandboxed: false,
        network: more.network == Some(true),
        read: files.read,
        write: files.write,
        limits: more.limits.unwrap_or_default(),
    };
    if extra.is_empty() {
        return Err(ToolError::new("additional_permissions: names nothing")
            .hint("Name network, limits, or paths in file_system, or leave sandbox_permissions out"));
    }
    Ok(extra)
}

/// A path must mean the same to the person who reads it and to the walls.
fn check_path(path: &str) -> Result<(), ToolError> {
    let is_plain = path.starts_with('/')
        && !path.contains('\0')
        && path.split('/').skip(1).all(|part| !matches!(part, "." | ".."));
    if is_plain {
        return Ok(());
    }
    Err(ToolError::new(format!("additional_permissions: {path:?} is not an absolute path without . and .."))
        .hint("Name each path in full, for example /home/me/other-project"))
}

/// Whether the same command has failed with the rights of its session.
async fn has_failed(context: &Context<'_>, fingerprint: &str) -> Result<bool, ToolError> {
    let agent = context.agent;
    let failed = |execution: &Execution| {
        let digest = execution.spec.metadata.get(FINGERPRINT_METADATA).map(String::as_str);
        let verdict = execution.state.verdict();
        digest == Some(fingerprint) && verdict.is_some_and(|verdict| verdict.code != Some(0))
    };
    Ok(of_session(agent).await?.iter().any(|execution| is_own(agent, execution) && failed(execution)))
}

fn needs_consent(wanted: Wanted, reason: String, asked: &Asked<'_>) -> ToolError {
    let message = format!("the command was not run: a person must allow it, because {reason}");
    let rule = asked.prefix.and_then(|prefix| rule(prefix, &wanted));
    let justification = asked.justification.map(str::to_owned);
    let allowed = if wanted.extra.is_empty() { ASKED_FOR_CHANGES } else { ASKED_FOR_MORE };
    ToolError::new(message)
        .hint(format!("If this client cannot ask (elicitation), {allowed}"))
        .question(Question { wanted, reason, justification, rule })
}

/// The rule that the agent proposes, if all of the command begins with its words.
fn rule(prefix: &[String], wanted: &Wanted) -> Option<Rule> {
    let commands = simple_commands(&wanted.argv)?;
    let fits = commands.iter().all(|command| command.starts_with(prefix));
    let rule = Rule {
        prefix: prefix.to_vec(),
        action: Action::Allow,
        workdir: Some(wanted.workdir.clone()),
        grants: wanted.extra.clone(),
        reason: None,
    };
    // A rule that could not be kept is not offered.
    (fits && rule.check().is_ok()).then_some(rule)
}

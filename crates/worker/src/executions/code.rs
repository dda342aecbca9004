//! Prepares an execution of code: finds its language, uses the session's own environment if it has one, and applies the
//! limits of the language.

use std::sync::Arc;

use headwater_contract::{Fault, FaultKind};
use headwater_protocol::{Command, StartSpec};
use headwater_workspace::WorkspacePath;

use crate::executions::program::{find, not_installed};
use crate::languages::{Language, Languages};
use crate::sessions::session::Session;

/// The language, if the command is code, and the spec with the limits of that language.
pub(crate) async fn with_language(
    languages: &Languages,
    session: &Arc<Session>,
    mut spec: StartSpec,
) -> Result<(Option<Language>, StartSpec), Fault> {
    let Command::Code { language: name, .. } = &spec.command else {
        return Ok((None, spec));
    };
    let language = language(languages, name).await?;
    spec.limits = spec.limits.tightest(&language.limits);
    Ok((Some(in_environment(session, language).await?), spec))
}

/// The language with this name.
async fn language(languages: &Languages, name: &str) -> Result<Language, Fault> {
    let entry = find(languages, name)?;
    if !entry.is_settled() {
        // The first call runs the tool to get its version.
        let (languages, name) = (languages.clone(), entry.name.clone());
        let settle = move || drop(languages.get(&name).map(|entry| entry.language().is_some()));
        let _ = tokio::task::spawn_blocking(settle).await;
    }
    entry.language().cloned().ok_or_else(|| not_installed(entry))
}

/// Uses the interpreter of the session's environment, if it exists: checked at each start.
async fn in_environment(session: &Arc<Session>, language: Language) -> Result<Language, Fault> {
    let Some(environment) = language.environment.clone() else {
        return Ok(language);
    };
    let home = session.home();
    let path = WorkspacePath::parse(&environment, &home)?;
    let (workspace, looked_for) = (session.workspace()?, path.clone());
    let look = move || workspace.find(&looked_for).is_ok();
    let is_there = tokio::task::spawn_blocking(look)
        .await
        .map_err(|error| Fault::new(FaultKind::Internal, format!("cannot read the workspace: {error}")))?;
    Ok(if is_there { language.with_interpreter(path.in_session(&home)) } else { language })
}

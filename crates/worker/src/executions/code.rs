//! The language of an execution's code: which way it runs here, with the session's own environment if it has one, and
//! within the language's limits.

use std::sync::Arc;

use headwater_contract::{Fault, FaultKind};
use headwater_protocol::{Command, StartSpec};
use headwater_workspace::WorkspacePath;

use crate::executions::program::{find, missing};
use crate::languages::{Language, Languages};
use crate::sessions::session::Session;

/// The language of what is to be started, if it is code, and what is to be started within that language's limits.
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

/// The language of this name.
async fn language(languages: &Languages, name: &str) -> Result<Language, Fault> {
    let entry = find(languages, name)?;
    if !entry.is_settled() {
        // A tool is asked for its version, once.
        let (languages, name) = (languages.clone(), entry.name.clone());
        let settle = move || drop(languages.get(&name).map(|entry| entry.language().is_some()));
        let _ = tokio::task::spawn_blocking(settle).await;
    }
    entry.language().cloned().ok_or_else(|| missing(entry))
}

/// With the interpreter of the session's environment, if there is one: decided anew at each start.
async fn in_environment(session: &Arc<Session>, language: Language) -> Result<Language, Fault> {
    let Some(environment) = language.environment.clone() else {
        return Ok(language);
    };
    let home = session.home();
    let path = WorkspacePath::parse(&environment, &home)?;
    let (workspace, looked_for) = (session.workspace()?, path.clone());
    let look = move || workspace.find(&looked_for).is_ok();
    let is_there = tokio::task::spawn_blocking(look).await.map_err(|error| {
        Fault::new(FaultKind::Internal, format!("cannot look into the workspace: {error}"))
    })?;
    Ok(if is_there { language.with_interpreter(path.inside(&home)) } else { language })
}

//! `apply_patch`: reads the files that a patch names in one call, plans, and changes them in one call.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use headwater_contract::{ContractError, v1};

use super::state::PathState;
use super::{Files, MAX_ATTEMPTS, is_busy, is_outdated, paths};
use crate::error::ToolError;
use crate::outcome::Outcome;
use crate::patch::{self, Action, Change, FilePath, Kind, Patch, PatchError, Plan, Workspace};
use crate::schema::ApplyPatch;

pub(super) async fn apply_patch(files: &Files<'_>, args: &ApplyPatch) -> Result<Outcome, ToolError> {
    let patch = Arc::new(Patch::parse(&args.input).map_err(|error| refused(&error))?);
    if let Some(path) = patch.paths().find(|path| paths::has_control_character(path)) {
        return Err(paths::control_character(path));
    }
    let home: Arc<str> = files.home_for(patch.paths()).await?.into();
    let mut attempt = 1;
    loop {
        let plan = plan(files, &patch, &home).await?;
        if plan.changes.is_empty() {
            return Ok(Outcome::text(plan.summary())); // the files have the new content already
        }
        let summary = plan.summary();
        match files.change(plan.changes.into_iter().map(to_contract).collect()).await {
            Ok(_) => return Ok(Outcome::text(summary)),
            Err(error) if is_outdated(&error) && attempt < MAX_ATTEMPTS => attempt += 1,
            Err(error) => return Err(failed(error)),
        }
    }
}

fn refused(error: &PatchError) -> ToolError {
    ToolError::new(error.text())
}

fn failed(error: ContractError) -> ToolError {
    let is_busy = is_busy(&error);
    let ToolError { message, hint, .. } = error.into();
    let hint = match hint {
        _ if is_busy => {
            "wait until the program that writes these files is done, then send the patch again".into()
        }
        Some(hint) => hint,
        None => "send the patch again".into(),
    };
    ToolError::new(format!("The patch was not applied: {message}\nNext: {hint}.\nNo file was changed."))
}

/// Reads what the patch needs, and plans its changes.
async fn plan(files: &Files<'_>, patch: &Arc<Patch>, home: &Arc<str>) -> Result<Plan, ToolError> {
    let wanted = wanted(patch, home);
    let query = |(path, content): (&FilePath, &bool)| v1::PathQuery {
        path: path.as_str().to_owned().into(),
        content: *content,
    };
    let states = files.read_many(wanted.iter().map(query).collect()).await?;
    let loaded = Loaded::new(wanted.into_keys().zip(states));
    let (patch, home) = (Arc::clone(patch), Arc::clone(home));
    // A large patch takes a while, and this thread has others to serve.
    let planned = tokio::task::spawn_blocking(move || patch::plan(&patch, &home, &loaded)).await;
    let planned =
        planned.map_err(|error| ToolError::new(format!("the patch could not be planned: {error}")))?;
    planned.map_err(|error| refused(&error))
}

/// The paths that the plan depends on, and whether their content is needed. Invalid paths are left to the planner, whose
/// error names the line of the patch.
fn wanted(patch: &Patch, home: &str) -> BTreeMap<FilePath, bool> {
    let mut wanted = BTreeMap::new();
    for section in &patch.sections {
        let (target, content) = match &section.action {
            Action::Update { move_to, .. } => (move_to.as_deref(), true),
            Action::Add { .. } | Action::Delete => (None, false),
        };
        for (text, content) in [(Some(section.path.as_str()), content), (target, false)] {
            let Some(Ok(file)) = text.map(|text| FilePath::parse(text, home)) else { continue };
            for parent in file.parents() {
                wanted.entry(parent).or_insert(false);
            }
            *wanted.entry(file).or_insert(false) |= content;
        }
    }
    wanted
}

/// The part of the workspace that was read.
struct Loaded(BTreeMap<FilePath, (Result<Kind, String>, PathState)>);

impl Loaded {
    fn new(states: impl Iterator<Item = (FilePath, PathState)>) -> Self {
        let states: BTreeMap<FilePath, PathState> = states.collect();
        let is_link = |path: &FilePath| {
            let entry = states.get(path).and_then(|state| state.entry.as_ref());
            entry.is_some_and(|entry| entry.kind() == v1::FileKind::Link)
        };
        let below_link: BTreeSet<FilePath> = states
            .iter()
            .filter(|(path, state)| state.blocked && path.parents().any(|parent| is_link(&parent)))
            .map(|(path, _)| path.clone())
            .collect();
        let kind = |path: FilePath, state: PathState| {
            let kind = if below_link.contains(&path) {
                Err("a folder of its path is a symbolic link, which is not followed".to_owned())
            } else {
                kind_of(&state)
            };
            (path, (kind, state))
        };
        Self(states.into_iter().map(|(path, state)| kind(path, state)).collect())
    }
}

fn kind_of(state: &PathState) -> Result<Kind, String> {
    match (&state.entry, &state.error) {
        (Some(entry), _) => Ok(match entry.kind() {
            v1::FileKind::File => Kind::File { version: entry.etag.clone() },
            v1::FileKind::Folder => Kind::Folder,
            _ => Kind::Other,
        }),
        (None, Some(error)) if !state.blocked => Err(error.clone()),
        (None, _) => Ok(Kind::Nothing),
    }
}

impl Workspace for Loaded {
    fn kind(&self, path: &FilePath) -> Result<Kind, String> {
        self.0.get(path).map_or(Ok(Kind::Nothing), |(kind, _)| kind.clone())
    }

    fn read(&self, path: &FilePath) -> Result<Vec<u8>, String> {
        match self.0.get(path) {
            Some((_, PathState { error: Some(error), .. })) => Err(error.clone()),
            Some((Ok(Kind::File { .. }), state)) => Ok(state.bytes.to_vec()),
            _ => Err("it is not a regular file".to_owned()),
        }
    }
}

fn to_contract(change: Change) -> v1::FileChange {
    use v1::file_change::Action;
    let change_of = |path: &FilePath, expect, action| v1::FileChange {
        path: path.as_str().to_owned().into(),
        expect: Some(expect),
        action: Some(action),
        mode: None,
    };
    match change {
        Change::Create { path, bytes } => change_of(&path, expect(None), Action::Write(bytes.into())),
        Change::Overwrite { path, version, bytes } => {
            change_of(&path, expect(Some(version)), Action::Write(bytes.into()))
        }
        Change::Delete { path, version } => change_of(&path, expect(Some(version)), Action::Remove(true)),
        Change::Rename { from, version, to, replaces, bytes } => {
            let moved = v1::FileMove {
                to: to.as_str().to_owned().into(),
                expect: Some(expect(replaces)),
                write: bytes.map(Bytes::from),
            };
            change_of(&from, expect(Some(version)), Action::Move(moved))
        }
    }
}

/// This version, or nothing.
pub(super) fn expect(version: Option<String>) -> v1::Expectation {
    v1::Expectation { nothing: version.is_none(), something: false, etags: version.into_iter().collect() }
}

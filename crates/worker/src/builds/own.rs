//! A build's own session: what is put into its workspace, and what it runs.

use headwater_contract::{Fault, FaultKind};
use headwater_protocol::{Children, Command, SandboxKind, StartSpec};

use super::cache::{Cache, Kind};
use super::driver::{left, script};
use super::inputs::{Inputs, OURS};
use super::plan::Plan;
use crate::folder;
use crate::session::Session;
use crate::workspace::{Workspace, WorkspacePath};

/// Between SIGTERM and SIGKILL: compilers have nothing to finish.
const GRACE_MS: u64 = 500;

/// What the compilers are started as.
pub(super) fn start_spec(plan: &Plan) -> StartSpec {
    let mut spec = StartSpec::new(Command::Argv(vec!["/bin/bash".into(), format!("{OURS}/drive")]));
    spec.timeout_ms = Some(plan.timeout_ms);
    spec.grace_ms = Some(GRACE_MS);
    spec.children = Children::Kill;
    spec.metadata.insert("build".into(), plan.output.clone());
    spec
}

/// A session's workspace.
pub(super) fn open(session: &Session) -> Result<Workspace, Fault> {
    let owner = session.record().host_uid;
    Workspace::open(&folder::workspace(session.dir()), owner).map_err(|error| {
        Fault::new(FaultKind::Conflict, format!("cannot open the workspace: {error}"))
            .hint("has the session ended?")
    })
}

/// Puts everything that is compiled and linked into a build's own workspace. Answers how many objects the cache had when
/// the build was planned and has no more: in the plan they are then no hits.
pub(super) fn fill(
    session: &Session,
    plan: &mut Plan,
    inputs: &Inputs,
    cache: &Cache,
) -> Result<usize, Fault> {
    let (workspace, home) = (open(session)?, session.home());
    let put = |path: &str, mut bytes: &[u8]| {
        Ok::<_, Fault>(workspace.put(&WorkspacePath::parse(path, &home)?, &mut bytes, false)?)
    };
    for (path, input) in &inputs.files {
        put(path, &input.bytes)?;
    }
    let mut lost = 0;
    for (n, unit) in plan.units.iter_mut().enumerate() {
        let Some(told) = &unit.hit else { continue };
        let entry = unit.key.and_then(|key| cache.get(Kind::Object, key));
        if let Some(entry) = entry.filter(|entry| entry.told == *told) {
            put(&left(n, "o"), &entry.blob)?;
            put(&left(n, "txt"), told.text.as_bytes())?;
        } else {
            unit.hit = None;
            lost += 1;
        }
    }
    let (sandbox, limits) = {
        let record = session.record();
        (record.sandbox, record.spec.limits.clone())
    };
    let mapped = (sandbox == SandboxKind::None).then_some(home.as_str());
    put(&format!("{OURS}/drive"), script(plan, jobs(limits.cpus), mapped).as_bytes())?;
    Ok(lost)
}

/// How many compilers run at once.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a few, and never less than none
fn jobs(cpus: Option<f64>) -> usize {
    let here = std::thread::available_parallelism().map_or(1, usize::from);
    cpus.map_or(here, |cpus| (cpus.ceil().clamp(1.0, 1024.0) as usize).min(here))
}

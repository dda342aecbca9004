//! A build's own session: what is put into its workspace, and what it runs.

use headwater_contract::Fault;
use headwater_protocol::{Children, Command, SandboxKind, StartSpec};
use headwater_workspace::WorkspacePath;

use super::cache::{Cache, Kind};
use super::driver::{left, script};
use super::inputs::{Inputs, OURS};
use super::plan::Plan;
use crate::files::open_workspace::OpenWorkspace;

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

/// Puts everything that is compiled and linked into a build's own workspace. Answers how many objects the cache had when
/// the build was planned and has no more: in the plan they are then no hits.
pub(super) fn fill(
    open: &OpenWorkspace,
    plan: &mut Plan,
    inputs: &Inputs,
    cache: &Cache,
) -> Result<usize, Fault> {
    let put = |path: &str, mut bytes: &[u8]| {
        Ok::<_, Fault>(open.workspace.put(&WorkspacePath::parse(path, &open.home)?, &mut bytes, false)?)
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
    let mapped = (open.record.sandbox == SandboxKind::None).then_some(open.home.as_str());
    put(&format!("{OURS}/drive"), script(plan, jobs(open.limits().cpus), mapped).as_bytes())?;
    Ok(lost)
}

/// How many compilers run at once.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a few, and never less than none
fn jobs(cpus: Option<f64>) -> usize {
    let here = std::thread::available_parallelism().map_or(1, usize::from);
    cpus.map_or(here, |cpus| (cpus.ceil().clamp(1.0, 1024.0) as usize).min(here))
}

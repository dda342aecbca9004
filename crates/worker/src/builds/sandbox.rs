//! The session of a build: the content of its workspace, and its execution.

use headwater_contract::Fault;
use headwater_protocol::{Children, Command, SandboxKind, StartSpec};
use headwater_workspace::WorkspacePath;

use super::cache::{Cache, Kind};
use super::driver::{script, unit_file};
use super::inputs::{BUILD_DIR, Inputs};
use super::plan::Plan;
use crate::files::open_workspace::OpenWorkspace;
use crate::sessions::session::SYSTEM_PATH;

/// The time between SIGTERM and SIGKILL: compilers have nothing to complete.
const GRACE_MS: u64 = 500;

/// The spec of the execution that runs the compilers.
pub(super) fn start_spec(plan: &Plan) -> StartSpec {
    let mut spec = StartSpec::new(Command::Argv(vec!["/bin/bash".into(), format!("{BUILD_DIR}/drive")]));
    spec.timeout_ms = Some(plan.timeout_ms);
    spec.grace_ms = Some(GRACE_MS);
    spec.children = Children::Kill;
    // Programs of the workspace are copies of what the requester has: none of them may stand in for a compiler's tool.
    spec.env.insert("PATH".into(), SYSTEM_PATH.into());
    spec.metadata.insert("build".into(), plan.output.clone());
    spec
}

/// Writes all inputs and cached objects to the workspace of a build. Returns the number of objects that were evicted since
/// planning: they are no longer hits in the plan.
pub(super) fn fill(
    open: &OpenWorkspace,
    plan: &mut Plan,
    inputs: &Inputs,
    cache: &Cache,
) -> Result<usize, Fault> {
    let put = |path: &str, mut bytes: &[u8]| {
        Ok::<_, Fault>(open.workspace.write_from(
            &WorkspacePath::parse(path, &open.home)?,
            &mut bytes,
            false,
        )?)
    };
    for (path, input) in &inputs.files {
        put(path, &input.bytes)?;
    }
    let mut lost = 0;
    for (n, unit) in plan.units.iter_mut().enumerate() {
        let Some(output) = &unit.hit else { continue };
        let entry = unit.key.and_then(|key| cache.get(Kind::Object, key));
        if let Some(entry) = entry.filter(|entry| entry.output == *output) {
            put(&unit_file(n, "o"), &entry.blob)?;
            put(&unit_file(n, "txt"), output.text.as_bytes())?;
        } else {
            unit.hit = None;
            lost += 1;
        }
    }
    let mapped = (open.record.sandbox == SandboxKind::None).then_some(open.home.as_str());
    put(&format!("{BUILD_DIR}/drive"), script(plan, jobs(open.limits().cpus), mapped).as_bytes())?;
    Ok(lost)
}

/// The number of compilers that run at once.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // small and not negative
fn jobs(cpus: Option<f64>) -> usize {
    let here = std::thread::available_parallelism().map_or(1, usize::from);
    cpus.map_or(here, |cpus| (cpus.ceil().clamp(1.0, 1024.0) as usize).min(here))
}

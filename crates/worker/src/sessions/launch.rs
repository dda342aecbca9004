//! Launches the init of a session: its folders, its cgroup, and the description of its walls.

use std::io;
use std::os::unix::fs::chown;
use std::path::Path;

use headwater_contract::{Fault, FaultKind};
use headwater_limits::descriptors;
use headwater_limits::descriptors::Purpose;
use headwater_protocol::{Network, Place, SandboxKind, SessionId, SessionSpec};
use headwater_sandbox::cgroup::SessionCgroup;
use headwater_sandbox::launch::{Launch, LaunchError, launch, own_binary};
use headwater_sandbox::walls::UNMAPPABLE;
use headwater_sandbox::wire::{Bind, KernelLimits, NetworkNamespace, Setup};
use headwater_workspace::create_private_folder;

use crate::engine::Engine;
use crate::layout;
use crate::sessions::place::Checked;
use crate::sessions::pool::Prepared;

/// The size of `/tmp` and of `/dev/shm` in a session, each. What is in them counts as memory.
const TMP_BYTES: u64 = 1 << 30;
/// Files and folders in each of them.
const TMP_INODES: u64 = 100_000;

/// How a session is launched.
#[derive(Debug, Clone)]
pub(super) struct LaunchPlan {
    pub(super) host_uid: Option<u32>,
    pub(super) network: NetworkNamespace,
    pub(super) in_place: Option<Place>,
}

impl LaunchPlan {
    pub(super) fn of(spec: &SessionSpec, host_uid: Option<u32>) -> Self {
        Self { host_uid, network: network_of(spec.network), in_place: spec.place.clone() }
    }
}

/// A session that could not be launched.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) fault: Fault,
    /// Whether the file system of its folder cannot map owners.
    pub(super) is_unmappable: bool,
}

impl From<Fault> for Refused {
    fn from(fault: Fault) -> Self {
        Self { fault, is_unmappable: false }
    }
}

impl From<Refused> for Fault {
    fn from(refused: Refused) -> Self {
        refused.fault
    }
}

/// Creates the folders and the cgroup of a session and launches its init.
pub(super) fn launch_session(
    engine: &Engine,
    slot: SessionId,
    dir: &Path,
    plan: LaunchPlan,
    checked: Option<Checked>,
) -> Result<Prepared, Refused> {
    let LaunchPlan { host_uid, network, in_place } = plan;
    let cannot = |error: io::Error| {
        Fault::of_disk(format!("cannot create a session's folder: {error}"), &error)
            .hint("`headwater doctor` shows what this host lacks")
    };
    let descriptors = descriptors::hold(descriptors::SESSION, Purpose::Start)?;
    let workspace = layout::workspace(dir);
    create_private_folder(&workspace).map_err(cannot)?;
    create_private_folder(&layout::executions(dir)).map_err(cannot)?;
    if host_uid.is_some() {
        chown(&workspace, host_uid, host_uid).map_err(cannot)?;
    }
    let listener = layout::bind_init(dir).map_err(cannot)?;
    let cgroup = session_cgroup(engine, slot)?;
    let without_walls = in_place.filter(|place| !place.mode.has_walls());
    let sandbox = if without_walls.is_some() { SandboxKind::None } else { engine.config.sandbox };
    let (place, setup) = checked.map(|checked| (checked.record, checked.setup)).unzip();
    let setup = Setup {
        session: slot,
        sandbox,
        host_uid,
        workspace: without_walls
            .map_or_else(|| workspace.to_string_lossy().into_owned(), |place| place.folder),
        place: setup,
        binds: binds(engine, network),
        tmp_bytes: TMP_BYTES,
        tmp_inodes: TMP_INODES,
        orphan_timeout_ms: u64::try_from(engine.config.orphan_timeout.as_millis()).unwrap_or(u64::MAX),
        network,
        kernel: KernelLimits {
            terminals: engine.config.terminals.of_session,
            aio: engine.config.allow_aio,
            memory_is_counted: cgroup.as_ref().is_some_and(|cgroup| cgroup.controllers().memory),
        },
    };
    let launched = launch(Launch { init_binary: own_binary(), listener, setup, cgroup: cgroup.as_ref() })
        .map_err(|error| Refused {
            is_unmappable: matches!(&error, LaunchError::Wall(failure) if failure.wall == UNMAPPABLE),
            fault: launch_fault(&error, sandbox, place.is_some()),
        })?;
    Ok(Prepared {
        slot,
        dir: dir.to_owned(),
        link: launched.link_fd,
        init: launched.pidfd,
        host_uid,
        cgroup_name: cgroup.is_some().then(|| slot.to_string()),
        cgroup,
        spare: false,
        descriptors,
        place,
    })
}

/// The network namespace of a session.
pub(super) const fn network_of(network: Network) -> NetworkNamespace {
    match network {
        Network::None | Network::Packages => NetworkNamespace::Session,
        Network::Full => NetworkNamespace::Host,
    }
}

/// The files of the host that a session sees. A session in the host's network also sees its name servers.
fn binds(engine: &Engine, network: NetworkNamespace) -> Vec<Bind> {
    // Before the operator's: a bind at `/run` hides the tools, but a read-only one would have no place for them.
    let mut binds = engine.tools.binds(network == NetworkNamespace::Session);
    binds.extend(engine.config.binds.iter().cloned());
    if network == NetworkNamespace::Host {
        let path = "/etc/resolv.conf".to_owned();
        binds.push(Bind { host: path.clone(), inside: path, optional: true });
    }
    binds
}

fn session_cgroup(engine: &Engine, slot: SessionId) -> Result<Option<SessionCgroup>, Fault> {
    let Some(cgroups) = &engine.cgroups else {
        return Ok(None);
    };
    let cannot = |error: &dyn std::fmt::Display| {
        Fault::new(FaultKind::Unavailable, format!("cannot create a session's cgroup: {error}"))
            .hint("`headwater doctor` shows what is missing")
    };
    let cgroup = cgroups.create_session(&slot.to_string()).map_err(|error| cannot(&error))?;
    cgroup.set_limits(&engine.config.limits).map_err(|error| cannot(&error))?;
    Ok(Some(cgroup))
}

fn launch_fault(error: &LaunchError, sandbox: SandboxKind, in_place: bool) -> Fault {
    let fault = Fault::new(FaultKind::Unavailable, format!("cannot launch a session on this host: {error}"));
    match error {
        LaunchError::Wall(failure) if sandbox == SandboxKind::Full => fault.hint(format!(
            "{}; `headwater doctor` shows more; `--sandbox {}` runs without isolation, if you trust all code",
            failure.fix,
            if in_place { "danger-full-access" } else { "none" }
        )),
        _ => fault,
    }
}

//! The environment, the working directory and the resource limits of a program.

use std::collections::BTreeMap;
use std::path::Path;

use headwater_protocol::{Limits, SandboxKind, StartSpec};
use headwater_sandbox::cgroup::Controllers;
use headwater_sandbox::wire::Rlimits;

const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The path of the workspace as a program in the session sees it.
pub(crate) fn workspace_inside(sandbox: SandboxKind, workspace: &Path) -> String {
    match sandbox {
        SandboxKind::Full => "/workspace".to_owned(),
        SandboxKind::None => workspace.to_string_lossy().into_owned(),
    }
}

/// The whole environment: the defaults, the network's variables, the session's, and the execution's, where later ones win.
/// Nothing of the worker's own environment.
pub(crate) fn environment(
    home: &str,
    network: &[(&str, String)],
    session: &BTreeMap<String, String>,
    spec: &StartSpec,
) -> Vec<String> {
    let term = if spec.tty.is_some() { "xterm-256color" } else { "dumb" };
    let defaults = [
        ("PATH", PATH),
        ("HOME", home),
        ("USER", "user"),
        ("LOGNAME", "user"),
        ("SHELL", "/bin/bash"),
        ("LANG", "C.UTF-8"),
        ("TMPDIR", "/tmp"),
        ("TERM", term),
    ];
    let mut all: BTreeMap<&str, &str> = BTreeMap::from(defaults);
    all.extend(network.iter().map(|(name, value)| (*name, value.as_str())));
    all.extend(session.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    all.extend(spec.env.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    all.into_iter().map(|(name, value)| format!("{name}={value}")).collect()
}

/// The absolute working directory.
pub(crate) fn working_directory(workspace: &str, cwd: Option<&str>) -> String {
    match cwd {
        None | Some("") => workspace.to_owned(),
        Some(path) if path.starts_with('/') => path.to_owned(),
        Some(path) => format!("{workspace}/{path}"),
    }
}

/// The resource limits of each process. They stand in for limits that no cgroup enforces.
pub(crate) fn rlimits(limits: &Limits, counted: Controllers) -> Rlimits {
    Rlimits {
        open_files: limits.open_files,
        file_bytes: limits.file_bytes,
        cpu_ms: limits.cpu_ms,
        data_bytes: limits.memory_bytes.filter(|_| !counted.memory),
        processes: limits.pids.filter(|_| !counted.pids),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_execution_wins_over_the_session_and_the_session_over_the_defaults() {
        let session = BTreeMap::from([("TERM".into(), "vt100".into()), ("A".into(), "1".into())]);
        let mut spec = StartSpec::shell("true");
        spec.env.insert("A".into(), "2".into());
        let env = environment("/workspace", &[("A", "0".into()), ("B", "0".into())], &session, &spec);
        assert!(env.contains(&"A=2".into()) && env.contains(&"TERM=vt100".into()), "{env:?}");
        assert!(env.contains(&"HOME=/workspace".into()) && env.contains(&"B=0".into()));
    }

    #[test]
    fn a_resource_limit_stands_in_for_each_controller_that_is_missing() {
        let limits = Limits { memory_bytes: Some(1 << 20), pids: Some(9), ..Limits::default() };
        let some = Controllers { pids: true, ..Controllers::default() };
        let enforced = |counted| {
            let rlimits = rlimits(&limits, counted);
            (rlimits.data_bytes, rlimits.processes)
        };
        assert_eq!(enforced(Controllers::default()), (Some(1 << 20), Some(9)));
        assert_eq!(enforced(some), (Some(1 << 20), None));
        assert_eq!(enforced(Controllers { memory: true, ..some }), (None, None));
    }

    #[test]
    fn a_relative_directory_is_in_the_workspace() {
        assert_eq!(working_directory("/workspace", None), "/workspace");
        assert_eq!(working_directory("/workspace", Some("a/b")), "/workspace/a/b");
        assert_eq!(working_directory("/workspace", Some("/tmp")), "/tmp");
    }
}

//! The environment, the working directory and the resource limits of a program.

use std::collections::BTreeMap;
use std::path::Path;

use headwater_protocol::settings::c_compiler;
use headwater_protocol::{Limits, SandboxKind, StartSpec};
use headwater_sandbox::cgroup::Controllers;
use headwater_sandbox::wire::Rlimits;

use crate::sessions::tools;

/// The folders of the host's programs.
pub(crate) const SYSTEM_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// What the environment of a program depends on, besides the program itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Surroundings<'a> {
    /// The workspace.
    pub(crate) workspace: &'a str,
    /// Whether programs run as if the person had started them: then package managers keep their own settings.
    pub(crate) is_the_persons: bool,
    /// The home folder, which is the workspace unless that is a folder of the host.
    pub(crate) home: &'a str,
    /// The folder of our tools, if the session has it.
    pub(crate) tools: Option<&'a str>,
    /// The C++ compiler that the operator chose instead of the default.
    pub(crate) compiler: Option<&'a str>,
    /// The variables of the session's network.
    pub(crate) network: &'a [(&'a str, String)],
    /// The variables of the session.
    pub(crate) session: &'a BTreeMap<String, String>,
}

/// The path of the workspace as a program in the session sees it.
pub(crate) fn workspace_inside(sandbox: SandboxKind, workspace: &Path) -> String {
    match sandbox {
        SandboxKind::Full => "/workspace".to_owned(),
        SandboxKind::None => workspace.to_string_lossy().into_owned(),
    }
}

/// The whole environment: the defaults, the network's variables, the session's, and the execution's, where later ones win.
/// Nothing of the worker's own environment.
pub(crate) fn environment(surroundings: &Surroundings<'_>, spec: &StartSpec) -> Vec<String> {
    let Surroundings { home, network, session, .. } = *surroundings;
    let term = if spec.tty.is_some() { "xterm-256color" } else { "dumb" };
    let defaults = [
        ("HOME", home),
        ("USER", "user"),
        ("LOGNAME", "user"),
        ("SHELL", "/bin/bash"),
        ("LANG", "C.UTF-8"),
        ("TMPDIR", "/tmp"),
        ("TERM", term),
        // Python would otherwise buffer what it prints to a pipe.
        ("PYTHONUNBUFFERED", "1"),
    ];
    let packages = package_environment(surroundings);
    let mut all: BTreeMap<&str, &str> = BTreeMap::from(defaults);
    all.extend(packages.iter().map(|(name, value)| (*name, value.as_str())));
    all.extend(network.iter().map(|(name, value)| (*name, value.as_str())));
    all.extend(session.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    all.extend(spec.env.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    all.into_iter().map(|(name, value)| format!("{name}={value}")).collect()
}

/// Where package managers install, and the search path that finds the results. The folders need not exist.
fn package_environment(surroundings: &Surroundings<'_>) -> Vec<(&'static str, String)> {
    if surroundings.is_the_persons {
        return vec![("PATH", SYSTEM_PATH.to_owned())];
    }
    let Surroundings { workspace, home, tools, compiler, network, .. } = surroundings;
    let local = format!("{home}/.local");
    let own = [format!("{workspace}/.venv/bin"), format!("{local}/bin")];
    let path: Vec<_> = own.into_iter().chain(tools.map(tools::bin)).chain([SYSTEM_PATH.to_owned()]).collect();
    let mut all = vec![
        ("PATH", path.join(":")),
        ("npm_config_prefix", local.clone()),
        ("CARGO_INSTALL_ROOT", local.clone()),
        ("GOBIN", format!("{local}/bin")),
    ];
    if let Some(compiler) = compiler {
        // CMake, make and the installers of packages with C code use these.
        all.extend([("CXX", (*compiler).to_owned()), ("CC", c_compiler(compiler))]);
    }
    all.extend(tools.map(|tools| ("PIP_PYTHON", tools::pip_python(tools))));
    // Only a session that reaches the mirror has variables of its network.
    all.extend(tools.filter(|_| !network.is_empty()).map(tools::mirror_environment));
    all
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

    fn surroundings<'a>(
        session: &'a BTreeMap<String, String>,
        network: &'a [(&'a str, String)],
    ) -> Surroundings<'a> {
        Surroundings {
            workspace: "/workspace",
            is_the_persons: false,
            home: "/workspace",
            tools: Some("/tools"),
            compiler: Some("g++-12"),
            network,
            session,
        }
    }

    #[test]
    fn packages_are_installed_in_the_home_and_found_there_first() {
        let none = BTreeMap::new();
        let env = environment(&surroundings(&none, &[]), &StartSpec::shell("true"));
        for variable in [
            format!("PATH=/workspace/.venv/bin:/workspace/.local/bin:/tools/bin:{SYSTEM_PATH}"),
            "npm_config_prefix=/workspace/.local".into(),
            "CARGO_INSTALL_ROOT=/workspace/.local".into(),
            "PIP_PYTHON=/tools/pip-python".into(),
            "PYTHONUNBUFFERED=1".into(),
            "CXX=g++-12".into(),
            "CC=gcc-12".into(),
        ] {
            assert!(env.contains(&variable), "{variable} in {env:?}");
        }
        // A session of a worker that had no tools yet: pip would fail without its interpreter.
        let without = Surroundings { tools: None, compiler: None, ..surroundings(&none, &[]) };
        let env = environment(&without, &StartSpec::shell("true"));
        let given = |name: &str| env.iter().any(|variable| variable.starts_with(name));
        assert!(!given("PIP_PYTHON=") && !given("CXX=") && !given("CC="), "{env:?}");
    }

    #[test]
    fn the_execution_wins_over_the_session_and_the_session_over_the_defaults() {
        let session = BTreeMap::from([("TERM".into(), "vt100".into()), ("A".into(), "1".into())]);
        let mut spec = StartSpec::shell("true");
        spec.env.insert("A".into(), "2".into());
        let network = [("A", "0".into()), ("B", "0".into())];
        let env = environment(&surroundings(&session, &network), &spec);
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

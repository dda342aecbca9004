//! Sessions whose workspace is a folder of this machine: `headwater run --here`, and every command that works in the
//! current folder.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use headwater_protocol::{Network, Place, PlaceMode, Session, SessionSpec};

use crate::error::{CommandError, ErrorKind};

/// Variables of the person that programs without walls get: they run as if the person had started them.
const OWN_VARIABLES: [&str; 7] = ["HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TMPDIR", "USER"];

/// How far the programs of an in-place session may go.
#[derive(Debug, Clone)]
pub struct Options<'a> {
    /// What the walls let programs do.
    pub mode: PlaceMode,
    /// The network; by default none, and without walls always the host's.
    pub network: Option<Network>,
    /// Further files and folders that programs may change, absolute or relative to the current folder.
    pub writable: &'a [PathBuf],
}

/// The spec of a session in this folder, which must exist. The worker refuses folders that would expose secrets.
pub fn spec(folder: &Path, options: &Options<'_>) -> Result<SessionSpec, CommandError> {
    let found = std::fs::canonicalize(folder).map_err(|error| {
        CommandError::usage(format!("cannot work in `{}`: {error}", folder.display()))
            .hint("name a folder that exists")
    })?;
    let writable = options.writable.iter().map(|path| writable(path)).collect::<Result<_, _>>()?;
    let place = Place { folder: text(&found)?, mode: options.mode, writable };
    let (network, env) = match options.mode {
        PlaceMode::DangerFullAccess => (without_walls(options.network)?, own_environment()),
        PlaceMode::ReadOnly | PlaceMode::WorkspaceWrite => {
            (options.network.unwrap_or_default(), BTreeMap::new())
        }
    };
    let spec = SessionSpec { place: Some(place), network, env, ..SessionSpec::default() };
    spec.check().map_err(|error| CommandError::usage(error.to_string()))?;
    Ok(spec)
}

/// Refuses the session of a worker that is too old to know in-place sessions: it would run somewhere else.
pub fn check_created(spec: &SessionSpec, created: &Session) -> Result<(), CommandError> {
    if spec.place == created.spec.place {
        return Ok(());
    }
    let message = "the running worker does not support in-place sessions";
    Err(CommandError::new(ErrorKind::Refused, message).hint(
        "it is older than this command: `headwater stop` stops it, and the next command starts a new one",
    ))
}

/// The network of a session without walls.
fn without_walls(wanted: Option<Network>) -> Result<Network, CommandError> {
    match wanted {
        None | Some(Network::Full) => Ok(Network::Full),
        Some(other) => {
            let message = format!("`danger-full-access` cannot restrict the network to `{}`", other.name());
            Err(CommandError::usage(message)
                .hint("it has no walls: leave `--network` out, or choose another sandbox"))
        }
    }
}

fn own_environment() -> BTreeMap<String, String> {
    OWN_VARIABLES.iter().filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?))).collect()
}

/// The absolute path, by its spelling alone: links in it are not followed, so that the worker can refuse them. One
/// session could have put a link where the next one is allowed to write.
fn writable(path: &Path) -> Result<String, CommandError> {
    let here = || std::env::current_dir().and_then(std::fs::canonicalize);
    let absolute = if path.is_absolute() {
        path.to_owned()
    } else {
        here().map_err(|error| CommandError::usage(format!("no current folder: {error}")))?.join(path)
    };
    let mut plain = PathBuf::new();
    for part in absolute.components() {
        match part {
            Component::ParentDir => _ = plain.pop(),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    text(&plain)
}

fn text(path: &Path) -> Result<String, CommandError> {
    path.to_str().map(ToOwned::to_owned).ok_or_else(|| {
        CommandError::usage(format!("the path `{}` is not UTF-8", path.display())).hint("rename it first")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(mode: PlaceMode, writable: &[PathBuf]) -> Options<'_> {
        Options { mode, network: None, writable }
    }

    #[test]
    fn the_folder_is_named_by_its_real_path_and_writable_paths_by_their_spelling() {
        let folder = tempfile::tempdir().unwrap();
        let real = std::fs::canonicalize(folder.path()).unwrap();
        std::fs::create_dir(real.join("project")).unwrap();
        let paths = [PathBuf::from("/a/./b/../c"), "x".into()];
        let made =
            spec(&real.join("project/../project"), &options(PlaceMode::WorkspaceWrite, &paths)).unwrap();
        let place = made.place.unwrap();
        assert_eq!(Path::new(&place.folder), real.join("project"));
        let here = std::fs::canonicalize(std::env::current_dir().unwrap()).unwrap();
        assert_eq!(place.writable, ["/a/c".to_owned(), here.join("x").to_str().unwrap().to_owned()]);
        assert_eq!((made.network, made.env.len()), (Network::None, 0));
        assert!(spec(&real.join("missing"), &options(PlaceMode::ReadOnly, &[])).is_err());
    }

    #[test]
    fn without_walls_the_network_is_the_hosts_and_the_environment_the_persons() {
        let folder = std::env::temp_dir();
        let made = spec(&folder, &options(PlaceMode::DangerFullAccess, &[])).unwrap();
        assert_eq!(made.network, Network::Full);
        assert_eq!(made.env.get("PATH"), std::env::var("PATH").ok().as_ref());
        for network in [Network::None, Network::Packages] {
            let with = Options { network: Some(network), ..options(PlaceMode::DangerFullAccess, &[]) };
            assert!(spec(&folder, &with).unwrap_err().message.contains(network.name()));
        }
    }

    #[test]
    fn a_worker_that_ignores_the_folder_is_refused() {
        let spec = spec(&std::env::temp_dir(), &options(PlaceMode::ReadOnly, &[])).unwrap();
        let created = |spec: SessionSpec| Session {
            id: headwater_protocol::SessionId::random(),
            spec,
            sandbox: headwater_protocol::SandboxKind::Full,
            state: headwater_protocol::SessionState::Ready,
            created_at_ms: 0,
            running: 0,
        };
        assert_eq!(check_created(&spec, &created(spec.clone())), Ok(()));
        assert!(check_created(&spec, &created(SessionSpec::default())).is_err());
    }
}

//! The session that `headwater mcp` works in.

use std::env::VarError;
use std::path::Path;

use headwater_protocol::{PlaceMode, SessionSpec};

use crate::args::{McpServeArgs, SandboxModeArg};
use crate::error::CommandError;
use crate::in_place;

/// The session for a folder, which the tools edit in place.
pub(super) fn session_spec(args: &McpServeArgs) -> Result<SessionSpec, CommandError> {
    let folder = args.folder.as_deref().unwrap_or(Path::new("."));
    let mode = match args.sandbox {
        Some(SandboxModeArg::ReadOnly) => PlaceMode::ReadOnly,
        None | Some(SandboxModeArg::WorkspaceWrite) => PlaceMode::WorkspaceWrite,
        Some(SandboxModeArg::DangerFullAccess) => PlaceMode::DangerFullAccess,
    };
    let network = args.network.map(Into::into);
    let mut spec = in_place::spec(folder, &in_place::Options { mode, network, writable: &args.writable })?;
    for name in &args.secret {
        spec.env.insert(name.clone(), value(name)?);
        spec.secret_env.insert(name.clone());
    }
    spec.check().map_err(|error| CommandError::usage(error.to_string()))?;
    Ok(spec)
}

/// The value of a secret, from the environment that the client starts this command with. An argument would show it to
/// every user of this machine.
fn value(name: &str) -> Result<String, CommandError> {
    let hint =
        format!("set it in `env` of the client's configuration, beside `args`: {{\"{name}\": \"...\"}}");
    match std::env::var(name) {
        Ok(value) if !value.is_empty() => Ok(value),
        Ok(_) => Err(CommandError::usage(format!("the secret `{name}` is empty")).hint(hint)),
        Err(VarError::NotUnicode(_)) => {
            Err(CommandError::usage(format!("the value of the secret `{name}` is not UTF-8")).hint(hint))
        }
        Err(VarError::NotPresent) => {
            Err(CommandError::usage(format!("the environment has no `{name}`, which --secret names"))
                .hint(hint))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::NetworkArg;

    #[test]
    fn the_flags_decide_what_programs_may_do() {
        let folder = tempfile::tempdir().unwrap();
        let args = McpServeArgs {
            folder: Some(folder.path().to_owned()),
            network: Some(NetworkArg::Packages),
            writable: vec!["/tmp/x".into()],
            ..McpServeArgs::default()
        };
        let spec = session_spec(&args).unwrap();
        let place = spec.place.unwrap();
        assert_eq!((place.mode, spec.network.name()), (PlaceMode::WorkspaceWrite, "packages"));
        assert_eq!(place.writable, ["/tmp/x"]);
        let read_only = McpServeArgs { sandbox: Some(SandboxModeArg::ReadOnly), ..args };
        assert_eq!(session_spec(&read_only).unwrap().place.unwrap().mode, PlaceMode::ReadOnly);
    }
}

//! The workspace that `run` and `exec` were asked to use.

use std::path::PathBuf;

use headwater_protocol::{PlaceMode, SandboxKind};

use crate::args::{ProgramArgs, ProgramSandboxArg, RunArgs};
use crate::error::CommandError;

/// The workspace to run in.
#[derive(Debug, Clone, Copy)]
pub enum ChosenWorkspace<'a> {
    /// That of a temporary session.
    Temporary,
    /// That of the session with this id, id prefix or name.
    Session(&'a str),
    /// The current folder, in place.
    Here {
        /// Further paths that programs may change.
        writable: &'a [PathBuf],
    },
}

impl<'a> ChosenWorkspace<'a> {
    /// The workspace that `headwater run` was asked to use.
    pub fn of(args: &'a RunArgs) -> Self {
        match &args.session {
            Some(session) => Self::Session(session),
            None if args.here.here => Self::Here { writable: &args.here.writable },
            None => Self::Temporary,
        }
    }

    /// The mode of an in-place session.
    pub fn mode(args: &ProgramArgs) -> Result<PlaceMode, CommandError> {
        args.sandbox.map_or(Ok(PlaceMode::WorkspaceWrite), |sandbox| {
            sandbox.mode().map_err(|kind| {
                let message = format!("`--sandbox {}` is not possible with `--here`", kind.name());
                CommandError::usage(message)
                    .hint("use `read-only`, `workspace-write` or `danger-full-access`")
            })
        })
    }

    /// The sandbox that the worker must have.
    pub fn sandbox(self, args: &ProgramArgs) -> Result<Option<SandboxKind>, CommandError> {
        if matches!(self, Self::Here { .. }) {
            return Ok(Self::mode(args)?.has_walls().then_some(SandboxKind::Full));
        }
        match args.sandbox.map(ProgramSandboxArg::mode) {
            None => Ok(None),
            Some(Err(kind)) => Ok(Some(kind)),
            Some(Ok(mode)) => {
                let message = format!("`--sandbox {}` is for the current folder", mode.name());
                Err(CommandError::usage(message).hint("add `--here`, or use `full` or `none`"))
            }
        }
    }

    /// Refuses a server for a workspace that is a folder of this machine.
    pub fn check_server(self, is_remote: bool) -> Result<(), CommandError> {
        if !is_remote || !matches!(self, Self::Here { .. }) {
            return Ok(());
        }
        Err(CommandError::usage("`--here` works on this machine, but a server is selected").hint(
            "add `--context local`, or copy the folder into a session of the server with `headwater cp`",
        ))
    }
}

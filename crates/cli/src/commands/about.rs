//! `headwater completion`, `man` and `version`: about the command line itself.

use clap::CommandFactory;
use serde_json::json;

use crate::args::{Cli, CompletionArgs, ManArgs, VersionArgs};
use crate::connect::Place;
use crate::error::{CommandError, ErrorKind};
use crate::output::{print_bytes, print_json, print_line};

/// The name of the program.
const NAME: &str = "headwater";

/// Prints the completions for a shell.
pub fn completion(args: &CompletionArgs) -> Result<u8, CommandError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), NAME, &mut script);
    print_bytes(&script)?;
    Ok(0)
}

/// Prints the manual of `headwater`, or writes the pages of all commands into a folder.
pub fn man(args: &ManArgs) -> Result<u8, CommandError> {
    let Some(folder) = &args.folder else {
        let mut page = Vec::new();
        let rendered = clap_mangen::Man::new(Cli::command()).render(&mut page);
        rendered.map_err(|error| CommandError::internal(format!("cannot render the manual: {error}")))?;
        print_bytes(&page)?;
        return Ok(0);
    };
    let written =
        std::fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(Cli::command(), folder));
    written.map_err(|error| {
        CommandError::new(ErrorKind::Refused, format!("cannot write to `{}`: {error}", folder.display()))
    })?;
    Ok(0)
}

/// Prints the version of this program, and of the server or of the worker if it is running.
pub async fn version(place: &Place, args: &VersionArgs) -> Result<u8, CommandError> {
    let own = env!("CARGO_PKG_VERSION");
    let (what, other) = match &place.server {
        Some(server) => ("server", Some(server.client()?.info().await?.version)),
        None => match place.running().await? {
            Some(worker) => ("worker", Some(worker.info().await?.version)),
            None => ("worker", None),
        },
    };
    if args.json {
        print_json(&json!({ "version": own, what: other }))?;
        return Ok(0);
    }
    print_line(&format!("{NAME} {own}"))?;
    if let Some(other) = other {
        print_line(&format!("{what} {other}"))?;
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_completions_of_every_shell_know_the_commands() {
        for shell in [clap_complete::Shell::Bash, clap_complete::Shell::Zsh, clap_complete::Shell::Fish] {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), NAME, &mut script);
            let script = String::from_utf8(script).unwrap();
            for word in ["sessions", "hibernate", "--network"] {
                assert!(script.contains(word.trim_start_matches('-')), "{shell}: {word}");
            }
        }
    }
}

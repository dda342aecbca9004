//! `headwater mcp install`: adds the command to the configuration of a client.

mod client;
mod edit;
mod file;

use similar::TextDiff;

use self::client::{Entry, Place};
use crate::args::McpInstallArgs;
use crate::confirm::confirm;
use crate::error::{CommandError, ErrorKind};
use crate::output::{print_line, print_note};

/// Unchanged lines around a change that are shown.
const CONTEXT_LINES: usize = 3;

/// Shows the change, asks, and writes it.
pub fn install(args: &McpInstallArgs) -> Result<u8, CommandError> {
    check_name(&args.name)?;
    let place = if args.project { Place::project() } else { Place::user() }?;
    let target = client::target(args.client, &place);
    let entry = Entry::new(args.client, &command()?, &args.serve)?;
    if args.print {
        print_line(edit::add(target.format, "", target.key, &args.name, &entry)?.trim_end())?;
        return Ok(0);
    }
    let path = &target.path;
    let before = file::read(path)?;
    let after = edit::add(target.format, &before, target.key, &args.name, &entry).map_err(|error| {
        CommandError::new(ErrorKind::Refused, format!("`{}`: {}", path.display(), error.message))
            .hint("nothing was changed; `--print` prints the lines to add by hand")
    })?;
    if before == after {
        print_note(&format!("headwater: `{}` has this entry already", path.display()));
        return Ok(0);
    }
    let name = path.display().to_string();
    let diff = TextDiff::from_lines(&before, &after);
    let shown = diff.unified_diff().context_radius(CONTEXT_LINES).header(&name, &name).to_string();
    print_line(shown.trim_end())?;
    confirm(&format!("this changes `{name}`"), args.yes)?;
    file::write(path, &after)?;
    print_note(&format!("headwater: added; restart {} to use it", target.title));
    Ok(0)
}

/// The program that clients start: with its path, because their `PATH` may be another one.
fn command() -> Result<String, CommandError> {
    let path = std::env::current_exe();
    let path = path
        .map_err(|error| CommandError::internal(format!("the path of this program is unknown: {error}")))?;
    path.into_os_string().into_string().map_err(|path| {
        CommandError::new(ErrorKind::Refused, format!("the path `{}` is not UTF-8", path.display()))
    })
}

/// Clients make the name of tools from it.
fn check_name(name: &str) -> Result<(), CommandError> {
    let is_plain = |ch: char| ch.is_ascii_alphanumeric() || matches!(ch, '-' | '_');
    if !name.is_empty() && name.len() <= 64 && name.chars().all(is_plain) {
        return Ok(());
    }
    Err(CommandError::usage(format!("`{name}` cannot be the name of the entry"))
        .hint("use up to 64 letters, digits, `-` and `_`"))
}

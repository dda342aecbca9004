//! `headwater open`: opens the server in a browser, signed in.

use std::process::{Command, Stdio};

use crate::args::OpenArgs;
use crate::connect::Place;
use crate::error::{CommandError, ErrorKind};
use crate::output::{print_line, print_note};

/// Programs that open a URL in the user's browser, the first that exists is used.
#[cfg(target_os = "macos")]
const OPENERS: &[&[&str]] = &[&["open"]];
#[cfg(windows)]
const OPENERS: &[&[&str]] = &[&["rundll32", "url.dll,FileProtocolHandler"]];
#[cfg(not(any(target_os = "macos", windows)))]
const OPENERS: &[&[&str]] = &[&["xdg-open"], &["sensible-browser"], &["wslview"]];

/// Opens the browser, or prints the URL.
pub fn open(place: &Place, args: &OpenArgs) -> Result<u8, CommandError> {
    let server = match &place.server {
        Some(server) => server.clone(),
        None => place.own_server()?,
    };
    let url = format!("{}/login?token={}", server.url.trim_end_matches('/'), server.token);
    if args.print {
        print_line(&url)?;
        return Ok(0);
    }
    // Without the token: the terminal may be shared or recorded.
    print_note(&format!("headwater: opening {}", server.url));
    if start(&url) { Ok(0) } else { Err(no_browser()) }
}

fn start(url: &str) -> bool {
    let browser = std::env::var("BROWSER").ok().filter(|name| !name.is_empty());
    let chosen = browser.iter().map(|name| vec![name.as_str()]);
    let mut openers = chosen.chain(OPENERS.iter().map(|words| words.to_vec()));
    openers.any(|words| {
        let [program, arguments @ ..] = words.as_slice() else { return false };
        let mut command = Command::new(program);
        command.args(arguments).arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    })
}

fn no_browser() -> CommandError {
    CommandError::new(ErrorKind::Refused, "no browser could be opened")
        .hint("`headwater open --print` prints the URL, which contains your token")
}

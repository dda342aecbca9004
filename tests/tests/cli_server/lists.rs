//! Lists that the operator reads straight from the store: users and tokens with hostile names.

use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::hostile::{HOSTILE, is_harmless};
use crate::worker;

/// Gives a user this name, as a store from elsewhere might have it: the API takes no such names.
const RENAME: &str = "import sqlite3, sys\nwith sqlite3.connect(sys.argv[1]) as db: db.execute('UPDATE users SET name = ?', (sys.argv[2],))";

#[tokio::test]
async fn hostile_names_of_users_and_tokens_send_no_control_sequences_to_the_terminal() -> Result<()> {
    let mut server = worker().await?;
    server.make_token(&["--user", "ann", "--role", "member", "--name", HOSTILE])?;
    let added = server.command().args(["user", "add", "ann", "--no-password"]).output()?;
    ensure!(added.status.success(), "{}", String::from_utf8_lossy(&added.stderr));
    server.terminate()?;
    let store = std::fs::read_dir(server.data())?.flatten().map(|entry| entry.path());
    let store = store.into_iter().find(|path| path.extension().is_some_and(|end| end == "db"));
    let renamed =
        Command::new("python3").args(["-c", RENAME]).arg(store.context("no store")?).arg(HOSTILE).status()?;
    ensure!(renamed.success(), "the user is not renamed");
    for words in [
        &["user", "list"][..],
        &["user", "list", "--json"],
        &["token", "list"],
        &["token", "list", "--json"],
        &["user", "password", &format!("{HOSTILE}?")],
        &["token", "revoke", HOSTILE],
    ] {
        let shown = server.command().args(words).output()?;
        let text = [shown.stdout, shown.stderr].concat();
        is_harmless(&format!("{words:?}"), &String::from_utf8(text)?)?;
    }
    Ok(())
}

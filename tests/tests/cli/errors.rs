//! Mistakes: what is wrong, what to do next, and an exit code for scripts.

use anyhow::Result;
use headwater_tests::{Options, TestWorker};

use crate::command::{answer, headwater, run};
use crate::worker;

#[tokio::test]
async fn every_usage_error_has_its_exit_code_and_a_hint() -> Result<()> {
    let worker = worker().await?;
    let unknown = "exe_00000000000000000000000000000000";
    for (words, code, said, way_out) in [
        (&["rum"][..], 2, "rum", "--help"),
        (&["run"], 125, "nothing to run", "hint: for example `headwater run -- echo hello`"),
        (&["run", "--timeout", "soon", "true"], 2, "`soon` is not a duration", "`10s`"),
        (&["run", "--memory", "much", "true"], 2, "`much` is not a size", "`512Mi`"),
        (
            &["run", "--memory", "512", "true"],
            125,
            "memory_bytes",
            "hint: a number without a unit is in bytes",
        ),
        (
            &["run", "echo a | wc"],
            127,
            "command not found",
            "hint: to run a shell command, use `headwater run --shell",
        ),
        (&["run", "--lang", "cobol", "x"], 125, "`cobol` is not a known language", "python"),
        (&["run", "--lang", "python", "print", "1"], 125, "one argument", "hint: put quotes around it"),
        (&["run", "--stdin", "/no/file", "cat"], 125, "/no/file", ""),
        (
            &["run", "--session", "nobody", "true"],
            125,
            "there is no session `nobody`",
            "hint: `headwater sessions",
        ),
        (
            &["run", "--sandbox", "none", "true"],
            125,
            "sandbox `full`, not `none`",
            "hint: choose another folder",
        ),
        (&["logs"], 2, "<EXECUTION>", "--help"),
        (&["logs", "nothing"], 3, "there is no execution `nothing`", "hint: `headwater ps --all`"),
        (&["logs", unknown], 3, unknown, "hint: "),
        (&["logs", "ses_0"], 2, "is a session", "hint: `headwater ps --all --session ses_0`"),
        (&["attach", unknown], 125, unknown, "hint: "),
        (&["kill", unknown], 3, unknown, "hint: "),
        (&["kill", "--signal", "NOPE", unknown], 2, "NOPE", "--help"),
        (&["forget", unknown], 3, unknown, "hint: "),
        (&["sessions", "end", "nobody"], 3, "there is no session `nobody`", "hint: "),
        (&["sessions", "--json", "end", "nobody"], 2, "flags of `list`", "hint: "),
    ] {
        let done = run(&worker, words)?;
        assert_eq!(done.code, Some(code), "{words:?}: {}", done.errors());
        assert!(done.errors().contains(said), "{words:?}: {}", done.errors());
        assert!(done.errors().contains(way_out), "{words:?}: {}", done.errors());
        assert_eq!(done.text(), "", "{words:?}: errors are for standard error");
    }
    Ok(())
}

#[tokio::test]
async fn an_ambiguous_prefix_is_refused() -> Result<()> {
    let worker = worker().await?;
    // Of 17 ids two begin with the same digit.
    let ids: Vec<String> =
        (0..17).map(|_| answer(&worker, &["sessions", "create"])).collect::<Result<_>>()?;
    let digit = |id: &String| id[4..5].to_owned();
    let twice = ids.iter().map(digit).find(|one| ids.iter().filter(|id| digit(id) == *one).count() > 1);
    let done = run(&worker, &["sessions", "end", &twice.expect("there are sixteen digits")])?;
    assert_eq!(done.code, Some(3));
    assert!(done.errors().contains("matches several sessions"), "{}", done.errors());
    Ok(())
}

#[tokio::test]
async fn another_users_folder_is_neither_used_nor_taken_for_an_empty_one() -> Result<()> {
    let worker = TestWorker::with(Options { pool: Some(0), ..Options::default() }).await?;
    let copy = worker.scratch().join("headwater");
    std::fs::copy(headwater_tests::binary(), &copy)?;
    let mut open = std::fs::metadata(worker.scratch())?.permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut open, 0o755);
    std::fs::set_permissions(worker.scratch(), open)?;
    for (words, code) in [(&["ps"][..], 5), (&["run", "--", "true"], 125), (&["stop"], 5)] {
        let mut other = std::process::Command::new(&copy);
        other.args(words).env("HEADWATER_DATA", worker.data());
        std::os::unix::process::CommandExt::uid(&mut other, 64_323);
        std::os::unix::process::CommandExt::gid(&mut other, 64_323);
        let done = crate::command::Running::start(other)?.finish()?;
        assert_eq!(done.code, Some(code), "{words:?}: {}", done.errors());
        assert!(done.errors().contains("belongs to another user"), "{words:?}: {}", done.errors());
        assert!(done.errors().contains("hint: "), "{words:?}: {}", done.errors());
    }
    assert_eq!(answer(&worker, &["run", "--", "echo", "unharmed"])?, "unharmed");
    Ok(())
}

#[tokio::test]
async fn every_command_has_help() -> Result<()> {
    let worker = worker().await?;
    for words in [
        &["--help"][..],
        &["help"],
        &["help", "run"],
        &["run", "--help"],
        &["sessions", "--help"],
        &["sessions", "create", "--help"],
        &["ps", "--help"],
        &["logs", "-h"],
        &["attach", "--help"],
        &["kill", "--help"],
        &["forget", "--help"],
        &["worker", "--help"],
        &["stop", "--help"],
        &["doctor", "--help"],
    ] {
        let mut command = headwater(&worker, words);
        let output = command.output()?;
        let text = String::from_utf8(output.stdout)?;
        assert!(output.status.success() && text.contains("Usage: headwater"), "{words:?}: {text}");
    }
    Ok(())
}

//! `headwater run`: the program's bytes, live, and its input.

use std::io::Write;
use std::thread;

use anyhow::Result;

use crate::command::{answer, objects, run, start};
use crate::worker;

#[tokio::test]
async fn output_comes_while_the_program_runs() -> Result<()> {
    let worker = worker().await?;
    let program = "printf one; printf two >&2; read line; printf \"$line\"; exit 3";
    let mut running = start(&worker, &["run", "--", "sh", "-c", program])?;
    running.stdout.until_printed("one")?;
    running.stderr.until_printed("two")?;
    running.write(b"three\n")?;
    let done = running.finish()?;
    assert_eq!((done.code, done.text().as_str(), done.errors().as_str()), (Some(3), "onethree", "two"));
    Ok(())
}

#[tokio::test]
async fn every_byte_of_both_streams_arrives_as_it_was_written() -> Result<()> {
    let worker = worker().await?;
    let code = "import sys\n\
                for i in range(2000):\n    \
                    sys.stdout.buffer.write(bytes(range(256)))\n    \
                    sys.stderr.buffer.write(bytes(reversed(range(256))))";
    let done = run(&worker, &["run", "--lang", "python", code])?;
    assert_eq!(done.code, Some(0));
    assert!(done.stdout == (0..=255).collect::<Vec<u8>>().repeat(2000), "standard output differs");
    assert!(done.stderr == (0..=255).rev().collect::<Vec<u8>>().repeat(2000), "standard error differs");
    let merged =
        run(&worker, &["run", "--merge", "--shell", "for i in 1 2 3; do echo o$i; echo e$i >&2; done"])?;
    assert_eq!((merged.text().as_str(), merged.errors().as_str()), ("o1\ne1\no2\ne2\no3\ne3\n", ""));
    Ok(())
}

#[tokio::test]
async fn five_megabytes_of_input_pass_through_byte_for_byte() -> Result<()> {
    let worker = worker().await?;
    let sent: Vec<u8> = (0..5_000_000_u32).map(|n| (n ^ (n >> 7)).to_le_bytes()[0]).collect();
    let mut running = start(&worker, &["run", "--", "cat"])?;
    let (mut input, bytes) = (running.take_stdin()?, sent.clone());
    let writer = thread::spawn(move || input.write_all(&bytes));
    let done = running.finish()?;
    writer.join().expect("the writer does not panic")?;
    assert_eq!((done.code, done.errors().as_str()), (Some(0), ""));
    assert!(done.stdout == sent, "{} bytes of {} came back", done.stdout.len(), sent.len());
    Ok(())
}

#[tokio::test]
async fn input_comes_from_the_requested_source() -> Result<()> {
    let worker = worker().await?;
    let file = worker.scratch().join("input");
    std::fs::write(&file, "from a file")?;
    assert_eq!(answer(&worker, &["run", "--stdin", "text:as said", "--", "cat"])?, "as said");
    assert_eq!(answer(&worker, &["run", "--stdin", &file.to_string_lossy(), "--", "cat"])?, "from a file");
    for words in [["--stdin", "none"], ["--stdin", "-"]] {
        let mut running = start(&worker, &[&["run"], &words[..], &["--", "cat"]].concat())?;
        let written = running.write(b"piped");
        // Without input it may have ended before.
        assert!(written.is_ok() || words[1] == "none", "{words:?}: {written:?}");
        assert_eq!(running.finish()?.text(), if words[1] == "-" { "piped" } else { "" }, "{words:?}");
    }
    let mut code = start(&worker, &["run", "--lang", "python", "-"])?;
    code.write(b"print(6 * 7)")?;
    assert_eq!(code.finish()?.text(), "42\n");
    std::fs::write(&file, "console.log('in', process.env.WHERE)")?;
    let words = ["run", "-e", "WHERE=node", "--lang", "node", "--file", &file.to_string_lossy()];
    assert_eq!(answer(&worker, &words)?, "in node");
    Ok(())
}

#[tokio::test]
async fn code_is_saved_and_given_its_arguments() -> Result<()> {
    let worker = worker().await?;
    let session = answer(&worker, &["sessions", "create"])?;
    let place = ["run", "--session", &session, "--lang", "python", "--save", "src/a.py"];
    let code = "import sys; print(sys.argv)";
    let said = answer(&worker, &[&place[..], &[code, "--", "one", "--two", "-"]].concat())?;
    assert_eq!(said, "['/workspace/src/a.py', 'one', '--two', '-']");
    assert_eq!(answer(&worker, &["run", "--session", &session, "--", "cat", "src/a.py"])?, code);
    let file = worker.scratch().join("code");
    std::fs::write(&file, "echo \"$@\"")?;
    let words = ["run", "--lang", "bash", "--file", &file.to_string_lossy(), "--", "-x", "y z"];
    assert_eq!(answer(&worker, &words)?, "-x y z");
    let refused = run(&worker, &["run", "--lang", "python", "--save", "../a.py", code])?;
    assert!(refused.code != Some(0) && refused.errors().contains("../a.py"), "{}", refused.errors());
    Ok(())
}

#[tokio::test]
async fn flags_of_the_program_are_its_own_with_and_without_dashes() -> Result<()> {
    let worker = worker().await?;
    assert_eq!(answer(&worker, &["run", "echo", "-n", "--json", "--", "x"])?, "--json -- x");
    assert_eq!(answer(&worker, &["run", "--", "echo", "-n", "--timeout", "0"])?, "--timeout 0");
    Ok(())
}

#[tokio::test]
async fn a_program_ends_when_nobody_reads_its_output_any_more() -> Result<()> {
    let worker = worker().await?;
    let mut command = crate::command::headwater(&worker, &["run", "--", "yes"]);
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let mut child = command.spawn()?;
    drop(child.stdout.take());
    assert_eq!(crate::command::wait(&mut child)?.code(), Some(141));
    let all = objects(&worker, &["ps", "--all", "--json"])?;
    headwater_tests::host::eventually("it is cancelled", async || {
        let id = all[0]["id"].as_str().unwrap_or_default();
        let listed = objects(&worker, &["ps", "--all", "--json"]).unwrap_or_default();
        listed.iter().any(|one| one["id"] == id && one["exit"]["reason"] == "cancelled")
    })
    .await
}

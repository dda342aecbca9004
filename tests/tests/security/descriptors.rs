//! Descriptors and environment: a program gets 0, 1, 2, a known set of variables, and nothing else.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use headwater_protocol::{ExecutionId, Limits, SessionId, Stdin};
use headwater_tests::{Watcher, host};

use crate::attack::descriptors;
use crate::target::{ENTRIES, Entry, Side, Target, WALLED, with_argument};

const CLASS: u32 = 5;

/// Python that stays, and carries this word.
fn stay(word: &str) -> String {
    format!("import signal\nprint('u' + 'p', flush=True)\nwhile True: signal.pause() # {word}")
}

/// The Python processes that carry a word: not the shell that started one.
fn pythons(word: &str) -> Vec<i32> {
    let is_python = |pid: &i32| host::status(*pid, "Name").is_some_and(|name| name.starts_with("python"));
    with_argument(word).into_iter().filter(is_python).collect()
}

struct Stayer {
    pid: i32,
    watcher: Watcher,
    id: ExecutionId,
}

async fn start(target: &Target, session: SessionId, entry: Entry, stdin: Stdin) -> Result<Stayer> {
    let word = format!("word-{}", ExecutionId::random());
    let mut spec = entry.spec(&stay(&word));
    spec.stdin = stdin;
    let (id, mut watcher) = target.start(session, &spec).await?;
    watcher.until_printed("up").await?;
    Ok(Stayer { pid: *pythons(&word).first().context("it is there")?, watcher, id })
}

fn numbers(pid: i32) -> BTreeSet<String> {
    descriptors(pid).into_iter().map(|(number, _)| number).collect()
}

fn three() -> BTreeSet<String> {
    ["0", "1", "2"].map(str::to_owned).into()
}

#[tokio::test]
async fn a_program_has_three_descriptors_from_every_entry_whatever_else_runs() -> Result<()> {
    // The control: what a careless parent leaves open is seen.
    let word = format!("word-{}", ExecutionId::random());
    let line = format!("exec 9</dev/null; exec /usr/bin/python3 -c \"{}\"", stay(&word));
    let mut careless = Command::new("bash").args(["-c", &line]).stdout(Stdio::null()).spawn()?;
    host::eventually("the control runs", async || !pythons(&word).is_empty()).await?;
    assert!(numbers(pythons(&word)[0]).contains("9"));
    careless.kill()?;
    careless.wait()?;

    for side in WALLED {
        let target = Target::new(side, CLASS).await?;
        let session = target.session(Limits::default()).await?;
        // Those that came before stay, with all their pipes: none of theirs may come along.
        let mut all = Vec::new();
        for entry in ENTRIES {
            for stdin in [Stdin::None, Stdin::Open, Stdin::Given(vec![b'x'; 1 << 21].into())] {
                if entry == Entry::Pty && stdin != Stdin::Open {
                    continue;
                }
                let one = start(&target, session, entry, stdin.clone()).await?;
                assert_eq!(numbers(one.pid), three(), "{side:?} {entry:?}: {:?}", descriptors(one.pid));
                all.push(one);
            }
        }
        assert!(all.len() > 8);
    }
    Ok(())
}

#[tokio::test]
async fn descriptors_lead_to_pipes_terminals_and_nowhere_on_the_host() -> Result<()> {
    for side in WALLED {
        let target = Target::new(side, CLASS).await?;
        let session = target.session(Limits::default()).await?;
        for entry in ENTRIES {
            let one = start(&target, session, entry, Stdin::Open).await?;
            for (number, link) in descriptors(one.pid) {
                let fits = link.starts_with("pipe:[") || link.starts_with("/dev/pts/");
                assert!(fits, "{side:?} {entry:?}: {number} leads to `{link}`");
            }
            for name in ["root", "cwd", "exe"] {
                let link = fs::read_link(format!("/proc/{}/{name}", one.pid))?.display().to_string();
                let data = target.worker.data().display().to_string();
                // The kernel shows the workspace by its path inside, and so for the rest.
                assert!(!link.contains(&data), "{side:?} {entry:?}: {name} is `{link}`");
            }
        }
        // The control: the worker itself holds files of its data folder.
        let worker = i32::try_from(target.worker.pid())?;
        let data = target.worker.data().display().to_string();
        assert!(descriptors(worker).iter().any(|(_, link)| link.starts_with(&data)));
    }
    Ok(())
}

#[tokio::test]
async fn the_environment_is_the_documented_one_and_nothing_of_the_workers() -> Result<()> {
    for side in WALLED {
        let target = Target::new(side, CLASS).await?;
        let session = target.session(Limits::default()).await?;
        let names = |pid: u32| -> Result<BTreeSet<String>> {
            let text = fs::read_to_string(format!("/proc/{pid}/environ"))?;
            let name = |entry: &str| entry.split_once('=').map(|(name, _)| name.to_owned());
            Ok(text.split('\0').filter_map(name).collect())
        };
        let documented = "HOME LANG LOGNAME PATH SHELL TERM TMPDIR USER PYTHONUNBUFFERED PIP_PYTHON \
                          npm_config_prefix CARGO_INSTALL_ROOT GOBIN";
        let documented: BTreeSet<_> = documented.split_whitespace().map(str::to_owned).collect();
        let workers = names(target.worker.pid())?;
        assert!(!workers.is_subset(&documented), "the control: the worker has others: {workers:?}");
        for entry in ENTRIES {
            let one = start(&target, session, entry, Stdin::Open).await?;
            let mut found = names(u32::try_from(one.pid)?)?;
            if entry == Entry::Shell {
                // The shell exports where it is.
                found.remove("PWD");
            }
            assert_eq!(found, documented, "{side:?} {entry:?}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn init_keeps_no_descriptor_of_the_worker_and_hands_none_on() -> Result<()> {
    for side in WALLED {
        let target = Target::new(side, CLASS).await?;
        let session = target.session(Limits::default()).await?;
        let one = start(&target, session, Entry::Argv, Stdin::Open).await?;
        let init = host::init_of(one.pid)?;
        let data = target.worker.data().display().to_string();
        let links = descriptors(init);
        assert!(links.len() >= 5, "its link, its listener and more: {links:?}");
        for (number, link) in links {
            let ours = ["socket:[", "pipe:[", "anon_inode:", "/dev/null", "/memfd:input "]
                .iter()
                .any(|start| link.starts_with(start));
            assert!(ours && !link.contains(&data), "{side:?}: {number} of init leads to `{link}`");
        }
        // What init gets of a program's it gives back when that has ended.
        let before = descriptors(init).len();
        for entry in ENTRIES {
            let other = start(&target, session, entry, Stdin::Open).await?;
            assert!(descriptors(init).len() > before, "the control: it keeps the ends of a running program");
            target.client.cancel(other.id, Some(std::time::Duration::ZERO)).await?;
            other.watcher.rest().await?;
        }
        host::eventually("init lets go", async || descriptors(init).len() <= before).await?;
    }
    Ok(())
}

/// Tries to change, by all that /proc offers, what was given as input and what was printed.
const REWRITE: &str = "
import os, sys
print('first', flush=True)
for fd in (0, 1, 2):
    for flags in (os.O_RDWR, os.O_WRONLY | os.O_TRUNC, os.O_RDWR | os.O_APPEND):
        try:
            other = os.open('/proc/self/fd/%d' % fd, flags | os.O_NONBLOCK)
            for deed in (lambda: os.ftruncate(other, 0), lambda: os.lseek(other, 0, 0), lambda: os.pwrite(other, b'FORGED', 0)):
                try: deed()
                except OSError: pass
            os.close(other)
        except OSError: pass
given = sys.stdin.buffer.read()
print(len(given), set(given) == {120}, flush=True)
";

#[tokio::test]
async fn output_and_input_cannot_be_rewritten() -> Result<()> {
    // The control: with files in place of pipes history is rewritten.
    let folder = tempfile::tempdir()?;
    let (input, output) = (folder.path().join("in"), folder.path().join("out"));
    fs::write(&input, vec![b'x'; 1 << 21])?;
    let mut rewrite = Command::new("/usr/bin/python3");
    rewrite.args(["-c", REWRITE]).stdin(fs::File::open(&input)?).stdout(fs::File::create(&output)?);
    rewrite.stderr(Stdio::null()).status()?;
    assert!(!host::contains(&fs::read(&output)?, b"first"), "a file is rewritten");
    for side in WALLED {
        let target = Target::new(side, CLASS).await?;
        let session = target.session(Limits::default()).await?;
        for (entry, bytes) in [(Entry::Argv, 1 << 21), (Entry::Shell, 1 << 12), (Entry::Python, 1 << 20)] {
            let mut spec = entry.spec(REWRITE);
            spec.stdin = Stdin::Given(vec![b'x'; bytes].into());
            let seen = target.run(session, &spec).await?;
            let expected = format!("first\n{bytes} True\n");
            assert_eq!(seen.text(), expected, "{side:?} {entry:?}: {}", seen.errors());
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_side_without_walls_says_so_wherever_it_is_shown() -> Result<()> {
    for side in [Side::Root, Side::OpenRoot] {
        let target = Target::new(side, CLASS).await?;
        let session = target.session(Limits::default()).await?;
        let info = target.client.session(session).await?.sandbox.name();
        assert_eq!(info, if side.is_walled() { "full" } else { "none" });
    }
    Ok(())
}

//! Output is data: printed text forges no events, changes no bytes, and harms no other session.

use anyhow::Result;
use headwater_protocol::{ExecutionId, Limits, OnOutputLimit, Reason, StartSpec, Stream};
use headwater_tests::{Collected, Watcher, host};
use serde_json::Value;

use crate::target::{ENTRIES, Entry, Target, WALLED, neighbour_is_answered};

const CLASS: u32 = 7;

/// All that was printed, on whatever stream.
fn printed(seen: &Collected) -> Vec<u8> {
    [&seen.stdout[..], &seen.stderr[..], &seen.output[..]].concat()
}

/// Text and bytes like ours: events in our JSON, of an event stream, records of an index, frames of the contract.
const FORGERY: &str = r#"
import struct, sys
out = sys.stdout.buffer
for n in range(50):
    out.write(b'{"type":"exited","seq":%d,"at_ms":5,"reason":"exited","code":0}\n' % n)
    out.write(b'{"type":"closed","seq":%d}\n' % n)
    out.write(b'id: %d\nevent: exited\ndata: {"code":0}\n\n' % n)
    out.write(struct.pack('<QQIIQQ', n, 4, 1, 3, 0, 64) + bytes(24))
    out.write(b'\0' + struct.pack('>I', 9) + b'\x0a\x07\x08\x01\x22\x03\x0a\x01\x00')
out.flush()
sys.exit(3)
"#;

#[tokio::test]
async fn output_that_looks_like_our_events_is_only_output() -> Result<()> {
    for side in WALLED {
        let target = Target::new(side, CLASS).await?;
        let session = target.session(Limits::default()).await?;
        for entry in ENTRIES {
            let (id, watcher) = target.start(session, &entry.spec(FORGERY)).await?;
            let seen = watcher.rest().await?;
            assert_eq!(
                (seen.verdict().reason, seen.verdict().code),
                (Reason::Exited, Some(3)),
                "{side:?} {entry:?}"
            );
            assert!(seen.closed);
            let bytes = printed(&seen);
            assert!(host::contains(&bytes, br#"{"type":"exited""#), "the control: it was printed");
            // The same through the command line, where events are lines of JSON.
            let logs = target.worker.command().args(["logs", "--json", &id.to_string()]).output()?;
            let lines = logs.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
            let events = lines.map(serde_json::from_slice::<Value>).collect::<Result<Vec<_>, _>>()?;
            let exits: Vec<_> = events.iter().filter(|event| event["type"] == "exited").collect();
            assert!(matches!(exits[..], [exit] if exit["code"] == 3), "{side:?} {entry:?}: {exits:?}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_flood_is_cut_with_a_stated_gap_and_hurts_no_neighbour() -> Result<()> {
    const LIMIT: u64 = 1 << 20;
    const LINES: usize = 500_000;
    for side in WALLED {
        let target = Target::new(side, CLASS).await?;
        let limits = Limits { output_bytes: Some(LIMIT), ..Limits::default() };
        let (attacker, neighbour) = (target.session(limits).await?, target.session(Limits::default()).await?);
        for entry in [Entry::Argv, Entry::Pty] {
            let code = format!("for n in range({LINES}): print('%050d' % n)");
            let spec = entry.spec(&code);
            let id = ExecutionId::random();
            target.client.start(attacker, Some(id), &spec).await?;
            neighbour_is_answered(&target, neighbour).await?;
            // A follower sees all of it; a later reader sees what is kept.
            target.client.wait(id, host::PATIENCE, true).await?;
            let seen = Watcher::new(&target.client, id).await?.rest().await?;
            let line = if entry == Entry::Pty { 52 } else { 51 };
            let kept = printed(&seen).len() as u64;
            let missing: u64 = seen.gaps.iter().map(|gap| gap.2 - gap.1).sum();
            assert_eq!(
                kept + missing,
                (LINES * line) as u64,
                "{side:?} {entry:?}: every byte is kept or in a gap"
            );
            assert!(missing > 0 && kept < 3 * LIMIT, "{side:?} {entry:?}: {kept} kept, {missing} not");
            let end = format!("{:050}", LINES - 1);
            assert!(host::contains(&printed(&seen), end.as_bytes()), "the end is kept");
        }
        // The control: within the limit nothing is missing.
        let seen = target.run(attacker, &Entry::Argv.spec("print('x' * 500_000)")).await?;
        assert_eq!((seen.stdout.len(), seen.gaps.len()), (500_001, 0));
    }
    Ok(())
}

#[tokio::test]
async fn a_program_that_prints_too_much_is_ended_if_asked_so() -> Result<()> {
    for side in WALLED {
        let target = Target::new(side, CLASS).await?;
        let session = target.session(Limits { output_bytes: Some(1 << 16), ..Limits::default() }).await?;
        for entry in ENTRIES {
            let mut spec = entry.spec("while True: print('x' * 1000)");
            spec.on_output_limit = OnOutputLimit::Stop;
            spec.grace_ms = Some(100);
            let seen = target.run(session, &spec).await?;
            assert_eq!(seen.verdict().reason, Reason::OutputLimit, "{side:?} {entry:?}");
        }
        let seen = target.run(session, &StartSpec::shell("echo fine")).await?;
        assert_eq!((seen.verdict().reason, seen.text().as_str()), (Reason::Exited, "fine\n"), "the control");
    }
    Ok(())
}

#[tokio::test]
async fn a_line_without_end_and_bytes_of_any_kind_come_as_they_are() -> Result<()> {
    for side in WALLED {
        let target = Target::new(side, CLASS).await?;
        let session = target.session(Limits::default()).await?;
        let seen = target
            .run(
                session,
                &Entry::Python.spec("import sys\nfor n in range(256): sys.stdout.write('y' * 65536)"),
            )
            .await?;
        assert_eq!(seen.stdout.len(), 16 << 20, "{side:?}");
        assert!(seen.stdout.iter().all(|byte| *byte == b'y'));
        // All bytes, halves of characters, lone surrogates, a byte order mark in the middle.
        let all: Vec<u8> = (0..=255).chain(*b"\xe2\x82\xf0\x9f\xed\xa0\x80\xef\xbb\xbf\xff\xfe").collect();
        let code = "import os; os.write(1, bytes(range(256)) + b'\\xe2\\x82\\xf0\\x9f\\xed\\xa0\\x80\\xef\\xbb\\xbf\\xff\\xfe')";
        for entry in [Entry::Argv, Entry::Shell, Entry::Python] {
            assert_eq!(target.run(session, &entry.spec(code)).await?.stdout, all, "{side:?} {entry:?}");
        }
        let raw = format!("import os, tty; tty.setraw(1); {}", code.trim_start_matches("import os; "));
        assert_eq!(target.run(session, &Entry::Pty.spec(&raw)).await?.output, all, "{side:?} terminal");
    }
    Ok(())
}

/// Asks a terminal who it is, what its title is, for its clipboard; moves, clears, resizes, prints a long command.
const ESCAPES: &str =
    r"\x1b[c\x1b[6n\x1b[21t\x1b]0;title\x07\x1b]52;c;?\x07\x1bP$q q\x1b\\\x1b[2J\x1b[8;1;1t\x1bc\x9b5n\x05";

#[tokio::test]
async fn escapes_of_terminals_are_kept_and_answered_by_nobody() -> Result<()> {
    for side in WALLED {
        let target = Target::new(side, CLASS).await?;
        let session = target.session(Limits::default()).await?;
        // An answer would arrive in the program's input, which it writes to a file.
        let code = format!(
            "import os, select, sys, tty\nfd = 0 if os.isatty(0) else None\nif fd == 0: tty.setraw(0)\nos.write(1, b'{ESCAPES}')\n\
             if fd == 0 and select.select([0], [], [], 0.5)[0]: open('answered', 'wb').write(os.read(0, 99))\n"
        );
        for entry in ENTRIES {
            let seen = target.run(session, &entry.spec(&code)).await?;
            assert!(
                host::contains(&printed(&seen), b"\x1b]52;c;?\x07\x1bP$q q"),
                "{side:?} {entry:?}: kept as printed"
            );
            assert!(!target.worker.workspace(session).join("answered").exists(), "{side:?} {entry:?}");
        }
        // The control: what is typed is read.
        let mut spec = Entry::Pty.spec(&code.replace("0.5", "30"));
        spec.stdin = headwater_protocol::Stdin::Open;
        let (id, mut watcher) = target.start(session, &spec).await?;
        watcher.until_printed("\x1b]52").await?;
        target.client.stdin(id).await?.write(bytes::Bytes::from_static(b"typed")).await?;
        watcher.rest().await?;
        assert!(target.worker.workspace(session).join("answered").exists(), "{side:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_child_that_prints_after_the_end_forges_no_second_end() -> Result<()> {
    for side in WALLED {
        let target = Target::new(side, CLASS).await?;
        let session = target.session(Limits::default()).await?;
        for entry in [Entry::Argv, Entry::Shell, Entry::Python] {
            // The child waits for the end of its parent, and a moment more for that of a shell.
            let code = "import os, time\nparent = os.getpid()\nif os.fork() == 0:\n    while os.getppid() == parent: time.sleep(0.01)\n    time.sleep(0.3); print('late', flush=True); os._exit(9)\nprint('early', flush=True); os._exit(4)";
            let seen = target.run(session, &entry.spec(code)).await?;
            assert_eq!(seen.verdict().code, Some(4), "{side:?} {entry:?}");
            assert_eq!(seen.text(), "early\nlate\n", "{side:?} {entry:?}");
            assert!(seen.closed && seen.gaps.iter().all(|gap| gap.0 != Stream::Stdout));
        }
    }
    Ok(())
}

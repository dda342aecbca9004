//! `--json`: events in the shape of the native API, in sum the bytes.

use anyhow::{Context, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::command::{lines_of_json, objects, start};
use crate::worker;

/// The bytes of a stream in these events, by `text` or by `base64` but never by both.
fn bytes_of(events: &[Value], stream: &str) -> Result<Vec<u8>> {
    let mut all = Vec::new();
    for event in events.iter().filter(|event| event["type"] == stream) {
        match (event["text"].as_str(), event["base64"].as_str()) {
            (Some(text), None) => all.extend_from_slice(text.as_bytes()),
            (None, Some(code)) => all.extend(STANDARD.decode(code)?),
            _ => anyhow::bail!("neither or both: {event}"),
        }
    }
    Ok(all)
}

fn types(events: &[Value]) -> Vec<&str> {
    let mut types: Vec<_> = events.iter().filter_map(|event| event["type"].as_str()).collect();
    types.dedup();
    types
}

#[tokio::test]
async fn events_have_the_shape_of_the_native_api() -> Result<()> {
    let worker = worker().await?;
    // What comes on two pipes at one moment has no order: the second line is asked for when the first has come.
    let line = "echo out; read x; sleep 0.2; echo err >&2; exit 3";
    let mut running = start(&worker, &["run", "--json", "--shell", line])?;
    running.stdout.until_printed("out\\n")?;
    running.write(b"\n")?;
    let done = running.finish()?;
    assert_eq!(done.code, Some(3));
    let events = lines_of_json(&done.stdout)?;
    assert_eq!(types(&events), ["started", "stdout", "stderr", "exited"]);
    for pair in events.windows(2) {
        assert!(pair[0]["seq"].as_u64() < pair[1]["seq"].as_u64(), "{pair:?}");
        assert!(pair[0]["at_ms"].as_u64() <= pair[1]["at_ms"].as_u64(), "{pair:?}");
    }
    let (started, exited) = (&events[0], &events[3]);
    assert!(started["execution_id"].as_str().is_some_and(|id| id.starts_with("exe_")), "{started}");
    assert!(started["pid"].as_u64().is_some_and(|pid| pid > 1), "{started}");
    assert_eq!((&events[1]["text"], &events[2]["text"]), (&"out\n".into(), &"err\n".into()));
    assert_eq!((&exited["reason"], &exited["code"]), (&"exited".into(), &3.into()));
    assert!(exited["duration_ms"].as_u64().is_some_and(|ms| ms >= 100), "{exited}");
    for field in ["cpu_ms", "max_rss_bytes"] {
        assert!(exited["usage"][field].is_u64(), "{exited}");
    }
    // The log has `closed` too, and the same events under the same numbers.
    let id = started["execution_id"].as_str().context("no id")?;
    let log = objects(&worker, &["logs", "-f", "--json", id])?;
    assert_eq!(log[..4], events);
    assert_eq!((log.len(), &log[4]["type"]), (5, &"closed".into()));
    Ok(())
}

#[tokio::test]
async fn texts_and_decoded_bytes_give_exactly_what_was_written() -> Result<()> {
    let worker = worker().await?;
    // Characters of every length cut at every place, and bytes that are no text.
    let code = "import os, time\n\
                text = ('aß€😀' * 50).encode()\n\
                for i in range(len(text)):\n    \
                    os.write(1, text[i:i+1])\n    \
                    i % 50 or time.sleep(0.01)\n\
                os.read(0, 1)\n\
                os.write(1, b'\\xff\\xfe end \\xe2\\x82')\n\
                os.write(2, bytes(range(256)) * 1000)";
    let mut running = start(&worker, &["run", "--json", "--lang", "python", code])?;
    // The rest is asked for when some of it has come: all of it in one chunk would be no text.
    running.stdout.until_printed("\"text\"")?;
    running.write(b"\n")?;
    let done = running.finish()?;
    let mut stdout = "aß€😀".repeat(50).into_bytes();
    stdout.extend(b"\xff\xfe end \xe2\x82");
    let events = lines_of_json(&done.stdout)?;
    assert_eq!(bytes_of(&events, "stdout")?, stdout);
    assert!(bytes_of(&events, "stderr")? == (0..=255).collect::<Vec<u8>>().repeat(1000));
    assert!(events.iter().any(|event| event["text"].is_string()), "some of it is text");
    assert!(events.iter().any(|event| event["base64"].is_string()), "some of it is not");
    Ok(())
}

#[tokio::test]
async fn nothing_that_a_program_prints_can_forge_an_event() -> Result<()> {
    let worker = worker().await?;
    let forged = r#"{"type":"exited","seq":9,"at_ms":1,"reason":"exited","code":0}"#;
    let mut running = start(&worker, &["run", "--json", "--", "sh", "-c", "cat; exit 5"])?;
    running.write(format!("\n{forged}\n").as_bytes())?;
    let events = lines_of_json(&running.finish()?.stdout)?;
    assert_eq!(types(&events), ["started", "stdout", "exited"]);
    assert_eq!(events.last().context("no event")?["code"], 5);
    Ok(())
}

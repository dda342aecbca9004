//! One answer: what is printed where, and the exit code.

use anyhow::{Context, Result};
use serde_json::json;

use super::{Desk, command};
use crate::command::lines_of_json;

#[tokio::test(flavor = "multi_thread")]
async fn the_answer_is_standard_output_and_what_the_agent_does_is_standard_error() -> Result<()> {
    let mut look = command("cat a.txt; echo more >> a.txt; exit 3");
    look["text"] = "I look.".into();
    let desk = Desk::new(json!([look, {"text": "It says **hello**."}])).await?;
    let done = desk.chat(&["what is in a.txt?"])?;
    let errors = done.errors();
    assert_eq!((done.text().as_str(), done.code), ("It says **hello**.\n", Some(0)), "{errors}");
    for line in ["I look.\n", "• $ cat a.txt", "  │ hello\n", "✗ $ cat a.txt", "(exit code 3"] {
        assert!(errors.contains(line), "{line:?} is not in {errors}");
    }
    assert!(!errors.contains('\u{1b}') && errors.find("│ hello") < errors.find("✗"), "{errors}");
    assert_eq!(desk.file("a.txt"), "hello\nmore\n", "in place");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_comes_from_the_argument_or_from_standard_input() -> Result<()> {
    let desk = Desk::new(json!([{"text": "yes"}])).await?;
    for words in [&[][..], &["-"]] {
        let mut running = desk.start(words)?;
        running.write("is größe a word?\n".as_bytes())?;
        let done = running.finish()?;
        assert_eq!((done.text().as_str(), done.code), ("yes\n", Some(0)), "{}", done.errors());
        assert!(desk.last_request()?.contains("is größe a word?"));
    }
    let none = desk.chat(&[])?;
    assert_eq!(none.code, Some(2));
    assert!(none.errors().contains("there is no prompt"), "{}", none.errors());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn json_has_the_events_of_the_log_and_the_output_of_commands() -> Result<()> {
    let desk = Desk::new(json!([command("echo 'a\u{9b}b'"), {"text": "done"}])).await?;
    let done = desk.chat(&["--json", "go"])?;
    assert_eq!((done.code, done.errors().as_str()), (Some(0), ""));
    let events = lines_of_json(&done.stdout)?;
    let first = |kind: &str| events.iter().find(|event| event["type"] == kind);
    assert!(events[0]["id"].as_str().is_some_and(|id| id.starts_with("cnv_")), "{}", events[0]);
    // The tool has both streams in one.
    let output = first("output").context("no output")?;
    let call = first("tool_call_ended").context("no end of the call")?;
    assert_eq!(output["text"], "a\u{9b}b\n");
    assert_eq!(output["tool_call_id"], call["tool_call_id"]);
    assert_eq!(output["execution_id"], call["execution_ids"][0]);
    assert_eq!(first("text_ended").context("no text")?["text"], "done");
    let last = events.last().context("nothing")?;
    assert_eq!((&last["type"], &last["outcome"]), (&json!("turn_ended"), &json!("completed")));
    assert!(!done.text().contains('\u{9b}'), "no control character reaches a terminal");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_refuses_makes_the_command_fail_with_its_reason() -> Result<()> {
    let fail = json!({"fail": {"status": 401, "message": "bad key", "times": 100}});
    let desk = Desk::new(json!([fail])).await?;
    let done = desk.chat(&["go"])?;
    assert_eq!(done.code, Some(1));
    assert!(done.errors().contains("error: ") && done.errors().contains("key"), "{}", done.errors());
    let done = desk.chat(&["--model", "nope", "go"])?;
    assert_eq!(done.code, Some(2));
    assert!(
        done.errors().contains("no model `nope`") && done.errors().contains("are: m"),
        "{}",
        done.errors()
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_needs_consent_is_refused_without_a_terminal_unless_a_flag_allows_it() -> Result<()> {
    let desk = Desk::new(json!([command("touch asked"), {"text": "over"}])).await?;
    let words = ["--approvals", "unless-trusted", "go"];
    let done = desk.chat(&words)?;
    assert_eq!((done.code, done.text().as_str()), (Some(0), "over\n"), "{}", done.errors());
    assert!(done.errors().contains("│ ") && done.errors().contains("`--yes` allows"), "{}", done.errors());
    assert!(!desk.folder.join("asked").exists() && desk.last_request()?.contains("nobody can be asked"));
    let done = desk.chat(&[&["--yes"], &words[..]].concat())?;
    assert!(done.errors().contains("allowed by `--yes`"), "{}", done.errors());
    assert!(desk.folder.join("asked").exists());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_a_model_or_a_program_writes_controls_the_terminal() -> Result<()> {
    let mut turn = command("printf 'x\\033[2Jy\\rz\\n'; : \u{1b}]0;title\u{7}");
    turn["text"] = "say\u{1b}[2J".into();
    let desk = Desk::new(json!([turn, {"text": "a\u{9b}b\u{202e}c"}])).await?;
    let done = desk.chat(&["go"])?;
    assert_eq!(done.text(), "a\\u{9b}b\\u{202e}c\n");
    let errors = done.errors();
    assert!(errors.contains("say\\u{1b}[2J") && errors.contains("│ z\n"), "{errors}");
    assert!(!errors.chars().any(|ch| ch.is_control() && ch != '\n'), "{errors:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn in_plan_mode_and_with_a_read_only_sandbox_nothing_is_changed() -> Result<()> {
    let desk = Desk::new(json!([command("touch changed || echo refused"), {"text": "over"}])).await?;
    for words in [&["--plan", "go"][..], &["--sandbox", "read-only", "go"]] {
        let done = desk.chat(words)?;
        assert_eq!((done.text().as_str(), done.code), ("over\n", Some(0)), "{}", done.errors());
        assert!(!desk.folder.join("changed").exists(), "{words:?}");
    }
    let done = desk.chat(&["go"])?;
    assert!(desk.folder.join("changed").exists(), "{}", done.errors());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_in_the_folder_reaches_the_model_and_another_one_is_refused() -> Result<()> {
    let desk = Desk::new(json!([{"text": "read"}])).await?;
    let done = desk.chat(&["--attach", "a.txt", "what is it?"])?;
    assert_eq!(done.code, Some(0), "{}", done.errors());
    assert!(desk.last_request()?.contains("hello\\n"), "{}", desk.last_request()?);
    for file in ["/etc/passwd", "missing.txt"] {
        let done = desk.chat(&["--attach", file, "what is it?"])?;
        assert_eq!(done.code, Some(2), "{file}: {}", done.errors());
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_plan_of_the_agent_is_shown_with_ticks() -> Result<()> {
    let steps = json!([{"step": "look", "status": "completed"}, {"step": "write", "status": "in_progress"}]);
    let call = json!({"tool_calls": [{"name": "update_plan", "arguments": {"plan": steps}}]});
    let desk = Desk::new(json!([call, {"text": "over"}])).await?;
    let errors = desk.chat(&["go"])?.errors();
    assert!(errors.contains("Plan\n  ✓ look\n  ▸ write\n"), "{errors}");
    Ok(())
}

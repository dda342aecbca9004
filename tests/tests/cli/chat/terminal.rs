//! A conversation at a terminal.

use anyhow::Result;
use serde_json::json;

use super::{Desk, command};
use crate::pty::Pty;

impl Desk {
    /// `headwater chat` on a new terminal.
    fn terminal(&self, words: &[&str]) -> Result<Pty> {
        let mut command = self.command(words);
        command.env("NO_COLOR", "1");
        Pty::with_folder(&command, &self.folder)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_at_a_terminal_is_typed_edited_answered_and_left() -> Result<()> {
    let desk = Desk::new(json!([{"text": "Hello\nyou"}, command("echo out"), {"text": "over"}])).await?;
    let mut pty = desk.terminal(&[])?;
    pty.screen.until_printed("model m")?;
    pty.screen.until_printed("> ")?;
    // With a mistake that is corrected, and a paste of two lines.
    pty.types(b"hi therx\x7fe \x1b[200~a\rb\x1b[201~\r")?;
    pty.screen.until_printed("you")?;
    assert!(desk.last_request()?.contains("hi there a\\nb"), "{}", desk.last_request()?);
    desk.until_ended(1).await?;
    pty.types(b"/status\r")?;
    pty.screen.until_printed("10 in")?;
    pty.types(b"/rename My title\r/nonsense\r")?;
    pty.screen.until_printed("no command `/nonsense`")?;
    pty.types(b"run it\r")?;
    pty.screen.until_printed("│ out")?;
    // Ctrl+D leaves when the agent has ended.
    pty.screen.until_printed("over")?;
    desk.until_ended(2).await?;
    pty.types(b"\x04")?;
    let (code, screen) = pty.finish()?;
    assert_eq!(code, Some(0), "{screen}");
    assert_eq!(desk.conversations()?[0]["title"], "My title");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_allows_a_command_at_the_terminal_and_refuses_the_next_one() -> Result<()> {
    let turns = json!([command("touch first"), command("touch second"), {"text": "over"}]);
    let desk = Desk::new(turns).await?;
    let mut pty = desk.terminal(&["--approvals", "unless-trusted", "go"])?;
    pty.screen.until_printed("touch first")?;
    pty.screen.until_printed("Allow?")?;
    pty.types(b"y\r")?;
    pty.screen.until_printed("✓ $ touch first")?;
    pty.screen.until_printed("│ ")?;
    pty.screen.until(|bytes| {
        let text = String::from_utf8_lossy(bytes);
        text.rfind("Allow?") > text.find("✓ $ touch first")
    })?;
    pty.types(b"not that one\r")?;
    let (code, screen) = pty.finish()?;
    assert_eq!(code, Some(0), "{screen}");
    assert!(screen.contains("✗ $ touch second") && screen.contains("over"), "{screen}");
    assert!(desk.folder.join("first").exists() && !desk.folder.join("second").exists());
    assert!(desk.last_request()?.contains("not that one"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_typed_while_the_agent_works_reaches_its_next_step() -> Result<()> {
    let wait = "echo begun; until [ -e go ]; do sleep 0.02; done";
    let desk = Desk::new(json!([command(wait), {"text": "over"}])).await?;
    let mut pty = desk.terminal(&[])?;
    pty.screen.until_printed("> ")?;
    pty.types(b"go\r")?;
    pty.screen.until_printed("│ begun")?;
    pty.types("use größe instead\r".as_bytes())?;
    pty.screen.until_printed("at its next step")?;
    std::fs::write(desk.folder.join("go"), "")?;
    pty.screen.until_printed("over")?;
    assert!(desk.last_request()?.contains("use größe instead"));
    pty.types(b"/quit\r")?;
    assert_eq!(pty.finish()?.0, Some(0));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn questions_of_the_agent_are_answered_at_the_terminal() -> Result<()> {
    let options = json!([{"label": "red"}, {"label": "blue", "description": "like the sea"}]);
    let question = json!({"id": "c", "header": "Colour", "question": "Which one?", "options": options});
    let call =
        json!({"tool_calls": [{"name": "request_user_input", "arguments": {"questions": [question]}}]});
    let desk = Desk::new(json!([call, {"text": "over"}])).await?;
    let mut pty = desk.terminal(&["go"])?;
    pty.screen.until_printed("2. blue: like the sea")?;
    pty.types(b"2\r")?;
    let (code, screen) = pty.finish()?;
    assert_eq!(code, Some(0), "{screen}");
    assert!(desk.last_request()?.contains("blue"), "{}", desk.last_request()?);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_at_the_terminal_interrupts_the_agent_and_twice_leaves() -> Result<()> {
    let desk = Desk::new(json!([command("echo begun; exec sleep 1000"), {"text": "I see"}])).await?;
    let mut pty = desk.terminal(&[])?;
    pty.screen.until_printed("> ")?;
    pty.types(b"go\r")?;
    pty.screen.until_printed("│ begun")?;
    pty.types(b"\x03")?;
    pty.screen.until_printed("interrupted")?;
    pty.types(b"and now?\r")?;
    pty.screen.until_printed("I see")?;
    desk.until_ended(2).await?;
    pty.types(b"\x03")?;
    pty.screen.until_printed("Ctrl+C again, or")?;
    pty.types(b"\x03")?;
    let (code, screen) = pty.finish()?;
    assert_eq!(code, Some(0), "{screen}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_the_person_types_runs_without_the_model_and_without_a_question() -> Result<()> {
    let when = json!({"last_user_contains": "what was it"});
    let desk = Desk::new(json!({"rules": [{"when": when, "turns": [{"text": "I see"}]}]})).await?;
    let mut pty = desk.terminal(&["--approvals", "unless-trusted"])?;
    pty.screen.until_printed("> ")?;
    pty.types(b"/run echo $((6 * 7)) > own; cat own\r")?;
    pty.screen.until_printed("│ 42")?;
    pty.screen.until_printed("✓ $ echo")?;
    assert_eq!(desk.model.requests().len(), 0);
    pty.types(b"what was it?\r")?;
    pty.screen.until_printed("I see")?;
    assert!(desk.last_request()?.contains("42"), "the agent knows what the person has run");
    pty.types(b"/quit\r")?;
    let (code, screen) = pty.finish()?;
    assert!(code == Some(0) && !screen.contains("Allow?"), "{screen}");
    Ok(())
}

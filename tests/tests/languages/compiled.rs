//! Languages that are compiled: nothing stays behind, and what they print is seen while they run.

use anyhow::Result;
use headwater_tests::Fixture;
use serde_json::json;

use crate::calls::{Languages, fixture};

const WAITS: &str = "#include <stdio.h>\nint main() { char b[9]; printf(\"here\\n\"); fflush(stdout); \
                     return fgets(b, 9, stdin) ? 3 : 4; }";

/// Files that runs have left in the session's `/tmp`.
async fn leftovers(fixture: &Fixture) -> Result<String> {
    fixture.run("ls -A /tmp | grep headwater || true").await
}

#[tokio::test]
async fn a_compiled_program_is_seen_at_work_and_leaves_nothing_behind() -> Result<()> {
    let fixture = fixture("").await?;
    let id = fixture.start_code(&json!({"language": "c", "code": WAITS, "stdin": "open"})).await?;
    fixture.until_printed(&id, "here\n").await?;
    assert!(!leftovers(&fixture).await?.is_empty(), "the program is in there while it runs");
    fixture.end_input(&id, b"{}").await?;
    assert!(matches!(fixture.end(&id).await?.code(), Some(3 | 4)));
    assert_eq!(leftovers(&fixture).await?, "");
    let ran = fixture.run_code(&json!({"language": "cpp", "code": "int main( {"})).await?;
    assert!(ran.stderr.contains("error") && ran.code() == Some(1), "{ran:?}");
    assert_eq!(leftovers(&fixture).await?, "");
    Ok(())
}

#[tokio::test]
async fn a_compiled_program_that_is_cancelled_leaves_nothing_behind() -> Result<()> {
    let fixture = fixture("").await?;
    let id =
        fixture.start_code(&json!({"language": "c", "code": WAITS, "stdin": "open", "file": "w.c"})).await?;
    fixture.until_printed(&id, "here\n").await?;
    fixture.post(&format!("/v1/executions/{id}/cancel"), &json!({})).await?;
    let ran = fixture.end(&id).await?;
    assert_eq!(ran.exit["reason"], "cancelled");
    assert_eq!(leftovers(&fixture).await?, "");
    assert_eq!(fixture.run("ls").await?, "w.c\n");
    Ok(())
}

#[tokio::test]
async fn a_program_killed_by_a_signal_is_reported_with_the_signal() -> Result<()> {
    let fixture = fixture("").await?;
    let code = "#include <stdlib.h>\nint main() { abort(); }";
    let ran = fixture.run_code(&json!({"language": "c", "code": code})).await?;
    assert_eq!((&ran.exit["reason"], &ran.exit["signal"]), (&json!("signalled"), &json!(6)), "{ran:?}");
    Ok(())
}

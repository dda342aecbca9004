//! Languages that are compiled: nothing stays behind, and what they print is seen while they run.

use anyhow::Result;
use serde_json::json;

use crate::scene::Scene;

const WAITS: &str = "#include <stdio.h>\nint main() { char b[9]; printf(\"here\\n\"); fflush(stdout); \
                     return fgets(b, 9, stdin) ? 3 : 4; }";

/// What is left of runs in the session's `/tmp`.
async fn leftovers(scene: &Scene) -> Result<String> {
    scene.shell("ls -A /tmp | grep headwater || true").await
}

#[tokio::test]
async fn a_compiled_program_is_seen_at_work_and_leaves_nothing_behind() -> Result<()> {
    let scene = Scene::new().await?;
    let id = scene.start(&json!({"language": "c", "code": WAITS, "stdin": "open"})).await?;
    scene.printed(&id, "here\n").await?;
    assert!(!leftovers(&scene).await?.is_empty(), "the program is in there while it runs");
    scene.ask("POST", &format!("/v1/executions/{id}/stdin?eof=true"), &json!({})).await?;
    assert!(matches!(scene.end(&id).await?.code(), Some(3 | 4)));
    assert_eq!(leftovers(&scene).await?, "");
    let ran = scene.run(&json!({"language": "cpp", "code": "int main( {"})).await?;
    assert!(ran.stderr.contains("error") && ran.code() == Some(1), "{ran:?}");
    assert_eq!(leftovers(&scene).await?, "");
    Ok(())
}

#[tokio::test]
async fn a_compiled_program_that_is_cancelled_leaves_nothing_behind() -> Result<()> {
    let scene = Scene::new().await?;
    let id = scene.start(&json!({"language": "c", "code": WAITS, "stdin": "open", "file": "w.c"})).await?;
    scene.printed(&id, "here\n").await?;
    scene.ask("POST", &format!("/v1/executions/{id}/cancel"), &json!({})).await?;
    let ran = scene.end(&id).await?;
    assert_eq!(ran.exit["reason"], "cancelled");
    assert_eq!(leftovers(&scene).await?, "");
    assert_eq!(scene.shell("ls").await?, "w.c\n");
    Ok(())
}

#[tokio::test]
async fn a_program_killed_by_a_signal_is_reported_with_the_signal() -> Result<()> {
    let scene = Scene::new().await?;
    let code = "#include <stdlib.h>\nint main() { abort(); }";
    let ran = scene.run(&json!({"language": "c", "code": code})).await?;
    assert_eq!((&ran.exit["reason"], &ran.exit["signal"]), (&json!("signalled"), &json!(6)), "{ran:?}");
    Ok(())
}

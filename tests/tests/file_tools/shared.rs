//! Several agents and programs change the same files at the same time.

use std::collections::BTreeSet;

use anyhow::Result;
use headwater_protocol::StartSpec;
use serde_json::json;

use crate::{Ground, agent, call, patch};

#[tokio::test]
async fn edits_of_several_agents_to_one_file_lose_nothing() -> Result<()> {
    let ground = Ground::new().await?;
    ground.write("list.txt", "begin\nend\n").await;
    let mut agents = Vec::new();
    for number in 0..4 {
        let agent = agent(&ground.worker, ground.session).await?;
        agents.push(tokio::spawn(async move {
            let mut done = Vec::new();
            for turn in 0..10 {
                let line = format!("agent {number} turn {turn}");
                let outcome = if turn % 2 == 0 {
                    let sections = format!("*** Update File: list.txt\n@@\n begin\n+{line}");
                    call(&agent, "apply_patch", json!({ "input": patch(&sections) })).await
                } else {
                    let edit = json!({"file_path": "list.txt", "old_string": "\nend\n", "new_string": format!("\n{line}\nend\n")});
                    call(&agent, "edit_file", edit).await
                };
                if outcome.is_error {
                    assert!(outcome.text.contains("has changed"), "{}", outcome.text);
                } else {
                    done.push(line);
                }
            }
            done
        }));
    }
    let mut expected = BTreeSet::from(["begin".to_owned(), "end".to_owned()]);
    for agent in agents {
        expected.extend(agent.await?);
    }
    let text = ground.read("list.txt");
    let lines: BTreeSet<String> = text.lines().map(str::to_owned).collect();
    assert_eq!(lines, expected);
    assert_eq!(text.lines().count(), lines.len(), "each once");
    assert!(expected.len() > 12, "at least one of four that collide succeeds");
    Ok(())
}

#[tokio::test]
async fn a_file_that_a_program_writes_all_the_time_is_not_overwritten() -> Result<()> {
    let ground = Ground::new().await?;
    ground.write("counter.txt", "count 0\nkept\n").await;
    let busy = "i=0; while [ ! -e stop ]; do i=$((i+1)); printf 'count %s\\nkept\\n' $i > t; mv t counter.txt; done; \
                printf 'count done\\n' > last.txt";
    let id = ground.worker.begin_in(ground.session, &StartSpec::shell(busy)).await?;
    let (mut done, mut refused) = (0, 0);
    for _ in 0..10 {
        let edit = json!({"file_path": "counter.txt", "old_string": "kept", "new_string": "changed"});
        let outcome = ground.call("edit_file", edit).await;
        if outcome.is_error {
            assert!(
                outcome.text.contains("has changed") || outcome.text.contains("does not"),
                "{}",
                outcome.text
            );
            refused += 1;
        } else {
            done += 1;
        }
    }
    assert_eq!(done + refused, 10);
    ground.write("stop", "").await;
    ground.worker.until_exited(id).await?;
    // Whatever happened, the file is one that somebody wrote as a whole.
    let text = ground.read("counter.txt");
    assert!(text.starts_with("count ") && text.lines().count() == 2, "{text:?}");
    Ok(())
}

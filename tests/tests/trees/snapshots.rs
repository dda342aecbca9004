//! Copies of a workspace: kept, put back, compared with, forked; and a worker that is killed meanwhile.

use anyhow::{Result, ensure};
use headwater_tests::host::eventually;
use headwater_tests::http::{error_of, text, texts};
use serde_json::{Value, json};

use crate::{new, staged, with};

#[tokio::test]
async fn a_snapshot_is_put_back_whole_while_programs_run() -> Result<()> {
    let fixture = new().await?;
    fixture.run("mkdir -p d/e && echo one > d/f && ln -s f d/l && chmod 700 d/f && touch \"$(printf 'odd\\377')\"").await?;
    let path = format!("/v1/sessions/{}/executions", fixture.session);
    let cat = fixture
        .post_ok(&path, &json!({"shell": "while read x; do cat d/f; pwd; done", "stdin": "open"}))
        .await?;
    let kept = fixture.post_ok(&fixture.path("snapshots"), &json!({"name": "before"})).await?;
    ensure!(
        text(&kept["id"]).starts_with("snp_") && kept["name"] == "before" && kept["files"] == 5,
        "{kept}"
    );
    ensure!(kept["bytes"].as_u64().is_some_and(|bytes| bytes > 0), "{kept}");
    fixture.run("rm -r d odd* && mkdir x && echo two > x/y && mkdir d && echo changed > d/f").await?;
    let restore = fixture.path(&format!("snapshots/{}/restore", text(&kept["id"])));
    assert_eq!(fixture.post_ok(&restore, &json!({})).await?["id"], kept["id"]);
    let info = fixture.run("ls -A && cat d/f d/l && stat -c %a d/f && ls d && pwd").await?;
    assert_eq!(info.replace("odd\u{fffd}", "odd"), "d\nodd\none\none\n700\ne\nf\nl\n/workspace\n");
    // The program that ran all the time sees the same folder with what was put back.
    let id = text(&cat["id"]);
    let stdin = format!("/v1/executions/{id}/stdin");
    ensure!(fixture.request("POST", &stdin, &[], b"go\n").await?.status < 300);
    let output = format!("/v1/executions/{id}/output");
    let printed = async || {
        let answer = fixture.get(&output).await;
        answer.is_ok_and(|answer| answer.text() == "one\n/workspace\n")
    };
    eventually("the program sees what was put back", printed).await?;
    assert_eq!(texts(&fixture.json(&fixture.path("snapshots")).await?, "id"), [text(&kept["id"])]);
    let one = fixture.path(&format!("snapshots/{}", text(&kept["id"])));
    assert_eq!(fixture.delete(&one).await?.status, 204);
    error_of(&fixture.delete(&one).await?, 404)?;
    error_of(&fixture.request("POST", &restore, &[], b"").await?, 404)?;
    assert_eq!(staged(&fixture), 0);
    Ok(())
}

#[tokio::test]
async fn diffs_are_shown_against_the_start_and_against_a_snapshot() -> Result<()> {
    let fixture = new().await?;
    let diff = async |query: &str| fixture.json(&fixture.path(&format!("files/diff{query}"))).await;
    assert_eq!(diff("").await?, json!({"items": [], "truncated": false}));
    fixture.run("mkdir d && printf 'one\\ntwo\\n' > d/f && echo same > same && echo x > gone").await?;
    let info = diff("?content=true").await?;
    assert_eq!(texts(&info, "path"), ["d", "d/f", "gone", "same"]);
    assert_eq!(texts(&info, "type"), ["added"; 4]);
    assert_eq!(info["items"][1]["patch"], "--- /dev/null\n+++ b/d/f\n@@ -0,0 +1,2 @@\n+one\n+two\n");
    let kept = fixture.post_ok(&fixture.path("snapshots"), &json!({})).await?;
    let query = format!("?snapshot={}&content=true", text(&kept["id"]));
    assert_eq!(diff(&query).await?["items"], json!([]));
    // The same length, the same time: only the content differs.
    fixture
        .run("printf 'one\\nTWO\\n' > d/f && touch -r same d/f && rm gone && touch same && echo new > new")
        .await?;
    let info = diff(&query).await?;
    assert_eq!(texts(&info, "path"), ["d/f", "new", "gone"]);
    assert_eq!(texts(&info, "type"), ["modified", "added", "removed"]);
    assert_eq!(info["items"][0]["patch"], "--- a/d/f\n+++ b/d/f\n@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n");
    assert_eq!(info["items"][2]["patch"], "--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n");
    error_of(&fixture.get(&fixture.path(&format!("files/diff?snapshot=snp_{:032x}", 1))).await?, 404)?;
    error_of(&fixture.get(&fixture.path("files/diff?snapshot=x")).await?, 400)?;
    Ok(())
}

#[tokio::test]
async fn a_fork_has_a_copy_of_the_workspace_and_goes_its_own_way() -> Result<()> {
    let fixture = with(&json!({"env": {"COLOUR": "blue"}, "metadata": {"a": "b"}})).await?;
    fixture
        .run("mkdir d && echo one > d/f && dd if=/dev/zero of=holes bs=1 count=1 seek=100M 2>/dev/null")
        .await?;
    let kept = fixture.post_ok(&fixture.path("snapshots"), &json!({})).await?;
    fixture.run("echo two > d/f").await?;
    let forked = fixture.post_ok(&fixture.path("fork"), &json!({"name": "copy"})).await?;
    let id = text(&forked["id"]);
    ensure!(forked["name"] == "copy" && forked["metadata"] == json!({"a": "b"}), "{forked}");
    let info =
        fixture.run_in(&id, "cat d/f && echo $COLOUR && stat -c %U d/f && du -k holes | cut -f1").await?;
    let lines: Vec<_> = info.lines().collect();
    ensure!(lines[..2] == ["two", "blue"] && lines[3].parse::<u64>()? < 1000, "{info}");
    let mine = fixture.run_in(&id, "id -un").await?;
    assert_eq!(lines[2], mine.trim(), "what is in it is the session's own");
    fixture.run_in(&id, "echo three > d/f && rm -f holes").await?;
    assert_eq!(fixture.run("cat d/f && ls").await?, "two\nd\nholes\n");
    let diff = fixture.json(&format!("/v1/sessions/{id}/files/diff")).await?;
    assert_eq!(
        (texts(&diff, "path"), texts(&diff, "type")),
        (vec!["d/f".into(), "holes".into()], vec!["modified".into(), "removed".into()])
    );
    let earlier = fixture.post_ok(&fixture.path("fork"), &json!({"snapshot": kept["id"]})).await?;
    assert_eq!(fixture.run_in(&text(&earlier["id"]), "cat d/f").await?, "one\n");
    let missing = json!({"snapshot": format!("snp_{:032x}", 1)}).to_string();
    let answer = fixture
        .request("POST", &fixture.path("fork"), &[("Content-Type", "application/json")], missing.as_bytes())
        .await?;
    error_of(&answer, 404)?;
    Ok(())
}

#[tokio::test]
async fn snapshots_are_bounded_and_count_towards_the_disk_limit() -> Result<()> {
    let fixture = with(&json!({"limits": {"disk_bytes": 12 << 20}})).await?;
    fixture.run("head -c 5000000 /dev/urandom > f").await?;
    let kept = fixture.post_ok(&fixture.path("snapshots"), &json!({})).await?;
    let answer = fixture.request("POST", &fixture.path("snapshots"), &[], b"").await?;
    // A file system that shares blocks has space for any number; the limit counts what is reported.
    ensure!(answer.status == 413 || answer.status == 201, "{}", answer.text());
    fixture.run("rm f").await?;
    let one = fixture.path(&format!("snapshots/{}", text(&kept["id"])));
    assert_eq!(fixture.delete(&one).await?.status, 204);
    let before = texts(&fixture.json(&fixture.path("snapshots")).await?, "id").len();
    for _ in before..32 {
        fixture.post_ok(&fixture.path("snapshots"), &json!({})).await?;
    }
    error_of(&fixture.request("POST", &fixture.path("snapshots"), &[], b"").await?, 409)?;
    Ok(())
}

#[tokio::test]
async fn a_worker_that_is_killed_leaves_snapshots_whole_and_restores_finished() -> Result<()> {
    let fixture = new().await?;
    fixture.run("mkdir many && cd many && for n in $(seq 300); do echo old > f$n; done").await?;
    let kept = text(&fixture.post_ok(&fixture.path("snapshots"), &json!({})).await?["id"]);
    for round in 0..4_u64 {
        fixture
            .run("rm -rf many && mkdir many && cd many && for n in $(seq 300); do echo new > f$n; done")
            .await?;
        let restore = fixture.path(&format!("snapshots/{kept}/restore"));
        let snapshots = fixture.path("snapshots");
        let (restored, made, killed) = tokio::join!(
            fixture.request("POST", &restore, &[], b""),
            fixture.request("POST", &snapshots, &[], b""),
            async {
                tokio::time::sleep(std::time::Duration::from_millis(round * 15)).await;
                fixture.server.kill_worker().await
            },
        );
        killed?;
        // Both are asked for again of the next worker.
        ensure!(restored?.status == 200, "round {round}");
        let made = made?;
        ensure!(made.status == 201, "round {round}: {}", made.text());
        let counts = fixture.run("cat many/* | sort | uniq -c | tr -s ' '").await?;
        assert_eq!(counts, " 300 old\n", "round {round}: it is the snapshot, and nothing else");
        eventually("nothing is left in the staging folder", async || staged(&fixture) == 0).await?;
        let id = text(&made.json()?["id"]);
        let ids = texts(&fixture.json(&snapshots).await?, "id");
        assert_eq!(ids.iter().filter(|known| **known == id).count(), 1, "{ids:?}");
    }
    for id in texts(&fixture.json(&fixture.path("snapshots")).await?, "id") {
        fixture.post_ok(&fixture.path(&format!("snapshots/{id}/restore")), &json!({})).await?;
        assert_eq!(fixture.run("ls many | wc -l").await?.trim(), "300", "{id} is whole");
    }
    Ok(())
}

#[tokio::test]
async fn a_truncated_diff_says_so() -> Result<()> {
    let fixture = new().await?;
    fixture.run("head -c 3000000 /dev/zero | tr '\\0' 'a' > long; echo a > short").await?;
    let snapshot = text(&fixture.post_ok(&fixture.path("snapshots"), &json!({})).await?["id"]);
    fixture.run("echo b >> long; echo b >> short").await?;
    let query = format!("files/diff?snapshot={snapshot}&content=true");
    let info = fixture.json(&fixture.path(&query)).await?;
    assert_eq!(
        (texts(&info, "path"), &info["truncated"]),
        (vec!["long".into(), "short".into()], &json!(false))
    );
    assert_eq!(
        (&info["items"][0]["patch_too_long"], &info["items"][0]["patch"]),
        (&json!(true), &Value::Null)
    );
    assert_eq!(
        info["items"][1]["patch"], "--- a/short\n+++ b/short\n@@ -1 +1,2 @@\n a\n+b\n",
        "the control: a short text has its patch"
    );
    // More than are listed.
    fixture.run("mkdir many && cd many && seq 20001 | xargs touch").await?;
    let info = fixture.json(&fixture.path("files/diff")).await?;
    assert_eq!((texts(&info, "path").len(), &info["truncated"]), (20_000, &json!(true)));
    Ok(())
}

#[tokio::test]
async fn a_restore_and_a_fork_give_folders_the_rights_that_they_had() -> Result<()> {
    let fixture = new().await?;
    fixture
        .run("mkdir -p shut/inner open && echo one > shut/inner/file && chmod 400 shut/inner/file && chmod 711 open \
              && chmod 555 shut/inner && chmod 550 shut")
        .await?;
    let look = "find . -mindepth 1 -printf '%P %m\\n' | sort";
    let before = fixture.run(look).await?;
    assert_eq!(before, "open 711\nshut 550\nshut/inner 555\nshut/inner/file 400\n");
    let kept = text(&fixture.post_ok(&fixture.path("snapshots"), &json!({})).await?["id"]);
    fixture.run("chmod 700 shut shut/inner && echo two > shut/inner/other && chmod 500 shut open").await?;
    fixture.post_ok(&fixture.path(&format!("snapshots/{kept}/restore")), &json!({})).await?;
    assert_eq!(fixture.run(look).await?, before, "restored");
    for request in [json!({}), json!({"snapshot": kept})] {
        let fork = text(&fixture.post_ok(&fixture.path("fork"), &request).await?["id"]);
        assert_eq!(fixture.run_in(&fork, look).await?, before, "forked: {request}");
    }
    // The snapshot is removed without a trace, although its folders are not writable.
    assert_eq!(fixture.delete(&fixture.path(&format!("snapshots/{kept}"))).await?.status, 204);
    assert_eq!(staged(&fixture), 0);
    Ok(())
}

//! The attacks of security.md on every verb: what hostile code puts into a path leads nowhere. Decided from the outside, by
//! canaries beside the workspace; the control shows that they can be reached.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use headwater_tests::Fixture;
use headwater_tests::host::eventually;
use headwater_tests::http::json_of;
use serde_json::{Value, json};

use crate::calls::Files;

/// A folder that everybody on the host may read and change, beside the server's.
struct Canary {
    folder: PathBuf,
    before: Vec<(String, String, u32, i64)>,
}

impl Canary {
    fn new(fixture: &Fixture) -> Result<Self> {
        let folder = fixture.server.scratch().join("canary");
        fs::create_dir(&folder)?;
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777))?;
        fs::write(folder.join("file"), "the canary sings")?;
        fs::set_permissions(folder.join("file"), fs::Permissions::from_mode(0o666))?;
        let before = look(&folder)?;
        Ok(Self { folder, before })
    }

    fn is_untouched(&self) -> Result<()> {
        let now = look(&self.folder)?;
        ensure!(now == self.before, "the canary was touched: {now:?}");
        Ok(())
    }
}

fn look(folder: &Path) -> Result<Vec<(String, String, u32, i64)>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder)? {
        let (path, meta) = {
            let entry = entry?;
            (entry.path(), entry.metadata()?)
        };
        let name = path.file_name().context("no name")?.to_string_lossy().into_owned();
        all.push((name, fs::read_to_string(&path)?, meta.mode(), meta.mtime()));
    }
    Ok(all)
}

/// Every verb on a path: what it is called, the method, the rest of the route, a body.
fn verbs(path: &str) -> Vec<(&'static str, &'static str, String, Value)> {
    vec![
        ("read", "GET", format!("/content?path={path}"), Value::Null),
        ("head", "HEAD", format!("/content?path={path}"), Value::Null),
        ("list", "GET", format!("?path={path}&depth=3"), Value::Null),
        ("write", "PUT", format!("/content?path={path}"), json!("written")),
        ("append", "PUT", format!("/content?path={path}&mode=append"), json!("added")),
        ("offset", "PUT", format!("/content?path={path}&offset=1"), json!("put")),
        ("folder", "POST", "/folders".into(), json!({ "path": path })),
        ("chmod", "POST", "/chmod".into(), json!({ "path": path, "mode": "700" })),
        ("copy from", "POST", "/copy".into(), json!({ "from": path, "to": "stolen" })),
        ("copy to", "POST", "/copy".into(), json!({ "from": "own", "to": path, "overwrite": true })),
        ("move from", "POST", "/move".into(), json!({ "from": path, "to": "stolen" })),
        ("move to", "POST", "/move".into(), json!({ "from": "own", "to": path })),
        ("remove", "DELETE", format!("?path={path}&recursive=true"), Value::Null),
    ]
}

/// The status of a verb. Its answer must not contain the canary.
async fn run(fixture: &Fixture, (name, method, rest, body): (&str, &str, String, Value)) -> Result<u16> {
    let json = [("Content-Type", "application/json")];
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let answer = fixture.request(method, &fixture.route(&rest), &json, body.as_bytes()).await?;
    ensure!(!answer.text().contains("sings"), "{name} {rest} tells what the canary sings");
    ensure!(answer.status < 500, "{name} {rest}: {}", answer.text());
    Ok(answer.status)
}

#[tokio::test]
async fn links_anywhere_in_a_path_lead_no_verb_out_of_the_workspace() -> Result<()> {
    let fixture = Fixture::new().await?;
    let canary = Canary::new(&fixture)?;
    let at = canary.folder.display();
    let set_up = format!(
        "mkdir -p real; echo own > own; ln -s {at} out; ln -s {at} real/out; ln -s {at}/file file; ln -s {at}/new dangling; \
         ln -s / root; ln -s .. up; ln -s ../../.. upper; ln -s real inner; ln -s self self; ln -s /proc/self/root magic; \
         ln -s /proc/self/fd/0 fd; echo made"
    );
    ensure!(fixture.run(&set_up).await? == "made\n");
    let through = [
        "out/file",
        "out/new",
        "out/new/er",
        "real/out/file",
        "root/etc/passwd",
        "up/x",
        "upper/x",
        "inner/x",
        "self/x",
        "magic/etc/passwd",
        "file/x",
        "own/x",
        "./out/./file",
        "/workspace/out/file",
    ];
    for path in through {
        for verb in verbs(path) {
            let name = verb.0;
            let status = run(&fixture, verb).await?;
            ensure!(matches!(status, 400 | 409), "{name} {path} answered {status}");
            canary.is_untouched()?;
        }
    }
    for path in ["out", "file", "dangling", "root", "up", "self", "magic", "fd", "inner"] {
        for verb in verbs(path) {
            // The link itself may be given another name or removed; that is tried last.
            if matches!(verb.0, "move from" | "remove") {
                continue;
            }
            let name = verb.0;
            let status = run(&fixture, verb).await?;
            ensure!(status == 409, "{name} {path} answered {status}");
            canary.is_untouched()?;
        }
        let info = json_of(&fixture.stat(path).await?, 200)?;
        ensure!(info["type"] == "link", "{info}");
    }
    // The control: opening the paths as they are leads to the canary.
    ensure!(fs::read_to_string(fixture.workspace().join("out/file"))? == "the canary sings");
    for path in ["out", "file", "dangling", "root", "up", "self", "magic", "fd"] {
        json_of(&fixture.change("move", &json!({ "from": path, "to": "other" })).await?, 200)?;
        json_of(&fixture.remove("other&recursive=true").await?, 204)?;
        canary.is_untouched()?;
    }
    fs::write(canary.folder.join("file"), "changed")?;
    ensure!(canary.is_untouched().is_err(), "the control: a touch is seen");
    Ok(())
}

#[tokio::test]
async fn a_tree_full_of_links_is_listed_copied_and_removed_without_following_one() -> Result<()> {
    let fixture = Fixture::new().await?;
    let canary = Canary::new(&fixture)?;
    let at = canary.folder.display();
    let set_up = format!(
        "mkdir -p t/d; ln -s {at} t/out; ln -s {at}/file t/d/file; ln -s / t/root; ln -s . t/self; echo x > t/x"
    );
    fixture.run(&set_up).await?;
    let listed = fixture.list("path=t&depth=100").await?;
    ensure!(listed["items"].as_array().is_some_and(|items| items.len() == 6), "{listed}");
    let copied = json_of(&fixture.change("copy", &json!({ "from": "t", "to": "c" })).await?, 200)?;
    ensure!(copied["files"] == 7 && copied["bytes"] == 2, "{copied}");
    ensure!(json_of(&fixture.stat("c/out").await?, 200)?["type"] == "link");
    for tree in ["t", "c"] {
        json_of(&fixture.remove(&format!("{tree}&recursive=true")).await?, 204)?;
        canary.is_untouched()?;
    }
    Ok(())
}

#[tokio::test]
async fn fifos_sockets_and_hard_links_are_neither_waited_for_nor_written_through() -> Result<()> {
    let fixture = Fixture::new().await?;
    let canary = Canary::new(&fixture)?;
    fixture.run("echo own > own; mkfifo fifo; python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"socket\")'").await?;
    // A program of the session cannot create this one; a user of the host could.
    fs::hard_link(canary.folder.join("file"), fixture.workspace().join("hard"))?;
    ensure!(fs::read_to_string(fixture.workspace().join("hard"))? == "the canary sings", "the control");
    for path in ["fifo", "socket", "hard"] {
        for verb in verbs(path) {
            let name = verb.0;
            if matches!(name, "move from" | "remove") || (path == "hard" && name == "head") {
                continue;
            }
            let status = run(&fixture, verb).await?;
            ensure!(status == 409, "{name} {path} answered {status}");
        }
    }
    let names: Vec<_> =
        look(&canary.folder)?.into_iter().map(|(name, text, mode, _)| (name, text, mode)).collect();
    ensure!(names == [("file".to_owned(), "the canary sings".to_owned(), canary.before[0].2)], "{names:?}");
    for path in ["fifo", "socket", "hard"] {
        json_of(&fixture.remove(path).await?, 204)?;
    }
    canary.is_untouched()?;
    Ok(())
}

#[tokio::test]
async fn a_link_that_is_swapped_in_while_requests_run_leads_none_of_them_out() -> Result<()> {
    let fixture = Fixture::new().await?;
    let canary = Canary::new(&fixture)?;
    let at = canary.folder.display();
    // `d` is a folder and a link to the canary in turns, as fast as a program can.
    let swap = format!(
        "import os, ctypes\nlibc = ctypes.CDLL(None)\nos.mkdir('d')\nos.symlink('{at}', 'l')\nopen('own', 'w').write('own')\n\
         print('go', flush=True)\nwhile not os.path.exists('stop'):\n    libc.renameat2(-100, b'd', -100, b'l', 2)\n"
    );
    let path = format!("/v1/sessions/{}/executions", fixture.session);
    let made = json_of(&fixture.post(&path, &json!({ "language": "python", "code": swap })).await?, 201)?;
    let id = made["id"].as_str().context("no execution")?.to_owned();
    let output = format!("/v1/executions/{id}/output");
    let goes = async || fixture.get(&output).await.is_ok_and(|answer| answer.text().contains("go"));
    eventually("it swaps", goes).await?;
    let (mut did, mut refused) = (0, 0);
    for _ in 0..12 {
        for verb in verbs("d/file") {
            if run(&fixture, verb).await? < 300 { did += 1 } else { refused += 1 }
        }
        canary.is_untouched()?;
        for path in ["own", "stolen"] {
            fixture.remove(&format!("{path}&recursive=true")).await?;
        }
        json_of(&fixture.write("own", b"own").await?, 201)?;
    }
    json_of(&fixture.write("stop", b"").await?, 201)?;
    ensure!(did > 0 && refused > 0, "{did} were done and {refused} refused: it was no race");
    Ok(())
}

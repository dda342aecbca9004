//! Workspaces as the engine touches them: measuring and removing what hostile code has left there.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use anyhow::Result;
use headwater_contract::v1;
use headwater_protocol::{Limits, Reason, SessionId, SnapshotId, StartSpec};
use headwater_tests::host;

use crate::target::{ENTRIES, Entry, Target, WALLED};

const CLASS: u32 = 10;

/// Fills a workspace by this code, ends the session, and sees that nothing is left of the workspace.
async fn is_removed_after(target: &Target, entry: Entry, code: &str) -> Result<SessionId> {
    let session = target.session(Limits::default()).await?;
    let seen = target.run(session, &entry.spec(code)).await?;
    let (verdict, errors) = (seen.verdict(), seen.errors());
    anyhow::ensure!(verdict.code == Some(0), "{:?}: {verdict:?} {errors}{}", target.side, seen.screen());
    let workspace = target.worker.workspace(session);
    anyhow::ensure!(fs::read_dir(&workspace)?.count() > 0, "the control: something is there");
    target.end(session).await?;
    anyhow::ensure!(!workspace.exists(), "{:?} {entry:?}: the workspace is left", target.side);
    Ok(session)
}

#[tokio::test]
async fn links_are_removed_and_what_they_lead_to_stays() -> Result<()> {
    let folder = tempfile::tempdir()?;
    fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777))?;
    for side in WALLED {
        let target = Target::new(side, CLASS).await?;
        let canary = folder.path().join(format!("{side:?}"));
        fs::create_dir(&canary)?;
        fs::write(canary.join("file"), "kept")?;
        if side == crate::target::Side::Ordinary {
            // The worker could remove it: it must not want to.
            Command::new("chown").arg("-R").arg(format!("{}", 64_321 + CLASS)).arg(&canary).status()?;
        }
        let code = format!(
            "import os\nos.makedirs('a/b')\nfor n, to in enumerate(['{0}', '{0}/', '{0}/file', '/', '..', '../..', '../executions', '/proc/self/root', '.', 'a', 'self']):\n    os.symlink(to, 'link%d' % n); os.symlink(to, 'a/b/link%d' % n)\nos.symlink('self', 'self')\n",
            canary.display()
        );
        for entry in ENTRIES {
            is_removed_after(&target, entry, &code).await?;
            assert_eq!(fs::read_to_string(canary.join("file"))?, "kept", "{side:?} {entry:?}");
        }
    }
    // The control: one that follows links would have removed it.
    let tree = folder.path().join("tree");
    fs::create_dir(&tree)?;
    std::os::unix::fs::symlink(folder.path().join("Root"), tree.join("link"))?;
    Command::new("find").arg("-L").arg(&tree).args(["-name", "file", "-delete"]).status()?;
    assert!(!folder.path().join("Root/file").exists());
    Ok(())
}

#[tokio::test]
async fn trees_of_any_depth_mode_name_and_kind_are_removed() -> Result<()> {
    let trees = [
        ("deep", "import os\nfor n in range(2500): os.mkdir('d'); os.chdir('d')"),
        (
            "modes",
            "import os\nfor mode in (0o000, 0o100, 0o200, 0o300, 0o400, 0o500, 0o600, 0o1777, 0o7777):\n    p = 'm%o' % mode; os.makedirs(p + '/in/in'); open(p + '/file', 'w').close(); open(p + '/in/in/file', 'w').close()\n    os.chmod(p + '/file', 0); os.chmod(p + '/in/in', mode & 0o577); os.chmod(p + '/in', mode & 0o577); os.chmod(p, mode)",
        ),
        (
            "names",
            "import os\nfor name in [b'new\\nline', b'\\xff\\xfe', b'-rf', b' ', b'*', b'..x', b'n' * 255, b'\\x1b[2J', b'.headwater-removed-0']:\n    os.mkdir(name); open(name + b'/' + name, 'w').close()",
        ),
        (
            "kinds",
            "import os, socket\nos.mkfifo('fifo'); s = socket.socket(socket.AF_UNIX); s.bind('sock'); open('f', 'w').close(); os.link('f', 'hard'); os.truncate('f', 1 << 30); os.setxattr('f', 'user.x', b'y')",
        ),
        ("many", "import os\nfor n in range(3000): open('f%d' % n, 'w').close()"),
        ("root itself", "import os\nopen('f', 'w').close(); os.chmod('.', 0o500)"),
        ("root shut", "import os\nos.mkdir('d'); os.chmod('.', 0)"),
    ];
    for side in WALLED {
        let target = Target::new(side, CLASS).await?;
        for (n, (name, code)) in trees.iter().enumerate() {
            let session = is_removed_after(&target, ENTRIES[n % 4], code)
                .await
                .map_err(|error| error.context(*name))?;
            target.client.end_session(session, true).await?;
            assert!(
                !target.worker.data().join("sessions").join(session.to_string()).exists(),
                "{side:?} {name}"
            );
        }
        assert!(target.worker.data().join("sessions").exists());
    }
    Ok(())
}

/// Runs until it is ended: the measurement must come before this.
const STAY: &str = "\nimport time\ntime.sleep(100)\n";
/// Stays long enough to be measured.
const STAY_A_WHILE: &str = "\nimport time\ntime.sleep(3)\n";

#[tokio::test]
async fn measuring_follows_no_link_and_counts_no_hole() -> Result<()> {
    for side in WALLED {
        let target = Target::new(side, CLASS).await?;
        let limits = || Limits { disk_bytes: Some(8 << 20), inodes: Some(200), ..Limits::default() };
        let code = format!(
            "import os\nfor n in range(50): os.symlink('/usr', 'usr%d' % n)\nos.symlink('.', 'self')\nfor n in range(40): os.truncate(os.open('hole%d' % n, os.O_CREAT | os.O_RDWR), 4 << 20){STAY_A_WHILE}"
        );
        let mut all = Vec::new();
        for entry in ENTRIES {
            let session = target.session(limits()).await?;
            all.push((entry, target.start(session, &entry.spec(&code)).await?.1));
        }
        for (entry, watcher) in all {
            let seen = watcher.rest().await?;
            assert_eq!(seen.verdict().code, Some(0), "{side:?} {entry:?}: {:?}", seen.verdict());
        }
        // The control: real bytes of the same kind are counted.
        let session = target.session(limits()).await?;
        let code = format!("for n in range(8): open('big%d' % n, 'wb').write(bytes(4 << 20)){STAY}");
        let seen = target.run(session, &Entry::Python.spec(&code)).await?;
        assert_eq!(seen.verdict().reason, Reason::DiskLimit, "{side:?}");
    }
    Ok(())
}

/// Checks that code which writes more than the limit is ended, from every entry.
async fn is_measured(code: &str) -> Result<()> {
    for side in WALLED {
        let target = Target::new(side, CLASS).await?;
        for entry in ENTRIES {
            let session = target.session(Limits { disk_bytes: Some(8 << 20), ..Limits::default() }).await?;
            let seen = target.run(session, &entry.spec(&format!("{code}{STAY}"))).await?;
            assert_eq!(seen.verdict().reason, Reason::DiskLimit, "{side:?} {entry:?}: hidden");
            target.end(session).await?;
            assert!(!target.worker.workspace(session).exists(), "{side:?} {entry:?}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn bytes_cannot_be_hidden_from_measuring_in_folders_that_are_shut() -> Result<()> {
    is_measured("import os\nos.makedirs('shut/in'); all = [open('shut/in/big%d' % n, 'wb') for n in range(16)]; os.chmod('shut/in', 0); os.chmod('shut', 0)\nfor f in all: f.write(bytes(4 << 20)); f.flush()").await
}

#[tokio::test]
async fn bytes_cannot_be_hidden_from_measuring_in_files_without_a_name() -> Result<()> {
    is_measured("import os\nall = []\nfor n in range(8): all += [os.open('big', os.O_CREAT | os.O_WRONLY), os.open('.', os.O_TMPFILE | os.O_RDWR)]; os.unlink('big')\nfor f in all: os.write(f, bytes(4 << 20))").await
}

#[tokio::test]
async fn a_working_directory_leads_nowhere_on_the_host() -> Result<()> {
    for side in WALLED {
        let target = Target::new(side, CLASS).await?;
        let session = target.session(Limits::default()).await?;
        let data = target.worker.data().to_string_lossy().into_owned();
        target
            .run(
                session,
                &StartSpec::shell(format!("ln -s {data} out; ln -s / top; ln -s ../executions beside")),
            )
            .await?;
        for cwd in ["out", "beside", "../executions", &data, "/root", "/proc/1/cwd", "/proc/1/root/root"] {
            let mut spec = StartSpec::shell("touch was-here; pwd");
            spec.cwd = Some(cwd.to_owned());
            let seen = target.run(session, &spec).await?;
            assert_eq!(seen.verdict().reason, Reason::SetupFailed, "{side:?} `{cwd}`: {}", seen.text());
        }
        let mut spec = StartSpec::shell("ls -i /usr | head -1 >/dev/null; stat -c %d:%i .");
        spec.cwd = Some("top".into());
        let seen = target.run(session, &spec).await?;
        let top = fs::metadata("/")?;
        assert_ne!(
            seen.text().trim(),
            format!("{}:{}", top.dev(), top.ino()),
            "{side:?}: the root of the host"
        );
        assert_eq!(seen.verdict().code, Some(0), "the control: a link to a folder inside works");
        assert!(!found_below(target.worker.data(), "was-here"), "{side:?}");
    }
    Ok(())
}

fn found_below(folder: &Path, name: &str) -> bool {
    let found = Command::new("find").arg(folder).args(["-name", name]).output().expect("find runs");
    host::contains(&found.stdout, name.as_bytes())
}

#[tokio::test]
async fn files_beside_the_workspace_are_out_of_reach() -> Result<()> {
    for side in WALLED {
        let target = Target::new(side, CLASS).await?;
        let session = target.session(Limits::default()).await?;
        let (_, watcher) = target.start(session, &StartSpec::shell("echo secret-in-the-log")).await?;
        watcher.rest().await?;
        let code = "
import os
for at, folders, names in os.walk('/workspace/..', followlinks=False):
    if at.startswith(('/workspace/../proc', '/workspace/../usr')): folders.clear(); continue
    for name in names:
        if name in ('session.json', 'execution.json', 'index', 'init.sock', 'worker.sock'): open('/workspace/found', 'a').write(at + name)
for path in ('../session.json', '../executions', '/proc/1/cwd/../session.json', '/proc/self/cwd/../init.sock'):
    if os.path.lexists(path): open('/workspace/found', 'a').write(path)
print('looked')";
        for entry in ENTRIES {
            let seen = target.run(session, &entry.spec(code)).await?;
            assert!(host::contains(&[seen.stdout, seen.output].concat(), b"looked"));
        }
        let workspace = target.worker.workspace(session);
        assert!(
            !workspace.join("found").exists(),
            "{side:?}: {}",
            fs::read_to_string(workspace.join("found"))?
        );
        let beside = workspace.parent().expect("a parent").join("session.json");
        assert!(beside.exists(), "the control: it is there");
    }
    Ok(())
}

/// Code that is saved at this path.
fn saved_at(path: &str) -> StartSpec {
    StartSpec::new(headwater_protocol::Command::Code {
        language: "bash".into(),
        code: "echo ran".into(),
        file: Some(path.into()),
        args: Vec::new(),
    })
}

#[tokio::test]
async fn code_is_saved_through_no_link_that_the_session_has_planted() -> Result<()> {
    let folder = tempfile::tempdir()?;
    fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777))?;
    for side in WALLED {
        let target = Target::new(side, CLASS).await?;
        let canary = folder.path().join(format!("{side:?}"));
        fs::create_dir(&canary)?;
        fs::write(canary.join("file"), "kept")?;
        if side == crate::target::Side::Ordinary {
            // The worker could write to it: it must not.
            Command::new("chown").arg("-R").arg(format!("{}", 64_321 + CLASS)).arg(&canary).status()?;
        }
        let session = target.session(Limits::default()).await?;
        let plant = format!(
            "ln -s {0} folder; ln -s {0}/file file; ln -s {0}/new dangling; ln -s ../executions beside; mkdir in; ln -s {0} in/folder; ln -s in inner; ln -s /proc/self/cwd magic; mkfifo fifo; echo x >plain; ln plain hard",
            canary.display()
        );
        target.run(session, &StartSpec::shell(plant)).await?;
        let paths = [
            "folder/x",
            "folder/file",
            "file",
            "dangling",
            "beside/x",
            "in/folder/x",
            "in/folder/file",
            "inner/x",
            "magic/x",
            "fifo",
            "plain/x",
            "hard",
            "in",
            "folder",
        ];
        for path in paths {
            let answer = target.client.start(session, None, &saved_at(path)).await;
            let fault = answer.expect_err(path).fault().map(|fault| (fault.kind, fault.hint.is_some()));
            assert_eq!(fault, Some((headwater_contract::FaultKind::Conflict, true)), "{side:?} `{path}`");
        }
        let beside = folder_of_executions(&target, session);
        assert!(!beside.join("x").exists(), "{side:?}");
        let left: Vec<_> = fs::read_dir(&canary)?.flatten().map(|entry| entry.file_name()).collect();
        assert_eq!(
            (left, fs::read_to_string(canary.join("file"))?),
            (vec!["file".into()], "kept".into()),
            "{side:?}"
        );
        // The controls: where there is no link it is saved, and following the link leads outside.
        assert_eq!(target.run(session, &saved_at("in/x")).await?.text(), "ran\n");
        fs::write(target.worker.workspace(session).join("folder/file"), "changed")?;
        assert_eq!(fs::read_to_string(canary.join("file"))?, "changed");
    }
    Ok(())
}

fn folder_of_executions(target: &Target, session: SessionId) -> std::path::PathBuf {
    target.worker.workspace(session).join("../executions")
}

#[tokio::test]
async fn code_is_saved_nowhere_else_while_the_session_swaps_a_folder_for_a_link() -> Result<()> {
    let folder = tempfile::tempdir()?;
    fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777))?;
    for side in WALLED {
        let target = Target::new(side, CLASS).await?;
        let canary = folder.path().join(format!("{side:?}"));
        fs::create_dir(&canary)?;
        fs::set_permissions(&canary, std::os::unix::fs::PermissionsExt::from_mode(0o777))?;
        let session = target.session(Limits::default()).await?;
        // renameat2 with RENAME_EXCHANGE: the name is always there, now as a folder, now as a link.
        let swap = format!(
            "import ctypes, os\nos.mkdir('d'); os.symlink('{}', 'link'); c = ctypes.CDLL(None)\nprint('ready', flush=True)\nwhile not os.path.exists('stop'): c.renameat2(-100, b'd', -100, b'link', 2)",
            canary.display()
        );
        let (_, mut watcher) = target.start(session, &StartSpec::code("python", swap)).await?;
        watcher.until_printed("ready").await?;
        let (mut saved, mut refused) = (0, 0);
        for round in 0..2000 {
            if round >= 60 && saved > 0 && refused > 0 {
                break;
            }
            match target.client.start(session, None, &saved_at("d/x")).await {
                Ok(_) => saved += 1,
                Err(_) => refused += 1,
            }
        }
        fs::write(target.worker.workspace(session).join("stop"), "")?;
        watcher.rest().await?;
        assert_eq!(fs::read_dir(&canary)?.count(), 0, "{side:?}: saved outside");
        assert!(
            saved > 0 && refused > 0,
            "the control, {side:?}: {saved} met the folder, {refused} the link"
        );
    }
    Ok(())
}

#[tokio::test]
async fn folders_without_the_right_to_write_are_kept_restored_and_forked_as_they_are() -> Result<()> {
    let look = StartSpec::shell("find . -mindepth 1 -printf '%P %m\\n' | sort");
    for side in WALLED {
        let target = Target::new(side, CLASS).await?;
        let session = target.session(Limits::default()).await?;
        let make =
            "mkdir -p shut/inner && echo one > shut/inner/file && chmod 555 shut/inner && chmod 550 shut";
        target.run(session, &StartSpec::shell(make)).await?;
        let before = target.run(session, &look).await?.text();
        assert!(before.starts_with("shut 550\nshut/inner 555\n"), "the control, {side:?}: {before}");
        let kept = SnapshotId::random();
        target.client.create_snapshot(session, kept, "").await?;
        // The existing folders are moved aside, and those of the snapshot moved in.
        target.client.restore_snapshot(session, kept).await?;
        assert_eq!(target.run(session, &look).await?.text(), before, "{side:?}: restored");
        let fork = SessionId::random();
        let request = v1::ForkRequest {
            session_id: session.to_string(),
            new_session_id: fork.to_string(),
            snapshot_id: kept.to_string(),
            ..v1::ForkRequest::default()
        };
        target.client.fork_session(request).await?;
        assert_eq!(target.run(fork, &look).await?.text(), before, "{side:?}: forked");
        target.client.remove_snapshot(session, kept).await?;
    }
    Ok(())
}

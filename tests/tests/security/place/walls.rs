//! What programs of an in-place session can change, and what they cannot.

use std::fs;

use anyhow::Result;
use headwater_protocol::{PlaceMode, SandboxKind};

use super::{CASES, Case, Project, content};
use crate::target::{Entry, Side};

#[tokio::test]
async fn the_folder_is_at_its_own_path_and_new_files_belong_to_its_owner() -> Result<()> {
    for case in CASES {
        let project = Project::new(case).await?;
        let session = project.session(&project.spec(PlaceMode::WorkspaceWrite)).await?;
        let line = "pwd; cat a.txt; echo new > made; mkdir -p d/e; echo x > d/e/f; ln -s f d/e/l; \
                    stat -c %U made; readlink /workspace; touch $HOME/mine && echo $HOME; \
                    echo changed > sub/b.txt; rm a.txt; id -u";
        let seen = project.shell(session, line).await?;
        let folder = project.folder.display();
        assert_eq!(seen.errors(), "", "{case:?}");
        assert_eq!(
            seen.text(),
            format!("{folder}\nhello\nuser\n{folder}\n/home/headwater\n1000\n"),
            "{case:?}"
        );
        for path in ["made", "d", "d/e", "d/e/f", "d/e/l", "sub/b.txt"] {
            let about = fs::symlink_metadata(project.folder.join(path))?;
            let owner =
                (std::os::unix::fs::MetadataExt::uid(&about), std::os::unix::fs::MetadataExt::gid(&about));
            assert_eq!(owner, (project.owner, project.owner), "{case:?} {path}");
        }
        assert_eq!(fs::read_to_string(project.folder.join("sub/b.txt"))?, "changed\n", "{case:?}");
        assert!(!project.folder.join("a.txt").exists() && !project.folder.join("mine").exists());
        assert!(!std::path::Path::new("/home/headwater").exists(), "the home is not on the host");
        let about = project.target.client.session(session).await?;
        assert_eq!(about.sandbox, SandboxKind::Full);
        let shown = &about.spec.metadata;
        assert_eq!(shown.get("headwater.folder").map(String::as_str), project.folder.to_str());
        assert_eq!(shown.get("headwater.mode").map(String::as_str), Some("workspace-write"));
        assert_eq!(about.spec.limits.disk_bytes, None, "{case:?}: nothing limits the folder");
    }
    Ok(())
}

#[tokio::test]
async fn read_only_means_that_only_tmp_can_be_changed() -> Result<()> {
    for case in CASES {
        let project = Project::new(case).await?;
        let before = project.content()?;
        let session = project.session(&project.spec(PlaceMode::ReadOnly)).await?;
        let line = "cat a.txt; for path in . sub .git / /home /usr /var /etc /run \"$PWD/..\"; do \
                    touch $path/x 2>/dev/null && echo wrote $path; done; echo y > a.txt; rm -rf sub; \
                    chmod 777 sub; mv a.txt b.txt; ln a.txt /tmp/a; touch $HOME/x && echo $HOME; exit 0";
        let seen = project.shell(session, line).await?;
        assert_eq!(seen.text(), "hello\n/tmp\n", "{case:?}: {}", seen.errors());
        assert_eq!(project.content()?, before, "{case:?}");
    }
    Ok(())
}

#[tokio::test]
async fn writable_paths_are_writable_and_keep_their_owners() -> Result<()> {
    for (case, mode) in [
        (Case::Ordinary, PlaceMode::ReadOnly),
        (Case::Ordinary, PlaceMode::WorkspaceWrite),
        (Case::Root, PlaceMode::ReadOnly),
        (Case::RootForSomebody, PlaceMode::WorkspaceWrite),
    ] {
        let project = Project::new(case).await?;
        let (cache, notes) = (project.outside.join("cache"), project.outside.join("notes.txt"));
        fs::create_dir_all(cache.join(".git"))?;
        fs::write(&notes, "")?;
        for path in [&cache, &cache.join(".git"), &notes] {
            std::os::unix::fs::chown(path, Some(project.owner), Some(project.owner))?;
        }
        let sub = project.folder.join("sub");
        let session = project.session(&project.spec_with(mode, &[&cache, &notes, &sub])).await?;
        let out = project.outside.display();
        let line = format!(
            "echo c > {out}/cache/c; echo n >> {out}/notes.txt; echo s > sub/s; \
             touch {out}/x {out}/cache/.git/x; cat {out}/secret; ls {out}"
        );
        let seen = project.shell(session, &line).await?;
        assert_eq!(seen.text(), "cache\nnotes.txt\n", "{case:?} {mode:?}: {}", seen.errors());
        for (path, text) in [(cache.join("c"), "c\n"), (notes.clone(), "n\n"), (sub.join("s"), "s\n")] {
            assert_eq!(fs::read_to_string(&path)?, text, "{case:?} {mode:?} {}", path.display());
            let owner = std::os::unix::fs::MetadataExt::uid(&fs::metadata(&path)?);
            assert_eq!(owner, project.owner, "{case:?} {mode:?} {}", path.display());
        }
        assert!(!project.outside.join("x").exists() && !cache.join(".git/x").exists(), "{case:?} {mode:?}");
    }
    Ok(())
}

/// Ways to change what a person's own programs would run later, in the project's `.git`.
const GIT: &str = r"
import os, shutil
def attempt(do):
    try: do(); print('did')
    except OSError: pass
attempt(lambda: open('.git/config', 'a').write('[core]\n fsmonitor = evil\n'))
attempt(lambda: open('.git/hooks/post-checkout', 'w').write('evil'))
attempt(lambda: open('.git/hooks/pre-commit', 'w').write('evil'))
attempt(lambda: open('.git/commondir', 'w').write('/evil'))
attempt(lambda: open('.git/new', 'w').write('x'))
attempt(lambda: os.rename('.git', 'g'))
attempt(lambda: os.rename('.git/hooks', 'h'))
attempt(lambda: os.unlink('.git/config'))
attempt(lambda: shutil.rmtree('.git'))
attempt(lambda: os.chmod('.git/config', 0o777))
attempt(lambda: os.link('.git/config', 'c'))
attempt(lambda: os.rename('sub', '.git'))
attempt(lambda: os.truncate('.git/HEAD', 0))
attempt(lambda: os.utime('.git/HEAD'))
os.makedirs('copy'); shutil.copytree('.git', 'copy/.git')
";

#[tokio::test]
async fn what_git_runs_outside_cannot_be_changed_inside() -> Result<()> {
    for case in CASES {
        let project = Project::new(case).await?;
        let git = project.folder.join(".git");
        let before = content(&git)?;
        let session = project.session(&project.spec(PlaceMode::WorkspaceWrite)).await?;
        let seen = project.target.run(session, &Entry::Python.spec(GIT)).await?;
        assert_eq!((seen.text().as_str(), seen.verdict().code), ("", Some(0)), "{case:?}: {}", seen.errors());
        assert_eq!(content(&git)?, before, "{case:?}");
        // The control: elsewhere in the folder the same is allowed.
        assert!(project.folder.join("copy/.git/config").exists(), "{case:?}");

        // A person who names it gets commits, but neither hooks nor configuration.
        let session = project.session(&project.spec_with(PlaceMode::WorkspaceWrite, &[&git])).await?;
        let line = "echo x > .git/objects/x && echo y > .git/COMMIT_EDITMSG; echo evil >> .git/config; \
                    echo evil > .git/hooks/pre-commit; rm -r .git/hooks; mv .git g; exit 0";
        project.shell(session, line).await?;
        assert_eq!(fs::read_to_string(git.join("COMMIT_EDITMSG"))?, "y\n", "{case:?}");
        assert_eq!(fs::read_to_string(git.join("config"))?, "[core]\n", "{case:?}");
        assert_eq!(fs::read_to_string(git.join("hooks/pre-commit"))?, "#!/bin/sh\n", "{case:?}");
    }
    Ok(())
}

#[tokio::test]
async fn without_walls_nothing_is_kept_back_and_the_session_says_so() -> Result<()> {
    for case in [Case::Ordinary, Case::Root] {
        let project = Project::new(case).await?;
        let session = project.session(&project.spec(PlaceMode::DangerFullAccess)).await?;
        let about = project.target.client.session(session).await?;
        assert_eq!(about.sandbox, SandboxKind::None, "{case:?}");
        assert_eq!(about.spec.metadata.get("headwater.mode").map(String::as_str), Some("danger-full-access"));
        let out = project.outside.display();
        let seen = project.shell(session, &format!("pwd; cat {out}/secret; echo x > {out}/x; id -u")).await?;
        let expected = format!("{}\nsecret\n{}\n", project.folder.display(), project.target.person());
        assert_eq!(seen.text(), expected, "{case:?}: {}", seen.errors());
        assert!(project.outside.join("x").exists(), "{case:?}");
        // Other sessions of the same worker still have their walls.
        let other = project.target.worker.session().await?;
        let seen = project.shell(other, &format!("cat {out}/secret")).await?;
        assert_eq!(seen.text(), "", "{case:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_worker_without_isolation_refuses_an_in_place_session_with_walls() -> Result<()> {
    let project = Project::on(Case::Root, Side::OpenRoot).await?;
    for mode in [PlaceMode::ReadOnly, PlaceMode::WorkspaceWrite] {
        let refused = project.session(&project.spec(mode)).await.unwrap_err().to_string();
        assert!(refused.contains("without isolation"), "{refused}");
    }
    let session = project.session(&project.spec(PlaceMode::DangerFullAccess)).await?;
    assert_eq!(project.shell(session, "cat a.txt").await?.text(), "hello\n");
    Ok(())
}

/// A mount that is removed with the test.
struct Mounted(std::path::PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[tokio::test]
async fn where_owners_cannot_be_mapped_programs_run_as_the_owner_and_never_as_root() -> Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
    let project = Project::new(Case::Root).await?;
    // ramfs has no id-mapped mounts.
    let mounted = Mounted(project.folder.join("sub"));
    let done = std::process::Command::new("mount").args(["-t", "ramfs", "ramfs"]).arg(&mounted.0).status()?;
    assert!(done.success(), "mount");
    let mut spec = project.spec(PlaceMode::WorkspaceWrite);
    if let Some(place) = &mut spec.place {
        mounted.0.to_str().expect("UTF-8").clone_into(&mut place.folder);
    }
    let refused = project.session(&spec).await.unwrap_err();
    assert!(refused.to_string().contains("owners"), "{refused}");
    chown(&mounted.0, Some(super::SOMEBODY), Some(super::SOMEBODY + 1))?;
    fs::set_permissions(&mounted.0, PermissionsExt::from_mode(0o755))?;
    fs::write(mounted.0.join("roots"), "root's\n")?;
    let session = project.session(&spec).await?;
    for round in ["new", "resumed"] {
        let line = format!("echo x > {round}; cat roots; echo y > roots; id -u");
        let seen = project.shell(session, &line).await?;
        assert_eq!(seen.text(), "root's\n1000\n", "{round}: {}", seen.errors());
        let about = fs::metadata(mounted.0.join(round))?;
        assert_eq!((about.uid(), about.gid()), (super::SOMEBODY, super::SOMEBODY + 1), "{round}");
        assert_eq!(fs::read_to_string(mounted.0.join("roots"))?, "root's\n", "{round}");
        project.target.client.hibernate_session(session).await?;
    }
    project.target.client.end_session(session, true).await?;
    assert!(mounted.0.join("new").exists());
    Ok(())
}

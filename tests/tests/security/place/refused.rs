//! Folders and paths that no in-place session may have.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use anyhow::Result;
use headwater_protocol::{PlaceMode, SessionSpec};

use super::{CASES, Case, Project};

/// The spec of a session in this folder.
fn at(project: &Project, folder: &Path, mode: PlaceMode) -> SessionSpec {
    let mut spec = project.spec(mode);
    if let Some(place) = &mut spec.place {
        folder.to_str().expect("UTF-8").clone_into(&mut place.folder);
    }
    spec
}

/// What is said about a session that is refused.
async fn refusal(project: &Project, spec: &SessionSpec) -> String {
    match project.session(spec).await {
        Ok(session) => panic!("{spec:?} became {session}"),
        Err(error) => error.to_string(),
    }
}

#[tokio::test]
async fn a_folder_that_would_expose_secrets_or_break_the_service_is_refused() -> Result<()> {
    for case in [Case::Ordinary, Case::Root] {
        let project = Project::new(case).await?;
        let data = fs::canonicalize(project.target.worker.data())?;
        let scratch = fs::canonicalize(project.target.worker.scratch())?;
        let mut all: Vec<(PathBuf, &str)> = [
            "/", "/etc", "/etc/ssl", "/proc", "/sys", "/dev", "/run", "/usr", "/usr/bin", "/var", "/tmp",
            "/root",
        ]
        .map(|path| (path.into(), "cannot be part of an in-place session"))
        .to_vec();
        for path in [&data, &data.join("sessions")] {
            all.push((path.clone(), "data folder of headwater"));
        }
        // It contains the data folder, and is the home of the ordinary user.
        all.push((scratch, "cannot be part of an in-place session"));
        for (path, said) in all {
            for mode in [PlaceMode::ReadOnly, PlaceMode::WorkspaceWrite] {
                let refused = refusal(&project, &at(&project, &path, mode)).await;
                // What an ordinary user cannot even open needs no other reason.
                let cannot = case == Case::Ordinary && refused.contains("cannot open");
                assert!(refused.contains(said) || cannot, "{case:?} {} {mode:?}: {refused}", path.display());
            }
            let writable = project.spec_with(PlaceMode::WorkspaceWrite, &[&path]);
            let refused = refusal(&project, &writable).await;
            let cannot = case == Case::Ordinary && refused.contains("cannot open");
            assert!(refused.contains(said) || cannot, "{case:?} writable {}: {refused}", path.display());
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_home_and_its_keys_are_refused() -> Result<()> {
    let project = Project::new(Case::Root).await?;
    // The home of the worker's user, whatever it is on this machine.
    let home = fs::canonicalize(std::env::var_os("HOME").map_or_else(|| "/root".into(), PathBuf::from))?;
    let refused = refusal(&project, &at(&project, &home, PlaceMode::ReadOnly)).await;
    assert!(refused.contains("home folder"), "{refused}");
    // A session in another folder sees nothing of it.
    let session = project.session(&project.spec(PlaceMode::WorkspaceWrite)).await?;
    let seen =
        project.shell(session, &format!("ls -A {} /root /home; cat /etc/shadow", home.display())).await?;
    assert_eq!(seen.text(), "/home:\nheadwater\n", "{}", seen.errors());
    Ok(())
}

#[tokio::test]
async fn a_folder_that_is_missing_or_not_a_folder_or_a_link_is_refused_with_the_reason() -> Result<()> {
    for case in CASES {
        let project = Project::new(case).await?;
        let scratch = fs::canonicalize(project.target.worker.scratch())?;
        let (link, below) = (scratch.join("link"), scratch.join("above"));
        symlink(&project.folder, &link)?;
        symlink(&scratch, &below)?;
        for (path, said) in [
            (scratch.join("missing"), "does not exist"),
            (project.folder.join("a.txt"), "is not a folder"),
            (link, "is or contains a link: it leads to"),
            (below.join("project"), "is or contains a link"),
        ] {
            for mode in PlaceMode::ALL {
                let refused = refusal(&project, &at(&project, &path, mode)).await;
                assert!(refused.contains(said), "{case:?} {} {mode:?}: {refused}", path.display());
            }
        }
        // A link that one session left must not open what it leads to for the next.
        let target = project.folder.join("sub/out");
        symlink(&project.outside, &target)?;
        for path in [target.clone(), target.join("secret"), scratch.join("missing")] {
            let refused = refusal(&project, &project.spec_with(PlaceMode::WorkspaceWrite, &[&path])).await;
            assert!(refused.contains("link") || refused.contains("does not exist"), "{case:?}: {refused}");
        }
        let socket = project.folder.join("socket");
        let _listening = std::os::unix::net::UnixListener::bind(&socket)?;
        let refused = refusal(&project, &project.spec_with(PlaceMode::WorkspaceWrite, &[&socket])).await;
        assert!(refused.contains("neither a folder nor a regular file"), "{case:?}: {refused}");
    }
    Ok(())
}

#[tokio::test]
async fn a_protected_entry_that_is_a_link_is_refused_because_it_could_be_exchanged() -> Result<()> {
    for case in [Case::Ordinary, Case::Root] {
        let project = Project::new(case).await?;
        symlink(&project.outside, project.folder.join(".claude"))?;
        let refused = refusal(&project, &project.spec(PlaceMode::WorkspaceWrite)).await;
        assert!(refused.contains(".claude` is or contains a link"), "{case:?}: {refused}");
        assert!(project.session(&project.spec(PlaceMode::ReadOnly)).await.is_ok(), "{case:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_folder_of_another_user_is_refused_unless_it_can_be_used_as_asked() -> Result<()> {
    let project = Project::new(Case::Ordinary).await?;
    let folder = tempfile::tempdir()?;
    let path = fs::canonicalize(folder.path())?;
    fs::write(path.join("file"), "read me\n")?;
    for (mode, said) in [(0o700, ["may not read", "may not change"]), (0o755, ["", "may not change"])] {
        fs::set_permissions(&path, PermissionsExt::from_mode(mode))?;
        for (wanted, said) in [PlaceMode::ReadOnly, PlaceMode::WorkspaceWrite].into_iter().zip(said) {
            let spec = at(&project, &path, wanted);
            if said.is_empty() {
                let session = project.session(&spec).await?;
                assert_eq!(project.shell(session, "cat file").await?.text(), "read me\n");
            } else {
                let refused = refusal(&project, &spec).await;
                assert!(refused.contains(said), "{mode:o} {wanted:?}: {refused}");
            }
        }
    }
    // For root it is nobody's business: programs act as the owner.
    chown(&path, Some(super::SOMEBODY), Some(super::SOMEBODY))?;
    Ok(())
}

//! Ways out of the folder: paths, links, `/proc`, mounts, and changes of the host while a session runs.

use std::fs;
use std::os::unix::fs::symlink;

use anyhow::Result;
use headwater_contract::v1;
use headwater_protocol::{PlaceMode, StartSpec};

use super::{CASES, Case, Project, content};
use crate::target::Entry;

/// Tries to read and to write outside of the folder; prints what worked.
const OUT: &str = r"
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
OUTSIDE, DATA = '@OUTSIDE@', '@DATA@'
def attempt(name, do):
    try:
        if do() not in (-1, None): print('did', name)
    except (OSError, ValueError): pass
def write(path): return open(path, 'w').write('hit')
def read(path): return open(path).read()
for top in ('', '/proc/self/root', '/proc/1/root', '/proc/1/cwd/../../../../../..', '/proc/self/cwd/../../../../..'):
    for path in (OUTSIDE + '/hit', OUTSIDE + '/secret', DATA + '/hit', '/etc/hit', '/usr/hit', '/root/hit', '/hit'):
        attempt('write ' + top + path, lambda: write(top + path))
    for path in (OUTSIDE + '/secret', DATA + '/worker.lock', '/etc/shadow', '/root/.bashrc', '/proc/1/environ'):
        attempt('read ' + top + path, lambda: read(top + path))
attempt('parent', lambda: write('../hit'))
for name, to in (('l1', OUTSIDE), ('l2', '/'), ('l3', '..'), ('l4', '/proc/1/root'), ('l5', '/proc/self/root')):
    os.symlink(to, name)
    attempt('link ' + name, lambda: write(name + '/hit'))
    attempt('link secret ' + name, lambda: read(name + OUTSIDE + '/secret'))
    attempt('link secret ' + name, lambda: read(name + '/secret'))
attempt('hard link', lambda: [os.link(OUTSIDE + '/secret', 'h'), read('h')])
attempt('hard link to a program', lambda: [os.link('/usr/bin/true', 't')])
attempt('mount', lambda: libc.mount(b'/', b'sub', None, 4096, None))
attempt('remount', lambda: libc.mount(None, b'.git', None, 4096 | 32, None))
attempt('umount', lambda: libc.umount2(b'.git', 2))
attempt('umount folder', lambda: libc.umount2(os.getcwd().encode(), 2))
attempt('move mount', lambda: libc.mount(b'.git', b'sub', None, 8192, None))
attempt('new mount api', lambda: libc.syscall(428, -100, b'/', 1))
attempt('mount attributes', lambda: libc.syscall(442, -100, b'.git', 0, b'\0' * 8 + b'\1' + b'\0' * 23, 32))
attempt('user namespace', lambda: libc.unshare(0x10000000 | 0x20000))
attempt('chroot', lambda: libc.chroot(b'sub'))
attempt('pivot', lambda: libc.syscall(155, b'.', b'.'))
attempt('own', lambda: libc.chown(b'a.txt', 0, 0))
attempt('rename the folder', lambda: os.rename(os.getcwd(), os.path.dirname(os.getcwd()) + '/x'))
attempt('device', lambda: os.mknod('dev', 0o60666, os.makedev(254, 0)))
def handle():
    # By the number of the file's inode, as root could.
    return libc.syscall(304, os.open('.', 0), b'\x0c\0\0\0\x01\0\0\0\2\0\0\0\0\0\0\0\0\0\0\0', 0)
attempt('open by handle', handle)
for pid in [name for name in os.listdir('/proc') if name.isdigit()]:
    for link in ('root', 'cwd'):
        attempt('proc ' + pid, lambda: read('/proc/' + pid + '/' + link + OUTSIDE + '/secret'))
print('tried')
";

#[tokio::test]
async fn there_is_no_way_out_of_the_folder() -> Result<()> {
    for case in CASES {
        let project = Project::new(case).await?;
        let (outside, git) = (content(&project.outside)?, content(&project.folder.join(".git"))?);
        let code = OUT
            .replace("@OUTSIDE@", &project.outside.display().to_string())
            .replace("@DATA@", &project.target.worker.data().display().to_string());
        let session = project.session(&project.spec(PlaceMode::WorkspaceWrite)).await?;
        let seen = project.target.run(session, &Entry::Python.spec(&code)).await?;
        // A session's own `/hit` is on its own read-only root; `/root` does not exist in it.
        assert_eq!(seen.text(), "tried\n", "{case:?}: {}", seen.errors());
        assert_eq!(content(&project.outside)?, outside, "{case:?}");
        assert_eq!(content(&project.folder.join(".git"))?, git, "{case:?}");
        assert_eq!(
            fs::read_dir(project.target.worker.scratch())?.count(),
            3,
            "{case:?}: data, project, outside"
        );
        assert!(!std::path::Path::new("/etc/hit").exists() && !std::path::Path::new("/hit").exists());

        // The control: without walls the first of these work.
        let project = Project::new(case).await?;
        let out = project.outside.display();
        let session = project.session(&project.spec(PlaceMode::DangerFullAccess)).await?;
        let line = format!(
            "cat {out}/secret; echo hit > ../hit; ln -s {out} l1; echo hit > l1/hit; ln l1/secret h && cat h"
        );
        let seen = project.shell(session, &line).await?;
        assert_eq!(seen.text(), "secret\nsecret\n", "{case:?}: {}", seen.errors());
        assert!(project.folder.with_file_name("hit").exists(), "{case:?}");
        assert!(project.outside.join("hit").exists(), "{case:?}: {}", seen.errors());
    }
    Ok(())
}

#[tokio::test]
async fn an_exchange_of_the_folder_outside_leads_nowhere_new() -> Result<()> {
    for case in CASES {
        let project = Project::new(case).await?;
        let session = project.session(&project.spec(PlaceMode::WorkspaceWrite)).await?;
        let id = session.to_string();
        assert_eq!(project.shell(session, "cat a.txt").await?.text(), "hello\n", "{case:?}");
        let moved = project.folder.with_file_name("moved");
        fs::rename(&project.folder, &moved)?;
        symlink(&project.outside, &project.folder)?;
        let list = || v1::ListFilesRequest { session_id: id.clone(), ..v1::ListFilesRequest::default() };
        for exchanged in ["link", "folder", "nothing"] {
            let seen =
                project.shell(session, &format!("echo {exchanged} > {exchanged}; ls secret; pwd")).await?;
            assert_eq!(seen.text(), format!("{}\n", project.folder.display()), "{case:?} {exchanged}");
            assert!(
                moved.join(exchanged).exists(),
                "{case:?}: programs still have the folder that they started with"
            );
            let refused = project.target.client.list_files(list()).await.unwrap_err().to_string();
            assert!(refused.contains("cannot open the folder"), "{case:?} {exchanged}: {refused}");
            match exchanged {
                "link" => {
                    fs::remove_file(&project.folder)?;
                    fs::create_dir(&project.folder)?;
                }
                _ => drop(fs::remove_dir(&project.folder)),
            }
        }
        assert_eq!(fs::read_dir(&project.outside)?.count(), 1, "{case:?}");
        fs::rename(&moved, &project.folder)?;
        assert!(project.target.client.list_files(list()).await.is_ok(), "{case:?}");
    }
    Ok(())
}

#[tokio::test]
async fn links_in_the_folder_lead_programs_only_as_far_as_the_walls_allow() -> Result<()> {
    for case in [Case::Ordinary, Case::Root] {
        let project = Project::new(case).await?;
        symlink(project.outside.join("secret"), project.folder.join("out"))?;
        symlink("sub/b.txt", project.folder.join("in"))?;
        symlink("/usr/bin/env", project.folder.join("program"))?;
        let session = project.session(&project.spec(PlaceMode::WorkspaceWrite)).await?;
        let seen = project.shell(session, "cat in; cat out; ./program echo ran").await?;
        assert_eq!(seen.text(), "b\nran\n", "{case:?}: {}", seen.errors());
        let id = session.to_string();
        for path in ["out", "in"] {
            let request = v1::ReadFileRequest {
                session_id: id.clone(),
                path: path.as_bytes().to_vec().into(),
                ..v1::ReadFileRequest::default()
            };
            assert!(
                project.target.client.read_file(request).await.is_err(),
                "{case:?}: calls follow no link"
            );
        }
    }
    Ok(())
}

#[tokio::test]
async fn the_network_of_an_in_place_session_is_the_one_that_was_asked_for() -> Result<()> {
    for case in [Case::Ordinary, Case::Root] {
        let project = Project::new(case).await?;
        let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let connect = StartSpec::code(
            "python",
            format!("import socket; socket.create_connection(('127.0.0.1', {port}), 5); print('reached')"),
        );
        let mut spec = project.spec(PlaceMode::ReadOnly);
        for (network, text) in
            [(headwater_protocol::Network::None, ""), (headwater_protocol::Network::Full, "reached\n")]
        {
            spec.network = network;
            let session = project.session(&spec).await?;
            assert_eq!(project.target.run(session, &connect).await?.text(), text, "{case:?} {network:?}");
        }
        let mut open = project.spec(PlaceMode::DangerFullAccess);
        open.network = headwater_protocol::Network::None;
        assert!(project.session(&open).await.unwrap_err().to_string().contains("host's network"), "{case:?}");
    }
    Ok(())
}

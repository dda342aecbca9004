//! Launching real sessions: a real init behind real walls, in a real cgroup.

#![allow(clippy::unwrap_used, clippy::expect_used)] // a test may panic

mod support;

use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;

use headwater_sandbox::cgroup::{CgroupRoot, Discovered, SessionCgroup};
use headwater_sandbox::launch::{Launch, LaunchError, Launched, launch};
use headwater_sandbox::link;
use headwater_sandbox::wire::ToInit;
use rustix::event::{PollFd, PollFlags};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use support::{BOTH, Starter, TestSession, walled};

fn listener(session: &TestSession) -> OwnedFd {
    let socket =
        rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
            .unwrap();
    rustix::net::bind(&socket, &SocketAddrUnix::new(session.host("socket")).unwrap()).unwrap();
    rustix::net::listen(&socket, 4).unwrap();
    socket
}

fn start(session: &TestSession, cgroup: Option<&SessionCgroup>) -> Launched {
    let init_binary = walled().to_owned();
    launch(Launch { init_binary, listener: listener(session), setup: session.setup(), cgroup }).unwrap()
}

/// Makes init end and waits until it has.
fn end(launched: &Launched) {
    link::send(launched.link_fd.as_fd(), &ToInit::End, &[]).unwrap();
    rustix::event::poll(&mut [PollFd::new(&launched.pidfd, PollFlags::IN)], None).unwrap();
}

fn proc_text(launched: &Launched, file: &str) -> String {
    std::fs::read_to_string(format!("/proc/{}/{file}", launched.pid)).unwrap()
}

#[test]
fn a_launched_init_is_pid_1_of_its_namespace_and_has_no_parent_here() {
    let session = TestSession::new(Starter::Root);
    let launched = start(&session, None);
    let status = proc_text(&launched, "status");
    let line = |key: &str| status.lines().find(|line| line.starts_with(key)).unwrap().to_owned();
    assert!(line("NSpid:").ends_with("\t1"), "{status}");
    assert_eq!(line("Uid:"), format!("Uid:{}", format!("\t{}", Starter::Root.host_uid()).repeat(4)));
    assert_ne!(line("PPid:"), format!("PPid:\t{}", std::process::id()));
    assert_eq!(proc_text(&launched, "environ"), "");
    assert_eq!(proc_text(&launched, "cmdline"), "headwater\0init\0");
    end(&launched);
}

#[test]
fn an_ordinary_user_launches_a_session_as_root_does() {
    for starter in BOTH {
        let status = TestSession::new(starter).with(&["--launch"]).launch().ok();
        let line = |key: &str| status.lines().find(|line| line.starts_with(key)).unwrap().to_owned();
        assert!(line("NSpid:").ends_with("\t1"), "{status}");
        assert_eq!(line("Uid:"), format!("Uid:{}", format!("\t{}", starter.host_uid()).repeat(4)));
        assert_eq!(line("CapEff:"), "CapEff:\t0000000000000000");
        assert_eq!(line("Seccomp:"), "Seccomp:\t2");
    }
}

#[test]
fn init_has_null_its_listener_and_its_link_and_nothing_else() {
    let session = TestSession::new(Starter::Root);
    let launched = start(&session, None);
    let folder = format!("/proc/{}/fd", launched.pid);
    for number in 0..3 {
        let target = std::fs::read_link(format!("{folder}/{number}")).unwrap();
        assert_eq!(target, PathBuf::from("/dev/null"));
    }
    for number in 3..5 {
        let target = std::fs::read_link(format!("{folder}/{number}")).unwrap();
        assert!(target.to_str().unwrap().starts_with("socket:"), "{target:?}");
    }
    for entry in std::fs::read_dir(&folder).unwrap() {
        let target = std::fs::read_link(entry.unwrap().path()).unwrap();
        let own = ["/dev/null", "socket:", "anon_inode:"]
            .iter()
            .any(|kind| target.to_str().unwrap().starts_with(kind));
        assert!(own, "a descriptor of the starter's: {target:?}");
    }
    end(&launched);
}

#[test]
fn a_wall_that_cannot_be_built_is_named_and_nothing_is_left() {
    let session = TestSession::new(Starter::Root);
    let mut setup = session.setup();
    setup.workspace = "/nowhere/at/all".to_owned();
    let asked =
        Launch { init_binary: walled().to_owned(), listener: listener(&session), setup, cgroup: None };
    match launch(asked) {
        Err(LaunchError::Wall(failure)) => {
            assert_eq!(failure.wall, "mounts");
            // Users see the message: it says what is wrong, without a host path.
            assert!(failure.message.contains("the workspace"), "{failure}");
            assert!(!failure.message.contains("/nowhere/at/all"), "{failure}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_missing_init_and_one_that_says_nothing_are_errors() {
    let session = TestSession::new(Starter::Root);
    let try_with = |program: &str| {
        let _ = std::fs::remove_file(session.host("socket"));
        launch(Launch {
            init_binary: program.into(),
            listener: listener(&session),
            setup: session.setup(),
            cgroup: None,
        })
    };
    match try_with("/nowhere/init") {
        Err(LaunchError::Spawn { what: "execute init", source }) => {
            assert_eq!(source.kind(), std::io::ErrorKind::NotFound);
        }
        other => panic!("{other:?}"),
    }
    assert!(matches!(try_with("/bin/true"), Err(LaunchError::Init(_))));
}

#[test]
fn sessions_launched_at_once_from_many_threads_do_not_meet() {
    let launched: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    let session = TestSession::new(Starter::Root);
                    let launched = start(&session, None);
                    (session, launched)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let mut worlds: Vec<_> = launched
        .iter()
        .map(|(_, one)| std::fs::read_link(format!("/proc/{}/ns/pid", one.pid)).unwrap())
        .collect();
    worlds.sort();
    worlds.dedup();
    assert_eq!(worlds.len(), launched.len());
    for (_, one) in &launched {
        end(one);
    }
}

#[test]
fn init_is_in_its_cgroup_and_ends_with_it() {
    let Discovered::Ready(root) = CgroupRoot::discover() else {
        panic!("this host gives no cgroups");
    };
    let root = root.below(&format!("headwater-test-launch-{}", std::process::id())).unwrap();
    let cgroup = root.create_session("ses_1").unwrap();
    let session = TestSession::new(Starter::Root);
    let launched = start(&session, Some(&cgroup));
    let text = proc_text(&launched, "cgroup");
    assert!(text.matches("/ses_1").count() >= cgroup.procs_files().unwrap().len(), "{text}");
    cgroup.kill().unwrap();
    rustix::event::poll(&mut [PollFd::new(&launched.pidfd, PollFlags::IN)], None).unwrap();
    cgroup.remove().unwrap();
}

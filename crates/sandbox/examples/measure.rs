//! The cost of a session, compared with a spawn of `/bin/true` in the same run: ready, gone, and ready in its
//! own cgroup. Run it as root, in release, after building the example `walled`, whose init it starts:
//! `measure [ROUNDS]`.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use headwater_protocol::{SandboxKind, SessionId};
use headwater_sandbox::cgroup::{CgroupRoot, Discovered, SessionCgroup};
use headwater_sandbox::launch::{Launch, launch};
use headwater_sandbox::link;
use headwater_sandbox::walls::prepare_etc;
use headwater_sandbox::wire::{Bind, Setup, ToInit};
use rustix::event::{PollFd, PollFlags};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

type Failure = Box<dyn std::error::Error>;

/// An unprivileged user.
const HOST_UID: u32 = 65_001;

fn main() -> Result<(), Failure> {
    let rounds = std::env::args().nth(1).map_or(Ok(500), |text| text.parse())?;
    let folder = tempfile::tempdir()?;
    let (mut bare, mut ready, mut gone) = (Vec::new(), Vec::new(), Vec::new());
    let etc = prepare_etc(folder.path())?;
    let workspace = folder.path().join("ws");
    std::fs::create_dir(&workspace)?;
    std::os::unix::fs::chown(&workspace, Some(HOST_UID), Some(HOST_UID))?;
    let mut limited = Vec::new();
    let place = match CgroupRoot::discover() {
        Discovered::Ready(root) => root.below(&format!("headwater-measure-{}", std::process::id()))?,
        Discovered::Nothing { reasons, .. } => return Err(format!("{reasons:?}").into()),
    };
    for _ in 0..rounds {
        bare.push(timed(|| Ok(Command::new("/bin/true").status().map(drop)?))?);
        let (created, ended) = session(&workspace, &etc, None)?;
        ready.push(created);
        gone.push(ended);
        let cgroup = place.create_session("session")?;
        limited.push(session(&workspace, &etc, Some(&cgroup))?.0);
        cgroup.remove()?;
    }
    let floor = report("bare spawn", &mut bare, None);
    report("session ready", &mut ready, Some(floor));
    report("ready in cgroup", &mut limited, Some(floor));
    report("session gone", &mut gone, Some(floor));
    Ok(())
}

fn timed(run: impl FnOnce() -> Result<(), Failure>) -> Result<Duration, Failure> {
    let start = Instant::now();
    run()?;
    Ok(start.elapsed())
}

/// Creates a session and ends it.
fn session(
    folder: &Path,
    etc: &Bind,
    cgroup: Option<&SessionCgroup>,
) -> Result<(Duration, Duration), Failure> {
    let path = folder.join("socket");
    let listener: OwnedFd =
        rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    rustix::net::bind(&listener, &SocketAddrUnix::new(&path)?)?;
    rustix::net::listen(&listener, 4)?;
    let setup = Setup {
        session: SessionId::random(),
        sandbox: SandboxKind::Full,
        host_uid: Some(HOST_UID),
        workspace: folder.to_str().unwrap_or_default().to_owned(),
        place: None,
        binds: vec![etc.clone()],
        tmp_bytes: 64 << 20,
        tmp_inodes: 4096,
        orphan_timeout_ms: 1000,
        network: headwater_sandbox::wire::NetworkNamespace::Session,
        kernel: headwater_sandbox::wire::KernelLimits::default(),
    };
    let init_binary = std::env::current_exe()?.with_file_name("walled");
    let start = Instant::now();
    let launched = launch(Launch { init_binary, listener, setup, cgroup })?;
    let created = start.elapsed();
    let ended = timed(|| {
        link::send(launched.link_fd.as_fd(), &ToInit::End, &[])?;
        rustix::event::poll(&mut [PollFd::new(&launched.pidfd, PollFlags::IN)], None)?;
        Ok(())
    })?;
    std::fs::remove_file(path)?;
    Ok((created, ended))
}

/// Prints the percentiles, and the median's ratio to the baseline's; returns the median.
#[allow(clippy::print_stdout)] // it is for people
fn report(what: &str, times: &mut [Duration], floor: Option<Duration>) -> Duration {
    times.sort_unstable();
    let at = |percent: usize| {
        times.get((times.len() * percent / 100).min(times.len() - 1)).copied().unwrap_or_default()
    };
    let ratio = floor.map_or(1.0, |floor| at(50).as_secs_f64() / floor.as_secs_f64());
    println!("{what:15} min {:?} p50 {:?} p95 {:?} p99 {:?} ratio {ratio:.2}", at(0), at(50), at(95), at(99));
    at(50)
}

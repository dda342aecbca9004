//! Terminals: a devpts instance that is separate from the host's, and output by splice.

use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags, openat};
use rustix::mount::MountAttrFlags;
use rustix::pipe::{PipeFlags, SpliceFlags, pipe_with};
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, unlockpt};

use super::Check;
use super::child::in_child;
use super::facts::{Facts, Topic};
use super::namespaces::not_reached;
use super::refusal::{Finding, OrRefused, Refusal, needed};
use super::root::{enter, reachable};
use crate::walls::mounts;

/// Opens a terminal in a new devpts instance and reads its output.
pub(super) fn check(facts: &Facts) -> Check {
    let name = "terminals";
    if !reachable(facts) {
        return not_reached(name, facts);
    }
    let tried = in_child(|| {
        enter(facts)?;
        terminal()
    });
    needed(name, Topic::Mounts, facts, tried)
}

fn terminal() -> Finding {
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    let options = [(c"ptmxmode", "0666"), (c"mode", "0620"), (c"max", "4")];
    let tree = mounts::new(c"devpts", &options, attributes).or_refused("mount devpts")?;
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let master = openat(&tree, c"ptmx", flags, Mode::empty()).or_refused("open a new terminal")?;
    unlockpt(&master).or_refused("unlock a terminal")?;
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let program = ioctl_tiocgptpeer(&master, flags).or_refused("open the slave of a terminal")?;
    rustix::io::write(&program, b"hello").or_refused("write to a terminal")?;
    if spliced(&master)? != b"hello" {
        return Err(Refusal::unexpected("splice changed the output of a terminal"));
    }
    Ok("a separate devpts for each session; output is spliced".to_owned())
}

/// The output of a terminal, spliced through a pipe.
fn spliced(master: &OwnedFd) -> Result<Vec<u8>, Refusal> {
    let (reading, writing) = pipe_with(PipeFlags::CLOEXEC).or_refused("create a pipe")?;
    rustix::pipe::splice(master, None, &writing, None, 4096, SpliceFlags::empty())
        .or_refused("splice from a terminal to a pipe")?;
    let mut buffer = vec![0; 64];
    let count = rustix::io::read(&reading, &mut buffer[..]).or_refused("read a pipe")?;
    buffer.truncate(count);
    Ok(buffer)
}

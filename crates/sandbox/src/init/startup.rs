//! Setting up init's own state after the walls are built.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::fs::{CWD, Mode, OFlags, fcntl_getfl, fcntl_setfl, openat};
use rustix::io::{Errno, FdFlags, fcntl_setfd};

use super::event_loop::{CHILDREN, Init, LINK, LISTENER};
use super::executions::Executions;
use super::outbox::{Link, Outgoing};
use super::spawn::{Spawner, Stack};
use super::tag::Tags;
use super::terminate::Terminations;
use super::{clock, signals};
use crate::wire::{FromInit, Setup, VERSION};

/// Descriptors that pipes of programs never use, so that messages, `/proc` and a new worker always get one.
const RESERVED_FDS: u64 = 32;

/// More than a session of any size needs; a higher limit would only enlarge the kernel's tables.
const MAX_OPEN_FDS: u64 = 65_536;

impl Init {
    /// Prepares everything that can fail. Makes the listener and the worker's socket nonblocking.
    pub(super) fn new(setup: &Setup, listener: OwnedFd, worker: BorrowedFd<'_>) -> Result<Self, Errno> {
        return_free_memory();
        null_stdio()?;
        let children = signals::take_over()?;
        let (files, highest_fd) = raise_file_limit();
        set_nonblocking(listener.as_fd())?;
        set_nonblocking(worker)?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
        epoll::add(&epoll, &children, EventData::new_u64(CHILDREN), EventFlags::IN)?;
        epoll::add(&epoll, worker, EventData::new_u64(LINK), EventFlags::IN)?;
        Ok(Self {
            session: setup.session,
            executions: Executions::default(),
            terminations: Terminations::default(),
            tags: Tags::of(setup.session),
            spawner: Spawner { stack: Stack::new()?, files, highest_fd },
            link: None,
            listener,
            outlet: None,
            children,
            epoll,
            orphan_timeout_ms: setup.orphan_timeout_ms,
            orphaned_at: Some(clock::after(clock::now(), setup.orphan_timeout_ms)),
            reap_more: false,
        })
    }

    /// Reports to the worker that the session is ready, then serves it and workers that reconnect.
    pub(super) fn serve(&mut self, worker: OwnedFd) {
        let mut link = Link::new(worker, true);
        link.queue(Outgoing::Message(FromInit::Ready { version: VERSION }));
        self.link = Some(link);
        self.found_worker();
        self.flush();
        self.run();
    }
}

/// Makes the allocator return the memory of long messages, which it would otherwise keep, and of building the
/// walls.
fn return_free_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: sets parameters of the allocator and returns its free memory; this process has one thread.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, 64 * 1024);
        libc::mallopt(libc::M_TRIM_THRESHOLD, 64 * 1024);
        libc::malloc_trim(0);
    }
}

/// Puts `/dev/null` on 0, 1 and 2: programs without input inherit 0, no later descriptor gets these numbers,
/// and init keeps nothing open of the process that started it.
fn null_stdio() -> Result<(), Errno> {
    let null = openat(CWD, "/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    if std::os::fd::AsRawFd::as_raw_fd(&null) <= 2 {
        std::mem::forget(null); // it is one of the three
    }
    Ok(())
}

fn set_nonblocking(fd: BorrowedFd<'_>) -> Result<(), Errno> {
    fcntl_setfd(fd, FdFlags::CLOEXEC)?;
    fcntl_setfl(fd, fcntl_getfl(fd)? | OFlags::NONBLOCK)
}

/// Raises init's own limit on open files as far as permitted. Returns the limit for programs, and the highest
/// descriptor number that their pipes may use.
fn raise_file_limit() -> (Option<libc::rlimit64>, i32) {
    let mut was = libc::rlimit64 { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the pointers are to locals that outlive the calls.
    let raised = unsafe {
        if libc::prlimit64(0, libc::RLIMIT_NOFILE, std::ptr::null(), &raw mut was) != 0 {
            return (None, i32::MAX);
        }
        let wanted = libc::rlimit64 { rlim_cur: was.rlim_max.min(MAX_OPEN_FDS).max(was.rlim_cur), ..was };
        let changed = libc::prlimit64(0, libc::RLIMIT_NOFILE, &raw const wanted, std::ptr::null_mut()) == 0;
        if changed { wanted } else { was }
    };
    let highest = i32::try_from(raised.rlim_cur.saturating_sub(RESERVED_FDS)).unwrap_or(i32::MAX);
    (Some(was).filter(|was| was.rlim_cur != raised.rlim_cur), highest)
}

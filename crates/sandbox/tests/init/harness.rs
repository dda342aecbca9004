//! A worker for the tests: launches a real init without walls, talks to it, and checks that it ends.

use std::io::Read;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use headwater_protocol::{ExecutionId, Process, SandboxKind, SessionId};
use headwater_sandbox::init::{LISTENER_FD, WORKER_FD};
use headwater_sandbox::link::{self, LinkError, Received};
use headwater_sandbox::wire::{
    Cause, Exit, Fds, FromInit, Rlimits, Setup, Start, StartFailure, StdinFrom, ToInit, VERSION,
};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, socket_with, socketpair,
};

/// Long enough for a machine under load: a test that waits this long has failed.
pub(crate) const LONG: Duration = Duration::from_mins(3);

/// The user of programs in tests where root would escape a limit.
const ORDINARY: u32 = 64_321;

/// How to launch init.
pub(crate) struct Options {
    pub(crate) orphan_timeout_ms: u64,
    pub(crate) open_files: Option<u64>,
    pub(crate) ordinary: bool,
    pub(crate) sandbox: SandboxKind,
}

impl Default for Options {
    fn default() -> Self {
        Self { orphan_timeout_ms: 60_000, open_files: None, ordinary: false, sandbox: SandboxKind::None }
    }
}

/// A worker with one init.
pub(crate) struct Worker {
    link: Option<OwnedFd>,
    pub(crate) session: SessionId,
    pub(crate) dir: tempfile::TempDir,
    /// The working directory of programs, as they see it.
    cwd: String,
    /// Messages that came while another one was awaited.
    seen: std::cell::RefCell<Vec<FromInit>>,
}

/// A program that init has started.
pub(crate) struct Running {
    pub(crate) id: ExecutionId,
    pub(crate) pid: i32,
    pub(crate) kind: Fds,
    pub(crate) fds: Vec<OwnedFd>,
}

/// The contents of `Adopt`.
pub(crate) struct Adopted {
    pub(crate) running: Running,
    pub(crate) exit: Option<Exit>,
    pub(crate) note: Vec<u8>,
}

impl Worker {
    pub(crate) fn launch() -> Self {
        Self::launch_with(&Options::default())
    }

    pub(crate) fn launch_with(options: &Options) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let flags = SocketFlags::CLOEXEC;
        let listener = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap();
        bind(&listener, &SocketAddrUnix::new(dir.path().join("init")).unwrap()).unwrap();
        listen(&listener, 8).unwrap();
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap();
        let root = rustix::process::getuid().is_root();
        let become_ordinary = options.ordinary && root;
        if become_ordinary || host_user(options).is_some() {
            std::os::unix::fs::chown(dir.path(), Some(ORDINARY), Some(ORDINARY)).unwrap();
        }
        spawn_init(&listener, &theirs, options.open_files, become_ordinary);
        drop((listener, theirs));
        let worker = Self {
            link: Some(ours),
            session: SessionId::random(),
            cwd: cwd(options, &dir),
            dir,
            seen: Vec::new().into(),
        };
        worker.send(&ToInit::Setup(Box::new(worker.setup(options))));
        match worker.next().0 {
            FromInit::Ready { version } => assert_eq!(version, VERSION),
            other => panic!("not ready: {other:?}"),
        }
        worker
    }

    fn setup(&self, options: &Options) -> Setup {
        Setup {
            session: self.session,
            sandbox: options.sandbox,
            host_uid: host_user(options),
            workspace: self.dir.path().to_str().unwrap().into(),
            place: None,
            binds: Vec::new(),
            tmp_bytes: 1 << 20,
            tmp_inodes: 1 << 10,
            orphan_timeout_ms: options.orphan_timeout_ms,
            network: headwater_sandbox::wire::NetworkNamespace::Session,
            kernel: headwater_sandbox::wire::KernelLimits::default(),
        }
    }

    fn link(&self) -> BorrowedFd<'_> {
        self.link.as_ref().expect("a worker that is connected").as_fd()
    }

    pub(crate) fn send(&self, message: &ToInit) {
        link::send(self.link(), message, &[]).unwrap();
    }

    /// Sends bytes that are not a message.
    pub(crate) fn send_bytes(&self, bytes: &[u8]) {
        rustix::net::send(self.link(), bytes, rustix::net::SendFlags::empty()).unwrap();
    }

    /// Sends without blocking; false if the socket is full.
    pub(crate) fn send_if_room(&self, message: &ToInit) -> bool {
        rustix::io::ioctl_fionbio(self.link(), true).unwrap();
        let sent = link::send(self.link(), message, &[]);
        rustix::io::ioctl_fionbio(self.link(), false).unwrap();
        match sent {
            Ok(()) => true,
            Err(LinkError::WouldBlock) => false,
            Err(error) => panic!("{error}"),
        }
    }

    /// Whether no unexpected message came.
    pub(crate) fn saw_nothing_else(&self) -> bool {
        self.seen.borrow().is_empty()
    }

    /// The next message of any kind.
    pub(crate) fn next(&self) -> (FromInit, Vec<OwnedFd>) {
        self.try_next().expect("init is there")
    }

    fn try_next(&self) -> Option<(FromInit, Vec<OwnedFd>)> {
        wait_readable(self.link());
        match link::recv(self.link()) {
            Ok(Received::Message(message, fds)) => Some((message, fds)),
            Ok(Received::Closed) => None,
            Err(error) => panic!("{error}"),
        }
    }

    /// A program with arguments, and defaults for everything else.
    pub(crate) fn spec(&self, argv: &[&str]) -> Start {
        Start {
            execution: ExecutionId::random(),
            argv: argv.iter().map(ToString::to_string).collect(),
            env: vec!["PATH=/usr/local/bin:/usr/bin:/bin".into(), "HOME=/".into()],
            cwd: self.cwd.clone(),
            stdin: StdinFrom::Null,
            tty: None,
            merge_output: false,
            rlimits: Rlimits::default(),
            timeout_ms: None,
            grace_ms: 5000,
            kill_children: false,
            cgroups: 0,
            code_file: None,
            scratch: None,
            note: Vec::new(),
        }
    }

    pub(crate) fn shell(&self, script: &str) -> Start {
        self.spec(&["sh", "-c", script])
    }

    pub(crate) fn start(&self, start: Start) -> Running {
        self.start_with(start, &[])
    }

    pub(crate) fn start_with(&self, start: Start, fds: &[BorrowedFd<'_>]) -> Running {
        self.try_start(start, fds).unwrap_or_else(|failure| panic!("{failure:?}"))
    }

    pub(crate) fn start_fails(&self, start: Start) -> StartFailure {
        self.try_start(start, &[]).err().expect("a start that fails")
    }

    pub(crate) fn try_start(&self, start: Start, fds: &[BorrowedFd<'_>]) -> Result<Running, StartFailure> {
        let id = start.execution;
        link::send(self.link(), &ToInit::Start(Box::new(start)), fds).unwrap();
        loop {
            match self.next() {
                (FromInit::Started { execution, pid, fds: kind, .. }, fds) if execution == id => {
                    return Ok(Running { id, pid, kind, fds });
                }
                (FromInit::StartFailed { execution, failure }, _) if execution == id => return Err(failure),
                (other, _) => self.seen.borrow_mut().push(other),
            }
        }
    }

    /// The exit of a program.
    pub(crate) fn exit(&self, of: ExecutionId) -> Exit {
        let known = self.seen.borrow().iter().find_map(|message| exit_of(message, of));
        if let Some(exit) = known {
            return exit;
        }
        loop {
            let (message, _) = self.next();
            match exit_of(&message, of) {
                Some(exit) => return exit,
                None => self.seen.borrow_mut().push(message),
            }
        }
    }

    pub(crate) fn stop(&self, execution: ExecutionId, cause: Cause, grace_ms: u64) {
        self.send(&ToInit::Stop { execution, cause, grace_ms });
    }

    pub(crate) fn processes(&self, of: ExecutionId) -> Vec<Process> {
        self.send(&ToInit::Processes { execution: of });
        loop {
            match self.next().0 {
                FromInit::Processes { execution, processes } if execution == of => return processes,
                other => self.seen.borrow_mut().push(other),
            }
        }
    }

    /// Polls until the execution has the expected processes.
    pub(crate) fn await_processes(
        &self,
        of: ExecutionId,
        enough: impl Fn(&[Process]) -> bool,
    ) -> Vec<Process> {
        let begun = Instant::now();
        loop {
            let processes = self.processes(of);
            if enough(&processes) {
                return processes;
            }
            assert!(begun.elapsed() < LONG, "{processes:?}");
            std::thread::sleep(Duration::from_millis(2)); // there is no event to wait for: ask again
        }
    }

    /// Checks that no process of an execution is left, by init and by the machine.
    pub(crate) fn assert_gone(&self, of: ExecutionId, pids: &[i32]) {
        self.await_processes(of, <[_]>::is_empty);
        for pid in pids {
            assert!(!is_alive(*pid), "{pid} is alive");
        }
    }

    /// Disconnects, as a killed worker does.
    pub(crate) fn leave(&mut self) {
        self.link = None;
        self.seen.borrow_mut().clear();
    }

    /// Reconnects, and receives all executions.
    pub(crate) fn reconnect(&mut self) -> Vec<Adopted> {
        let flags = SocketFlags::CLOEXEC;
        let link = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap();
        connect(&link, &SocketAddrUnix::new(self.dir.path().join("init")).unwrap()).unwrap();
        self.link = Some(link);
        self.seen.borrow_mut().clear();
        self.send(&ToInit::Hello);
        let FromInit::Hello { version, session, executions } = self.next().0 else { panic!("no hello") };
        assert_eq!((version, session), (VERSION, self.session));
        (0..executions).map(|_| adopted(self.next())).collect()
    }

    /// Waits until init has ended.
    pub(crate) fn await_end(&self) {
        while self.try_next().is_some() {}
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let Some(link) = &self.link else { return };
        // A test ends only when init has: its sockets close with it.
        if link::send(link.as_fd(), &ToInit::End, &[]).is_ok() && !std::thread::panicking() {
            self.await_end();
        }
    }
}

fn cwd(options: &Options, dir: &tempfile::TempDir) -> String {
    match options.sandbox {
        SandboxKind::Full => "/workspace".into(),
        SandboxKind::None => dir.path().to_str().unwrap().into(),
    }
}

/// With walls, root gives the session a dedicated user.
fn host_user(options: &Options) -> Option<u32> {
    let root = rustix::process::getuid().is_root();
    (options.sandbox == SandboxKind::Full && root && !options.ordinary).then_some(ORDINARY)
}

fn exit_of(message: &FromInit, of: ExecutionId) -> Option<Exit> {
    match message {
        FromInit::Exited { execution, exit } if *execution == of => Some(*exit),
        _ => None,
    }
}

fn adopted((message, fds): (FromInit, Vec<OwnedFd>)) -> Adopted {
    match message {
        FromInit::Adopt { execution, pid, fds: kind, exit, note, .. } => {
            Adopted { running: Running { id: execution, pid, kind, fds }, exit, note }
        }
        other => panic!("not an adoption: {other:?}"),
    }
}

fn spawn_init(listener: &OwnedFd, link: &OwnedFd, open_files: Option<u64>, ordinary: bool) {
    let (listener, link) = (listener.as_raw_fd(), link.as_raw_fd());
    let mut command = Command::new(init_program());
    command.env_clear().stdin(Stdio::null()).stdout(Stdio::null());
    // SAFETY: between fork and exec only system calls are made.
    unsafe {
        command.pre_exec(move || {
            // Move them away first: one of them may have the other's number.
            let listener = libc::fcntl(listener, libc::F_DUPFD, 10);
            let link = libc::fcntl(link, libc::F_DUPFD, 10);
            if libc::dup2(listener, LISTENER_FD) < 0 || libc::dup2(link, WORKER_FD) < 0 {
                return Err(std::io::Error::last_os_error());
            }
            if let Some(files) = open_files {
                let limit = libc::rlimit { rlim_cur: files, rlim_max: files };
                libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
            }
            if ordinary
                && (libc::setgroups(0, std::ptr::null()) < 0
                    || libc::setgid(ORDINARY) < 0
                    || libc::setuid(ORDINARY) < 0)
            {
                return Err(std::io::Error::last_os_error());
            }
            Ok(())
        });
    }
    let mut first = command.spawn().unwrap();
    // It forks when it has its setup, or exits if it gets none: it has to be reaped.
    std::thread::spawn(move || first.wait());
}

/// The example `init` of this crate, which `cargo test` builds beside the tests.
fn init_program() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let program = test.parent().and_then(|deps| deps.parent()).unwrap().join("examples/init");
    assert!(program.exists(), "build the example first: cargo build -p headwater-sandbox --examples");
    program
}

pub(crate) fn wait_readable(fd: BorrowedFd<'_>) {
    let mut fds = [PollFd::from_borrowed_fd(fd, PollFlags::IN)];
    let timeout = rustix::time::Timespec { tv_sec: LONG.as_secs().cast_signed(), tv_nsec: 0 };
    assert_ne!(poll(&mut fds, Some(&timeout)).unwrap(), 0, "nothing came");
}

/// Reads until `enough` returns true, or until the end.
pub(crate) fn read_until(fd: &OwnedFd, enough: impl Fn(&str) -> bool) -> String {
    let mut file = std::fs::File::from(fd.try_clone().unwrap());
    let mut bytes = Vec::new();
    let mut chunk = vec![0; 65536];
    loop {
        wait_readable(fd.as_fd());
        match file.read(&mut chunk) {
            Ok(0) => break,
            Ok(length) => bytes.extend_from_slice(&chunk[..length]),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(error) if error.raw_os_error() == Some(libc::EIO) => break, // a terminal without a program
            Err(error) => panic!("{error}"),
        }
        if enough(&String::from_utf8_lossy(&bytes)) {
            break;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

pub(crate) fn read_all(fd: &OwnedFd) -> String {
    read_until(fd, |_| false)
}

pub(crate) fn is_alive(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

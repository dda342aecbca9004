//! Running `headwater` and looking at it while it runs. Whatever is waited for has a limit: a hang is a failure.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;

use anyhow::{Context, Result};
use headwater_tests::host::{self, PATIENCE, contains};
use headwater_tests::{TestServer, TestWorker};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};
use serde_json::Value;

/// Bytes that come while they are waited for.
pub(crate) struct Stream {
    /// What came so far.
    pub(crate) bytes: Vec<u8>,
    incoming: mpsc::Receiver<Vec<u8>>,
}

impl Stream {
    /// Reads in a thread until there is no more.
    pub(crate) fn new(mut from: impl Read + Send + 'static) -> Self {
        let (sender, incoming) = mpsc::channel();
        thread::spawn(move || {
            let mut buffer = vec![0; 64 << 10];
            while let Ok(count @ 1..) = from.read(&mut buffer) {
                if sender.send(buffer[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { bytes: Vec::new(), incoming }
    }

    /// Waits until what came is enough.
    pub(crate) fn until(&mut self, enough: impl Fn(&[u8]) -> bool) -> Result<()> {
        while !enough(&self.bytes) {
            let more = self.incoming.recv_timeout(PATIENCE);
            let more = more.with_context(|| format!("no more comes after `{}`", self.text()))?;
            self.bytes.extend(more);
        }
        Ok(())
    }

    /// Waits until this was printed.
    pub(crate) fn until_printed(&mut self, text: &str) -> Result<()> {
        self.until(|bytes| contains(bytes, text.as_bytes()))
            .with_context(|| format!("waiting for `{}`", text.escape_debug()))
    }

    /// Everything to the end.
    pub(crate) fn rest(mut self) -> Result<Vec<u8>> {
        loop {
            match self.incoming.recv_timeout(PATIENCE) {
                Ok(more) => self.bytes.extend(more),
                Err(mpsc::RecvTimeoutError::Disconnected) => return Ok(self.bytes),
                Err(error) => return Err(error).with_context(|| format!("after `{}`", self.text())),
            }
        }
    }

    /// What came so far, as text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

/// A command that runs.
pub(crate) struct Running {
    child: Child,
    stdin: Option<ChildStdin>,
    pub(crate) stdout: Stream,
    pub(crate) stderr: Stream,
}

/// What a command left.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
}

impl Running {
    /// Starts it, with pipes.
    pub(crate) fn start(mut command: Command) -> Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let stdout = Stream::new(child.stdout.take().context("no stdout")?);
        let stderr = Stream::new(child.stderr.take().context("no stderr")?);
        Ok(Self { stdin: child.stdin.take(), child, stdout, stderr })
    }

    /// Its standard input, to be written to elsewhere.
    pub(crate) fn take_stdin(&mut self) -> Result<ChildStdin> {
        self.stdin.take().context("its input was taken or closed")
    }

    /// Types.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        Ok(self.stdin.as_mut().context("its input is closed")?.write_all(bytes)?)
    }

    /// Sends a signal to `headwater` itself.
    pub(crate) fn signal(&self, signal: Signal) -> Result<()> {
        host::signal(i32::try_from(self.child.id())?, signal)
    }

    /// Waits for its end; its input ends now, unless it was taken.
    pub(crate) fn finish(mut self) -> Result<Done> {
        drop(self.stdin.take());
        let status = wait(&mut self.child);
        let closed = || Stream::new(std::io::empty());
        let stdout = std::mem::replace(&mut self.stdout, closed());
        let stderr = std::mem::replace(&mut self.stderr, closed());
        let status =
            status.with_context(|| format!("stdout `{}` stderr `{}`", stdout.text(), stderr.text()))?;
        Ok(Done { code: status.code(), stdout: stdout.rest()?, stderr: stderr.rest()? })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits for the end of a process, but not for ever.
pub(crate) fn wait(child: &mut Child) -> Result<ExitStatus> {
    let pid = Pid::from_raw(i32::try_from(child.id())?).context("no process")?;
    let process = pidfd_open(pid, PidfdFlags::empty())?;
    let patience = Timespec { tv_sec: PATIENCE.as_secs().try_into()?, tv_nsec: 0 };
    let ready = poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&patience))?;
    anyhow::ensure!(ready == 1, "`headwater` does not end");
    Ok(child.wait()?)
}

/// What commands are for: they are the same on this machine and through a server.
pub(crate) trait Engine {
    /// A `headwater` command for it.
    fn command(&self) -> Command;
}

impl Engine for TestWorker {
    fn command(&self) -> Command {
        self.command()
    }
}

impl Engine for TestServer {
    fn command(&self) -> Command {
        let mut command = self.command();
        command.env("HEADWATER_URL", self.url());
        command
    }
}

/// The command with these words, on the worker's folder or through the server.
pub(crate) fn headwater(worker: &impl Engine, words: &[&str]) -> Command {
    let mut command = worker.command();
    command.args(words).env_remove("NO_COLOR");
    command
}

/// Starts a command.
pub(crate) fn start(worker: &impl Engine, words: &[&str]) -> Result<Running> {
    Running::start(headwater(worker, words))
}

/// Runs a command to its end, without input.
pub(crate) fn run(worker: &impl Engine, words: &[&str]) -> Result<Done> {
    start(worker, words)?.finish()
}

/// Runs a command that must go well; answers with what it printed, without the end of the last line.
pub(crate) fn answer(worker: &impl Engine, words: &[&str]) -> Result<String> {
    let done = run(worker, words)?;
    anyhow::ensure!(done.code == Some(0), "{words:?}: {:?} {}", done.code, done.errors());
    Ok(done.text().trim_end().to_owned())
}

/// Runs a command that answers with a JSON object on each line.
pub(crate) fn objects(worker: &impl Engine, words: &[&str]) -> Result<Vec<Value>> {
    lines_of_json(answer(worker, words)?.as_bytes())
}

/// A JSON object on each line.
pub(crate) fn lines_of_json(text: &[u8]) -> Result<Vec<Value>> {
    let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| Ok(serde_json::from_slice(line)?)).collect()
}

impl Done {
    /// Standard output as text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Standard error as text.
    pub(crate) fn errors(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }
}

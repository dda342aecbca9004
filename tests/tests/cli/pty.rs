//! A real terminal with `headwater` on it, as a person has it.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Child, Command};

use anyhow::Result;
use headwater_tests::host::eventually;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Termios, Winsize, tcgetattr, tcsetwinsize};

use crate::command::{Engine, Stream, headwater, wait};

/// The terminal; `headwater` is the job in its foreground.
pub(crate) struct Pty {
    keyboard: File,
    /// Held open, so that the terminal outlives the command on it.
    device: File,
    child: Child,
    before: Termios,
    /// What is on the screen.
    pub(crate) screen: Stream,
}

impl Pty {
    /// Runs a command on a new terminal.
    pub(crate) fn start(worker: &impl Engine, words: &[&str]) -> Result<Self> {
        Self::with(&headwater(worker, words))
    }

    /// Runs a command on a new terminal of 30 rows and 100 columns.
    pub(crate) fn with(command: &Command) -> Result<Self> {
        Self::with_folder(command, &std::env::current_dir()?)
    }

    /// The same in this folder.
    pub(crate) fn with_folder(command: &Command, folder: &Path) -> Result<Self> {
        let keyboard = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        grantpt(&keyboard)?;
        unlockpt(&keyboard)?;
        let path = ptsname(&keyboard, Vec::new())?.into_string()?;
        let device = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(i32::try_from(rustix::fs::OFlags::NOCTTY.bits())?)
            .open(path)?;
        tcsetwinsize(&keyboard, size(30, 100))?;
        let before = tcgetattr(&device)?;
        // It becomes the leader of a session with this terminal, and then `headwater` itself.
        let mut leader = Command::new("setsid");
        leader.arg("--ctty").arg(command.get_program()).args(command.get_args());
        leader.env("TERM", "xterm").current_dir(folder);
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => leader.env(name, value),
                None => leader.env_remove(name),
            };
        }
        leader.stdin(device.try_clone()?).stdout(device.try_clone()?).stderr(device.try_clone()?);
        let child = leader.spawn()?;
        let keyboard = File::from(keyboard);
        let screen = Stream::new(keyboard.try_clone()?);
        Ok(Self { keyboard, device, child, before, screen })
    }

    /// Presses keys.
    pub(crate) fn types(&mut self, keys: &[u8]) -> Result<()> {
        Ok(self.keyboard.write_all(keys)?)
    }

    /// The person makes the window larger or smaller.
    pub(crate) fn resize(&self, rows: u16, cols: u16) -> Result<()> {
        Ok(tcsetwinsize(&self.keyboard, size(rows, cols))?)
    }

    /// Waits until all keys go to the program: nothing is echoed or interpreted here.
    pub(crate) async fn becomes_raw(&self) -> Result<()> {
        let cooked = LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG;
        let raw = || tcgetattr(&self.device).is_ok_and(|now| !now.local_modes.intersects(cooked));
        eventually("the terminal is raw", async || raw()).await
    }

    /// Waits for the end of the command; fails if the terminal is not as it was. Answers with the exit code and the
    /// screen.
    pub(crate) fn finish(mut self) -> Result<(Option<i32>, String)> {
        let status = wait(&mut self.child)?;
        let now = tcgetattr(&self.device)?;
        let modes =
            |state: &Termios| (state.input_modes, state.output_modes, state.control_modes, state.local_modes);
        anyhow::ensure!(modes(&now) == modes(&self.before), "the terminal was {:?}, is {now:?}", self.before);
        // What it printed is all in the terminal by now; a mark tells where that ends.
        self.device.write_all(MARK.as_bytes())?;
        self.screen.until_printed(MARK)?;
        Ok((status.code(), self.screen.text().replace(MARK, "")))
    }
}

/// Nothing prints this.
const MARK: &str = "\u{1}the end of the screen\u{1}";

fn size(rows: u16, cols: u16) -> Winsize {
    Winsize { ws_row: rows, ws_col: cols, ws_xpixel: 0, ws_ypixel: 0 }
}

impl Drop for Pty {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

//! Follows an execution live, for `run` and `attach`: output, input, terminal size and Ctrl+C.

use std::time::Duration;

use bytes::Bytes;
use headwater_protocol::{ExecutionId, Verdict};
use tokio::sync::mpsc;

use crate::engine::{Engine, Events, Typing};
use crate::error::{CommandError, ErrorKind};
use crate::input::{DetachKeys, Input};
use crate::show::{Format, Gaps, Shown, show};
use crate::system::{Resizes, Signals};
use crate::{terminal, view};

/// Chunks of keys that may wait for a program that does not read them, while the keys that detach still work.
const TYPED_AHEAD: usize = 1024;

/// The effect of Ctrl+C, unless it is a key for the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CtrlC {
    /// For `run`: the first cancels, the second kills, the third detaches.
    Cancels,
    /// For `attach`: detaches.
    Detaches,
}

/// What to follow, and how.
#[derive(Debug)]
pub struct Session {
    /// The worker or server.
    pub engine: Engine,
    /// The execution.
    pub id: ExecutionId,
    /// How to print events.
    pub format: Format,
    /// Which gaps to report.
    pub gaps: Gaps,
    /// Input to forward.
    pub input: Option<Input>,
    /// Whether the input reaches the program, or is only watched for the keys that detach.
    pub passes_input: bool,
    /// Whether Ctrl+P Ctrl+Q detaches.
    pub detach_keys: bool,
    /// Whether the program has a terminal, which follows the size of ours.
    pub tty: bool,
    /// The effect of Ctrl+C.
    pub ctrl_c: CtrlC,
    /// Changes of our terminal's size since it was read.
    pub resizes: Resizes,
}

/// Why following ended.
#[derive(Debug)]
pub enum End {
    /// The program has ended.
    Ended(Box<Verdict>, Shown),
    /// The user detached; the program keeps running.
    Detached,
    /// The reader of our output has closed it.
    ReaderGone,
}

/// Ctrl+C, and requests to end this process.
#[derive(Debug)]
pub struct Interrupts {
    signals: Signals,
    /// How many have arrived.
    pub count: u32,
}

impl Interrupts {
    /// From now on the signals are counted here instead of ending the process.
    pub fn listen() -> Result<Self, CommandError> {
        Ok(Self { signals: Signals::listen()?, count: 0 })
    }

    /// Waits for the next signal and counts it.
    pub async fn next(&mut self) {
        self.signals.next().await;
        self.count += 1;
    }
}

/// Follows until the program ends or the user detaches. Earlier interrupts count.
pub async fn follow(
    mut session: Session,
    events: Events,
    interrupts: &mut Interrupts,
) -> Result<End, CommandError> {
    let (detach, mut detached) = mpsc::channel::<()>(1);
    if let Some(input) = session.input {
        let input = if session.detach_keys { with_detach_keys(input, detach.clone()) } else { input };
        if session.passes_input {
            let (engine, id) = (session.engine.clone(), session.id);
            let typing = if session.ctrl_c == CtrlC::Cancels { Typing::Alone } else { Typing::AmongOthers };
            // It is not an error if the program closes its input, and the events report a lost worker.
            tokio::task::spawn_local(async move { engine.feed(id, input, typing).await.is_ok() });
        }
    }
    let mut handled = 0;
    let mut shown = std::pin::pin!(show(events, session.format, session.gaps));
    loop {
        if handled < interrupts.count {
            handled = interrupts.count;
            match (session.ctrl_c, handled) {
                (CtrlC::Detaches, _) | (CtrlC::Cancels, 3..) => return Ok(End::Detached),
                (CtrlC::Cancels, 1) => cancel(&session.engine, session.id, None),
                (CtrlC::Cancels, _) => cancel(&session.engine, session.id, Some(Duration::ZERO)),
            }
        }
        tokio::select! {
            shown = &mut shown => return end(&session.engine, session.id, shown).await,
            () = interrupts.next() => {}
            () = session.resizes.next(), if session.tty => resize(&session.engine, session.id),
            Some(()) = detached.recv() => return Ok(End::Detached),
        }
    }
}

async fn end(
    engine: &Engine,
    id: ExecutionId,
    shown: Result<Shown, CommandError>,
) -> Result<End, CommandError> {
    match shown {
        Ok(shown) => {
            let verdict = match shown.verdict.clone() {
                Some(verdict) => Some(verdict),
                // We began to follow after the verdict.
                None => view::verdict(&engine.execution(id).await?),
            };
            let verdict = verdict.ok_or_else(|| CommandError::internal("the log ended without a verdict"))?;
            Ok(End::Ended(Box::new(verdict), shown))
        }
        Err(error) if error.kind == ErrorKind::ReaderGone => Ok(End::ReaderGone),
        Err(error) => Err(error),
    }
}

/// Cancels in the background: the next Ctrl+C must be handled even while we wait for a lost worker.
fn cancel(engine: &Engine, id: ExecutionId, grace: Option<Duration>) {
    let engine = engine.clone();
    // Refused if the program has ended meanwhile.
    tokio::task::spawn_local(async move { engine.cancel(id, grace).await.is_ok() });
}

/// Sets the size of the program's terminal to that of ours.
pub fn resize(engine: &Engine, id: ExecutionId) {
    let Some(size) = terminal::size() else { return };
    let engine = engine.clone();
    tokio::task::spawn_local(async move { engine.resize(id, size).await.is_ok() });
}

/// Passes keys on, except those that detach. An empty chunk ends the input of the program.
fn with_detach_keys(mut keys: Input, detach: mpsc::Sender<()>) -> Input {
    let (sender, receiver) = mpsc::channel::<Bytes>(TYPED_AHEAD);
    tokio::task::spawn_local(async move {
        let (mut watch, mut program) = (DetachKeys::default(), Some(sender));
        while let Some(chunk) = keys.recv().await {
            let (pass, wants_to_detach) = watch.pass(&chunk);
            if wants_to_detach {
                let _ = detach.send(()).await; // fails only if we are detaching already
                // Keep `program` alive: detaching must not end the program's input.
                std::future::pending::<()>().await;
            }
            if chunk.is_empty() {
                program = None;
            } else if let Some(sender) = &program
                && !pass.is_empty()
            {
                // Fails if the program does not read any more; the keys are still watched.
                let _ = sender.send(pass.into()).await;
            }
        }
    });
    receiver
}

#[cfg(test)]
mod tests {
    use rustix::process::{Signal, getpid, kill_process};

    use super::*;

    #[tokio::test]
    async fn a_change_of_size_before_anybody_waits_for_it_is_not_lost() {
        let mut resizes = Resizes::listen().unwrap();
        kill_process(getpid(), Signal::WINCH).unwrap();
        resizes.next().await;
    }
}

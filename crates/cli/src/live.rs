//! Watching an execution live: its output here, our keys there, the window's size, Ctrl+C. What `run` and `attach` share.

use std::time::Duration;

use bytes::Bytes;
use headwater_protocol::{ExecutionId, Verdict};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

use crate::engine::{Engine, Events, Typing};
use crate::error::{CommandError, ErrorKind};
use crate::input::{DetachKeys, Input};
use crate::show::{Format, Gaps, Shown, show};
use crate::{terminal, view};

/// Whose the program is: what Ctrl+C (where it is not a key for the program) does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CtrlC {
    /// We started it: once cancels, twice kills, thrice leaves.
    Cancels,
    /// We came later: leaves the program alone.
    Leaves,
}

/// How to watch.
#[derive(Debug)]
pub struct Watch {
    /// What to talk to.
    pub engine: Engine,
    /// What is watched.
    pub id: ExecutionId,
    /// How to show it.
    pub format: Format,
    /// What to say of missing bytes.
    pub gaps: Gaps,
    /// What to pass on.
    pub input: Option<Input>,
    /// Ctrl+P Ctrl+Q leaves.
    pub detach_keys: bool,
    /// The program has a terminal that is to be as large as ours.
    pub tty: bool,
    /// See [`CtrlC`].
    pub ctrl_c: CtrlC,
}

/// How watching ended.
#[derive(Debug)]
pub enum End {
    /// The program has ended.
    Ended(Box<Verdict>, Shown),
    /// We left; the program did not notice.
    Left,
    /// Whoever read our output has gone.
    ReaderGone,
}

/// Ctrl+C, and requests to end.
#[derive(Debug)]
pub struct Interrupts {
    interrupt: Signal,
    terminate: Signal,
    /// How often they came.
    pub count: u32,
}

impl Interrupts {
    /// From now on they come here instead of ending the process.
    pub fn listen() -> Result<Self, CommandError> {
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            count: 0,
        })
    }

    /// Waits for the next one and counts it.
    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
        self.count += 1;
    }
}

fn listen(kind: SignalKind) -> Result<Signal, CommandError> {
    signal(kind).map_err(|error| CommandError::internal(format!("cannot listen to signals: {error}")))
}

/// Watches until the program ends or we leave. Interrupts that came before count.
pub async fn watch(watch: Watch, events: Events, interrupts: &mut Interrupts) -> Result<End, CommandError> {
    let (leave, mut left) = mpsc::channel::<()>(1);
    if let Some(input) = watch.input {
        let input = if watch.detach_keys { with_detach_keys(input, leave.clone()) } else { input };
        let (engine, id) = (watch.engine.clone(), watch.id);
        let typing = if watch.ctrl_c == CtrlC::Cancels { Typing::Alone } else { Typing::AmongOthers };
        // That the program reads no more is no failure, and a lost worker is told by the events.
        tokio::task::spawn_local(async move { engine.feed(id, input, typing).await.is_ok() });
    }
    let mut resized = listen(SignalKind::window_change())?;
    let mut handled = 0;
    let mut shown = std::pin::pin!(show(events, watch.format, watch.gaps));
    loop {
        if handled < interrupts.count {
            handled = interrupts.count;
            match (watch.ctrl_c, handled) {
                (CtrlC::Leaves, _) | (CtrlC::Cancels, 3..) => return Ok(End::Left),
                (CtrlC::Cancels, 1) => cancel(&watch.engine, watch.id, None),
                (CtrlC::Cancels, _) => cancel(&watch.engine, watch.id, Some(Duration::ZERO)),
            }
        }
        tokio::select! {
            shown = &mut shown => return end(&watch.engine, watch.id, shown).await,
            () = interrupts.next() => {}
            Some(()) = resized.recv(), if watch.tty => resize(&watch.engine, watch.id),
            Some(()) = left.recv() => return Ok(End::Left),
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
                // We began after it.
                None => view::verdict(&engine.execution(id).await?),
            };
            let verdict = verdict.ok_or_else(|| CommandError::internal("the log ended without a verdict"))?;
            Ok(End::Ended(Box::new(verdict), shown))
        }
        Err(error) if error.kind == ErrorKind::ReaderGone => Ok(End::ReaderGone),
        Err(error) => Err(error),
    }
}

/// Cancels in the background: the next Ctrl+C must be heard while a lost worker is waited for.
fn cancel(engine: &Engine, id: ExecutionId, grace: Option<Duration>) {
    let engine = engine.clone();
    // Refused if it has ended meanwhile: then there is nothing to cancel.
    tokio::task::spawn_local(async move { engine.cancel(id, grace).await.is_ok() });
}

/// Makes the program's terminal as large as ours.
pub fn resize(engine: &Engine, id: ExecutionId) {
    let Some(size) = terminal::size() else { return };
    let engine = engine.clone();
    tokio::task::spawn_local(async move { engine.resize(id, size).await.is_ok() });
}

fn with_detach_keys(mut input: Input, leave: mpsc::Sender<()>) -> Input {
    let (sender, receiver) = mpsc::channel::<Bytes>(1);
    tokio::task::spawn_local(async move {
        let mut keys = DetachKeys::default();
        while let Some(chunk) = input.recv().await {
            let (pass, wants_to_leave) = keys.pass(&chunk);
            if !pass.is_empty() && sender.send(pass.into()).await.is_err() {
                return;
            }
            if wants_to_leave {
                let _ = leave.send(()).await; // fails only if we are leaving already
                // Keeping `sender` alive: our leaving is not the end of the program's input.
                std::future::pending::<()>().await;
            }
        }
    });
    receiver
}

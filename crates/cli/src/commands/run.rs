//! `headwater run`: start something, show its output live, end with its exit code.
//!
//! 1. The request is made of the flags ([`plan`]); what makes no sense is refused before anything runs.
//! 2. A worker is found or started; the session is looked up, or its id chosen.
//! 3. Session and execution are asked for under ids that we chose, so that asking again after a lost answer starts
//!    nothing twice.
//! 4. The log is followed to the verdict, over any number of restarts of the worker.

mod plan;

use headwater_contract::{Client, FollowOptions, Follower};
use headwater_protocol::{ExecutionId, SandboxKind, SessionId};

use self::plan::{Plan, Where};
use crate::args::RunArgs;
use crate::connect::Place;
use crate::error::CommandError;
use crate::live::{CtrlC, End, Interrupts, Watch, watch};
use crate::output::say;
use crate::show::Format;
use crate::style::Style;
use crate::terminal::RawMode;
use crate::{exit, resolve, terminal, view};

/// Runs it; answers with the exit code.
pub async fn run(mut place: Place, args: &RunArgs) -> Result<u8, CommandError> {
    place.sandbox = args.sandbox.map(SandboxKind::from);
    let plan = Plan::new(args)?;
    let mut interrupts = Interrupts::listen()?;
    let (client, session) = tokio::select! {
        found = find(&place, &plan) => found?,
        () = interrupts.next() => return Ok(exit::CANCELLED),
    };
    let id = ExecutionId::random();
    let run = Run { client, session, id, plan };
    let started = run.start(&mut interrupts).await;
    match started {
        Ok(Some(follower)) => run.follow(follower, interrupts).await,
        Ok(None) => Ok(0),
        Err(error) => {
            run.undo().await;
            Err(error)
        }
    }
}

/// The worker and the session; a new session has only an id yet.
async fn find(place: &Place, plan: &Plan) -> Result<(Client, SessionId), CommandError> {
    let client = place.worker().await?;
    let session = match &plan.place {
        Where::Own(_) => SessionId::random(),
        Where::In(text) => resolve::session(&client, text).await?,
    };
    Ok((client, session))
}

struct Run {
    client: Client,
    session: SessionId,
    id: ExecutionId,
    plan: Plan,
}

impl Run {
    /// Starts it, and begins to follow it unless it is to be left alone. Interrupts are counted meanwhile, and heeded
    /// when there is something to cancel; the third one does not wait for that.
    async fn start(&self, interrupts: &mut Interrupts) -> Result<Option<Follower>, CommandError> {
        let mut asking = std::pin::pin!(self.ask());
        loop {
            tokio::select! {
                answer = &mut asking => return answer,
                () = interrupts.next() => if interrupts.count >= 3 {
                    return Err(CommandError::internal("left before the worker answered"));
                },
            }
        }
    }

    async fn ask(&self) -> Result<Option<Follower>, CommandError> {
        if let Where::Own(spec) = &self.plan.place {
            let create = async |client: &Client| client.create_session(Some(self.session), spec).await;
            self.client.insist(create).await?;
        }
        let spec = &self.plan.spec;
        if self.plan.detach {
            let start = async |client: &Client| client.start(self.session, Some(self.id), spec).await;
            let execution = self.client.insist(start).await?;
            say(&if self.plan.json {
                view::execution_json(&execution).to_string()
            } else {
                self.id.to_string()
            })?;
            return Ok(None);
        }
        let run =
            async |client: &Client| client.run(self.session, self.id, spec, FollowOptions::default()).await;
        Ok(Some(self.client.insist(run).await?))
    }

    async fn follow(mut self, follower: Follower, mut interrupts: Interrupts) -> Result<u8, CommandError> {
        let raw =
            if self.plan.spec.tty.is_some() && self.plan.input.is_some() { RawMode::enter()? } else { None };
        let format = if self.plan.json { Format::Json } else { Format::Bytes { gaps: true } };
        let how = Watch {
            client: self.client.clone(),
            id: self.id,
            format,
            input: self.plan.input.take(),
            detach_keys: false,
            tty: self.plan.spec.tty.is_some(),
            ctrl_c: CtrlC::Cancels,
        };
        let end = watch(how, follower, &mut interrupts).await;
        drop(raw);
        match end.map_err(|error| error.hint(format!("`headwater attach {}` goes on", self.id)))? {
            End::Verdict(verdict) => {
                if let Some(line) = exit::line(&verdict).filter(|_| !self.plan.json) {
                    // A terminal shows `^C` where the cursor was.
                    let apart = if interrupts.count > 0 && terminal::stdin_is_terminal() { "\n" } else { "" };
                    let style = Style::of_stderr();
                    eprintln!("{apart}{}", style.red(&format!("headwater: {line}")));
                    if let Some(hint) = self.plan.hint(exit::code(&verdict)) {
                        eprintln!("{} {hint}", style.cyan("hint:"));
                    }
                }
                Ok(exit::code(&verdict))
            }
            End::Left => {
                eprintln!("headwater: left it running; `headwater kill --now {}` ends it", self.id);
                Ok(exit::CANCELLED)
            }
            End::ReaderGone => {
                // As a pipe would: a program whose reader is gone is to end.
                let cancelled = self.client.insist(async |client| client.cancel(self.id, None).await).await;
                cancelled.map_or(Ok(exit::READER_GONE), |()| Ok(exit::READER_GONE))
            }
        }
    }

    /// Nothing was started: a session that was made for it is not needed.
    async fn undo(&self) {
        if matches!(self.plan.place, Where::Own(_)) {
            let _ = self.client.end_session(self.session, true).await; // it may not be there, or the worker may not
        }
    }
}

//! The phase of a live session: one state, changed only by the transitions below, that callers can wait for.
//!
//! ```text
//! Running ──► Hibernating ──► Ending        on request; an end overrides a hibernation
//!    │             │             │
//!    ▼             ▼             ▼
//! Closing(Lost) Closing(Hibernated) Closing(Ended)   init is gone; a later request changes the cause
//!                  │
//!                  ▼
//!                Gone                       all logs are closed, and the session has left the table
//! ```

use tokio::sync::watch;

/// What a live session is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Programs run in it and can be started.
    Running,
    /// Its programs are being ended. The workspace stays, and the next use resumes the session.
    Hibernating,
    /// Its end was requested: its programs are cancelled, and the workspace is removed.
    Ending,
    /// Its init is gone. The logs are being closed, and what it leaves on the host is being removed.
    Closing(Cause),
    /// Its logs are closed, and the session table has it as hibernated or ended.
    Gone(Cause),
}

/// Why the programs of a session ended all at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// Its init went without having been asked to.
    Lost,
    /// The session was hibernated.
    Hibernated,
    /// The end of the session was requested.
    Ended,
}

impl Phase {
    /// Whether something can be started. A session that ends refuses a start by its link, or cancels what was started.
    pub(crate) const fn can_start(self) -> bool {
        matches!(self, Self::Running | Self::Ending)
    }

    /// Why everything in the session ends or has ended; `None` while it runs.
    pub(crate) const fn cause(self) -> Option<Cause> {
        match self {
            Self::Running => None,
            Self::Hibernating => Some(Cause::Hibernated),
            Self::Ending => Some(Cause::Ended),
            Self::Closing(cause) | Self::Gone(cause) => Some(cause),
        }
    }

    /// Whether the end of the session was requested.
    pub(crate) const fn is_ending(self) -> bool {
        matches!(self.cause(), Some(Cause::Ended))
    }

    /// Whether its end or its hibernation was requested.
    pub(crate) const fn is_stopping(self) -> bool {
        matches!(self.cause(), Some(Cause::Ended | Cause::Hibernated))
    }

    /// Whether its init is gone and its logs are closed.
    pub(crate) const fn is_gone(self) -> bool {
        matches!(self, Self::Gone(_))
    }
}

/// The phase of one session.
#[derive(Debug)]
pub(crate) struct PhaseCell(watch::Sender<Phase>);

impl Default for PhaseCell {
    fn default() -> Self {
        Self(watch::Sender::new(Phase::Running))
    }
}

impl PhaseCell {
    /// The present phase.
    pub(crate) fn get(&self) -> Phase {
        *self.0.borrow()
    }

    /// Requests hibernation. Returns whether this call began it: not if it was requested before, if the session ends,
    /// or if it is gone.
    pub(crate) fn begin_hibernation(&self) -> bool {
        self.change(|phase| match phase {
            Phase::Running => Some(Phase::Hibernating),
            Phase::Closing(Cause::Lost) => Some(Phase::Closing(Cause::Hibernated)),
            Phase::Hibernating | Phase::Ending | Phase::Closing(_) | Phase::Gone(_) => None,
        })
    }

    /// Requests the end of the session, even if it is being hibernated.
    pub(crate) fn begin_end(&self) {
        self.change(|phase| match phase {
            Phase::Running | Phase::Hibernating => Some(Phase::Ending),
            Phase::Closing(_) => Some(Phase::Closing(Cause::Ended)),
            Phase::Ending | Phase::Gone(_) => None,
        });
    }

    /// Init is gone. Returns why.
    pub(crate) fn begin_closing(&self) -> Cause {
        self.change(|phase| match phase {
            Phase::Running | Phase::Hibernating | Phase::Ending => {
                Some(Phase::Closing(phase.cause().unwrap_or(Cause::Lost)))
            }
            Phase::Closing(_) | Phase::Gone(_) => None,
        });
        self.get().cause().unwrap_or(Cause::Lost)
    }

    /// All logs are closed, and the session has left the table of live ones.
    pub(crate) fn finish(&self) {
        self.change(|phase| match phase {
            Phase::Gone(_) => None,
            phase => Some(Phase::Gone(phase.cause().unwrap_or(Cause::Lost))),
        });
    }

    /// Waits until the session is gone.
    pub(crate) async fn until_gone(&self) {
        // The sender is `self`: it exists for as long as this waits.
        let _ = self.0.subscribe().wait_for(|phase| phase.is_gone()).await;
    }

    fn change(&self, next: impl FnOnce(Phase) -> Option<Phase>) -> bool {
        self.0.send_if_modified(|phase| {
            let next = next(*phase);
            *phase = next.unwrap_or(*phase);
            next.is_some()
        })
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn in_phase(phase: Phase) -> PhaseCell {
        PhaseCell(watch::Sender::new(phase))
    }

    const ALL: [Phase; 9] = [
        Phase::Running,
        Phase::Hibernating,
        Phase::Ending,
        Phase::Closing(Cause::Lost),
        Phase::Closing(Cause::Hibernated),
        Phase::Closing(Cause::Ended),
        Phase::Gone(Cause::Lost),
        Phase::Gone(Cause::Hibernated),
        Phase::Gone(Cause::Ended),
    ];

    #[test]
    fn hibernation_begins_once_and_never_overrides_an_end() {
        for phase in ALL {
            let cell = in_phase(phase);
            let after = match phase {
                Phase::Running => Phase::Hibernating,
                Phase::Closing(Cause::Lost) => Phase::Closing(Cause::Hibernated),
                phase => phase,
            };
            assert_eq!((cell.begin_hibernation(), cell.get()), (phase != after, after), "{phase:?}");
            assert!(!cell.begin_hibernation());
        }
    }

    #[test]
    fn an_end_overrides_a_hibernation_until_the_session_is_gone() {
        for phase in ALL {
            let cell = in_phase(phase);
            cell.begin_end();
            let after = match phase {
                Phase::Running | Phase::Hibernating | Phase::Ending => Phase::Ending,
                Phase::Closing(_) => Phase::Closing(Cause::Ended),
                Phase::Gone(_) => phase,
            };
            assert_eq!(cell.get(), after, "{phase:?}");
        }
    }

    #[test]
    fn an_init_that_goes_without_a_request_is_lost_and_otherwise_the_request_is_the_cause() {
        for (phase, cause) in [
            (Phase::Running, Cause::Lost),
            (Phase::Hibernating, Cause::Hibernated),
            (Phase::Ending, Cause::Ended),
        ] {
            let cell = in_phase(phase);
            assert_eq!((cell.begin_closing(), cell.get()), (cause, Phase::Closing(cause)));
            cell.finish();
            assert_eq!(cell.get(), Phase::Gone(cause));
            assert_eq!((cell.begin_closing(), cell.get()), (cause, Phase::Gone(cause)), "final");
        }
    }

    #[test]
    fn something_can_be_started_until_a_hibernation_begins_or_init_is_gone() {
        let can_start: Vec<_> = ALL.into_iter().filter(|phase| phase.can_start()).collect();
        assert_eq!(can_start, [Phase::Running, Phase::Ending]);
        let stopping = ALL.iter().filter(|phase| phase.is_stopping()).count();
        assert_eq!(stopping, 6, "all but those of a session that runs or whose init was lost");
    }

    #[test]
    fn waiting_calls_are_woken_when_the_session_is_gone_and_not_before() {
        let cell = PhaseCell::default();
        let mut waiting = Box::pin(cell.until_gone());
        assert!(waiting.as_mut().now_or_never().is_none());
        cell.begin_hibernation();
        cell.begin_closing();
        assert!(waiting.as_mut().now_or_never().is_none());
        cell.finish();
        assert!(waiting.now_or_never().is_some() && cell.until_gone().now_or_never().is_some());
    }
}

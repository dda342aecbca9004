//! A script that behaves like a worker: sessions, executions and their logs in memory. A test moves programs on, and
//! replaces answers to single methods.

#![allow(clippy::needless_pass_by_value)] // a request is decoded where it is passed

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use headwater_contract::{Fault, FaultKind, v1};
use headwater_protocol::{
    Event, EventKind, Execution, ExecutionId, ExecutionState, Reason, SandboxKind, Seq, Session, SessionId,
    SessionSpec, SessionState, StartSpec, Stream, Usage, Verdict,
};
use prost::Message;
use tokio::sync::watch;

use super::{Answer, Answering, Call, Script};

/// When everything of the model starts, in milliseconds since 1970: in the future, so that no row is too old to keep.
pub(crate) const STARTED_AT_MS: u64 = 4_000_000_000_000;
/// What each program of the model used of the processor.
pub(crate) const CPU_MS: u64 = 7;

/// Answers a method in place of the model.
pub(crate) type Hook = Arc<dyn Fn(Arc<Model>, Call) -> Answering + Send + Sync>;

type Answered = Result<Answer, Fault>;

#[derive(Debug)]
struct Program {
    execution: Execution,
    events: Vec<Event>,
}

#[derive(Debug, Default)]
struct State {
    sessions: BTreeMap<SessionId, Session>,
    programs: BTreeMap<ExecutionId, Program>,
    removed: Vec<v1::RemovedLog>,
    starts: usize,
}

/// The worker's memory. It outlives connections, as a worker's files outlive its process.
#[derive(Default)]
pub(crate) struct Model {
    state: Mutex<State>,
    changed: watch::Sender<()>,
    hooks: Mutex<HashMap<&'static str, Hook>>,
}

/// How a program ends that returns this code.
pub(crate) fn exited(code: i32) -> Verdict {
    let usage = Usage { cpu_ms: CPU_MS, ..Usage::default() };
    Verdict { code: Some(code), usage, duration_ms: 5, ..Verdict::new(Reason::Exited) }
}

impl Model {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let changed = change(&mut self.state());
        self.changed.send_replace(());
        changed
    }

    /// The function that answers calls from this model.
    pub(crate) fn script(self: &Arc<Self>) -> Script {
        let model = Arc::clone(self);
        Arc::new(move |call| {
            let hook = model.hooks.lock().unwrap_or_else(PoisonError::into_inner).get(&*call.method).cloned();
            match hook {
                Some(hook) => hook(Arc::clone(&model), call),
                None => model.answer(call),
            }
        })
    }

    /// Answers a method in place of the model, from now on.
    pub(crate) fn on<F: Future<Output = Answer> + Send + 'static>(
        &self,
        method: &'static str,
        hook: impl Fn(Arc<Self>, Call) -> F + Send + Sync + 'static,
    ) {
        let hook: Hook = Arc::new(move |model, call| Box::pin(hook(model, call)));
        self.hooks.lock().unwrap_or_else(PoisonError::into_inner).insert(method, hook);
    }

    /// The model answers this method again.
    pub(crate) fn off(&self, method: &str) {
        self.hooks.lock().unwrap_or_else(PoisonError::into_inner).remove(method);
    }

    /// How many programs have been started.
    pub(crate) fn starts(&self) -> usize {
        self.state().starts
    }

    /// Whether it has this session.
    pub(crate) fn has_session(&self, id: SessionId) -> bool {
        self.state().sessions.contains_key(&id)
    }

    /// How many sessions it has.
    pub(crate) fn sessions(&self) -> usize {
        self.state().sessions.len()
    }

    /// Whether it has this execution.
    pub(crate) fn has_execution(&self, id: ExecutionId) -> bool {
        self.state().programs.contains_key(&id)
    }

    /// Adds a session, as another client would.
    pub(crate) fn add_session(&self, id: SessionId, spec: SessionSpec) -> Session {
        let session = Session {
            id,
            spec,
            sandbox: SandboxKind::Full,
            state: SessionState::Ready,
            created_at_ms: STARTED_AT_MS,
            running: 0,
        };
        self.change(|state| state.sessions.entry(id).or_insert(session).clone())
    }

    pub(crate) fn end_session(&self, id: SessionId, ended_at_ms: u64) {
        self.change(|state| {
            state.sessions.get_mut(&id).unwrap().state = SessionState::Ended { ended_at_ms };
        });
    }

    /// Starts a program, once for each id.
    pub(crate) fn start(
        &self,
        id: ExecutionId,
        session_id: SessionId,
        spec: StartSpec,
    ) -> Result<Execution, Fault> {
        if !self.has_session(session_id) {
            return Err(missing());
        }
        Ok(self.change(|state| {
            if !state.programs.contains_key(&id) {
                state.starts += 1;
                let execution = Execution {
                    id,
                    session_id,
                    spec,
                    state: ExecutionState::Running { pid: 2 },
                    started_at_ms: STARTED_AT_MS,
                    stdout_bytes: 0,
                    stderr_bytes: 0,
                    output_bytes: 0,
                    last_seq: Seq(0),
                    log_removed: None,
                };
                state.programs.insert(id, Program { execution, events: Vec::new() });
                state.add_event(id, EventKind::Started { execution_id: id, pid: 2 });
            }
            state.programs[&id].execution.clone()
        }))
    }

    /// The program prints this, as one event.
    pub(crate) fn print(&self, id: ExecutionId, bytes: &'static [u8]) {
        self.change(|state| {
            let execution = &mut state.programs.get_mut(&id).unwrap().execution;
            let (stream, offset) = (Stream::Stdout, execution.stdout_bytes);
            execution.stdout_bytes += bytes.len() as u64;
            state.add_event(id, EventKind::Output { stream, offset, bytes: Bytes::from_static(bytes) });
        });
    }

    /// The program exits; its log stays open.
    pub(crate) fn exit(&self, id: ExecutionId, verdict: &Verdict) {
        self.change(|state| {
            state.add_event(id, EventKind::Exited(verdict.clone()));
            let execution = &mut state.programs.get_mut(&id).unwrap().execution;
            execution.state = ExecutionState::Exited { verdict: verdict.clone() };
        });
    }

    /// The program exits, and its log is closed.
    pub(crate) fn finish(&self, id: ExecutionId, verdict: &Verdict) {
        self.exit(id, verdict);
        self.change(|state| {
            state.add_event(id, EventKind::Closed);
            let execution = &mut state.programs.get_mut(&id).unwrap().execution;
            execution.state = ExecutionState::Closed { verdict: verdict.clone() };
        });
    }

    /// Forgets an execution, as a worker does that is killed before it has written anything.
    pub(crate) fn forget(&self, id: ExecutionId) {
        self.change(|state| state.programs.remove(&id));
    }

    /// Retention removes the log of an execution that has ended.
    pub(crate) fn remove_log(&self, id: ExecutionId, number: u64) {
        self.change(|state| {
            let execution = state.programs.remove(&id).unwrap().execution;
            state.removed.push(v1::RemovedLog {
                number,
                execution_id: id.to_string(),
                reason: "age".into(),
                at_ms: STARTED_AT_MS + 9,
                verdict: execution.state.verdict().map(Into::into),
                started_at_ms: STARTED_AT_MS,
                last_seq: execution.last_seq.0,
            });
        });
    }

    /// Answers as a worker does.
    pub(crate) fn answer(self: &Arc<Self>, call: Call) -> Answering {
        let model = Arc::clone(self);
        Box::pin(async move { model.answered(&call).await.unwrap_or_else(Answer::fault) })
    }

    async fn answered(self: Arc<Self>, call: &Call) -> Answered {
        match call.method.as_str() {
            "Worker/Info" => Ok(Answer::message(&v1::InfoResponse {
                sandbox: "full".into(),
                pid: 1,
                ..v1::InfoResponse::default()
            })),
            "Worker/CreateSession" => self.create(call.read()),
            "Worker/GetSession" => self.session(&call.read::<v1::GetSessionRequest>().session_id),
            "Worker/ListSessions" => Ok(self.list_sessions(call.read())),
            "Worker/EndSession" => self.end(call.read()),
            "Worker/Start" => self.start_by(call.read()),
            "Worker/Run" => {
                let run: v1::RunRequest = call.read();
                self.start_by(run.start.clone().unwrap())?;
                self.follow(run.start.unwrap().execution_id(), run.follow.unwrap_or_default())
            }
            "Worker/Follow" => {
                let follow: v1::FollowRequest = call.read();
                self.follow(&follow.execution_id, follow.options.unwrap_or_default())
            }
            "Worker/GetExecution" => self.execution(call.read()).await,
            "Worker/ListExecutions" => Ok(self.list_executions(call.read())),
            "Worker/ListRemoved" => Ok(self.list_removed(call.read())),
            "Worker/Read" => self.read(call.read()),
            "Worker/Cancel" => {
                let id = parse(&call.read::<v1::CancelRequest>().execution_id)?;
                self.known(id)?;
                self.finish(id, &Verdict::new(Reason::Cancelled));
                Ok(Answer::message(&v1::CancelResponse {}))
            }
            "Worker/Forget" => {
                let id = parse(&call.read::<v1::ForgetRequest>().execution_id)?;
                self.known(id)?;
                self.forget(id);
                Ok(Answer::message(&v1::ForgetResponse {}))
            }
            other => Ok(Answer::Status(tonic::Status::unimplemented(other))),
        }
    }

    fn create(&self, request: v1::CreateSessionRequest) -> Answered {
        let spec = request.spec.clone().unwrap_or_default().try_into()?;
        let session = self.add_session(request.session_id().parse()?, spec);
        Ok(Answer::message(&v1::Session::from(&session)))
    }

    fn session(&self, id: &str) -> Answered {
        let state = self.state();
        let session = state.sessions.get(&id.parse()?).ok_or_else(missing)?;
        Ok(Answer::message(&v1::Session::from(session)))
    }

    fn list_sessions(&self, request: v1::ListSessionsRequest) -> Answer {
        let state = self.state();
        let has_ended = |session: &Session| matches!(session.state, SessionState::Ended { .. });
        let listed = state.sessions.values().filter(|session| request.include_ended || !has_ended(session));
        Answer::message(&v1::ListSessionsResponse { sessions: listed.map(Into::into).collect() })
    }

    fn end(&self, request: v1::EndSessionRequest) -> Answered {
        let id: SessionId = request.session_id.parse()?;
        if !self.has_session(id) {
            return Err(missing());
        }
        self.end_session(id, STARTED_AT_MS + 1);
        let answer = self.session(&request.session_id);
        if request.forget {
            self.change(|state| {
                state.sessions.remove(&id);
                state.programs.retain(|_, program| program.execution.session_id != id);
            });
        }
        answer
    }

    fn start_by(&self, request: v1::StartRequest) -> Answered {
        let (id, session) = (request.execution_id().parse()?, request.session_id.parse()?);
        let spec = request.spec.unwrap_or_default().try_into()?;
        Ok(Answer::message(&v1::Execution::from(&self.start(id, session, spec)?)))
    }

    fn known(&self, id: ExecutionId) -> Result<Execution, Fault> {
        let state = self.state();
        let removed = state.removed.iter().any(|log| log.execution_id == id.to_string());
        let gone = || if removed { Fault::new(FaultKind::Gone, "its log was removed") } else { missing() };
        state.programs.get(&id).map(|program| program.execution.clone()).ok_or_else(gone)
    }

    /// Waits for the end for as long as the request says.
    async fn execution(&self, request: v1::GetExecutionRequest) -> Answered {
        let (id, mut changes) = (parse(&request.execution_id)?, self.changed.subscribe());
        let until_closed = request.until() == v1::Until::Closed;
        let ended = async {
            loop {
                let is_over = match self.known(id)?.state {
                    ExecutionState::Closed { .. } => true,
                    ExecutionState::Exited { .. } => !until_closed,
                    _ => false,
                };
                if is_over {
                    return Ok::<_, Fault>(());
                }
                let _ = changes.changed().await;
            }
        };
        if request.wait_ms > 0 {
            let waited = tokio::time::timeout(Duration::from_millis(request.wait_ms), ended).await;
            waited.unwrap_or(Ok(()))?;
        }
        Ok(Answer::message(&v1::Execution::from(&self.known(id)?)))
    }

    fn list_executions(&self, request: v1::ListExecutionsRequest) -> Answer {
        let state = self.state();
        let listed = state.programs.values().map(|program| &program.execution).filter(|execution| {
            let is_running = execution.state.verdict().is_none();
            let of_session =
                request.session_id.as_ref().is_none_or(|id| *id == execution.session_id.to_string());
            let is_recent = request.started_after_ms.is_none_or(|after| execution.started_at_ms > after);
            of_session && is_recent && (is_running || !request.running_only)
        });
        Answer::message(&v1::ListExecutionsResponse { executions: listed.map(Into::into).collect() })
    }

    fn list_removed(&self, request: v1::ListRemovedRequest) -> Answer {
        let state = self.state();
        let logs = state.removed.iter().filter(|log| log.number > request.after);
        let most = usize::try_from(request.limit).unwrap();
        Answer::message(&v1::ListRemovedResponse { logs: logs.take(most).cloned().collect() })
    }

    /// The events after a position, one in each message, and live.
    fn follow(self: Arc<Self>, id: &str, options: v1::FollowOptions) -> Answered {
        let id = parse(id)?;
        self.known(id)?;
        let until_closed = options.until() == v1::Until::Closed;
        let changes = self.changed.subscribe();
        let first = Some((self, changes, options.after_seq));
        let batches = stream::unfold(first, move |state| async move {
            let (model, mut changes, after) = state?;
            loop {
                let event = model.event_after(id, after);
                if let Some(event) = event {
                    let is_last = match event.kind {
                        EventKind::Closed => true,
                        EventKind::Exited(_) => !until_closed,
                        _ => false,
                    };
                    let seq = event.seq.0;
                    let batch = v1::FollowResponse { events: vec![event.into()] };
                    let next = (!is_last).then_some((model, changes, seq));
                    return Some((Bytes::from(batch.encode_to_vec()), next));
                }
                changes.changed().await.ok()?;
            }
        });
        Ok(Answer::Stream(batches.boxed()))
    }

    fn event_after(&self, id: ExecutionId, after: u64) -> Option<Event> {
        let state = self.state();
        state.programs.get(&id)?.events.iter().find(|event| event.seq.0 > after).cloned()
    }

    /// A range of the output, in messages of three bytes.
    fn read(&self, request: v1::ReadRequest) -> Answered {
        let (id, state) = (parse(&request.execution_id)?, self.state());
        let program = state.programs.get(&id).ok_or_else(missing)?;
        let mut all = Vec::new();
        for event in &program.events {
            if let EventKind::Output { bytes, .. } = &event.kind {
                all.extend_from_slice(bytes);
            }
        }
        let (from, to) =
            (usize::try_from(request.from_byte).unwrap(), usize::try_from(request.to_byte).unwrap());
        let piece = |piece: &[u8]| {
            let message = v1::ReadResponse { data: Bytes::copy_from_slice(piece) };
            Bytes::from(message.encode_to_vec())
        };
        let pieces: Vec<_> = all[from..to].chunks(3).map(piece).collect();
        Ok(Answer::Stream(stream::iter(pieces).boxed()))
    }
}

impl State {
    fn add_event(&mut self, id: ExecutionId, kind: EventKind) {
        let program = self.programs.get_mut(&id).unwrap();
        let seq = program.execution.last_seq.next();
        program.execution.last_seq = seq;
        program.events.push(Event { seq, at_ms: seq.0, kind });
    }
}

fn missing() -> Fault {
    Fault::new(FaultKind::NotFound, "it does not exist")
}

fn parse(id: &str) -> Result<ExecutionId, Fault> {
    Ok(id.parse()?)
}

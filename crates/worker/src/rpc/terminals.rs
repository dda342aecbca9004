//! The gRPC service `Terminals`: screens, sizes and marks of executions on a terminal.

use std::sync::Arc;
use std::time::Duration;

use headwater_contract::v1::{self, terminals_server::Terminals as Contract};
use headwater_contract::{Fault, FaultKind};
use tonic::{Request, Response, Status};

use crate::engine::Engine;
use crate::executions::execution::Execution;
use crate::terminals::live::Shown;
use crate::terminals::sizes::{self, Change};
use crate::terminals::{marks, rebuild, redact};

/// How long a snapshot waits until the whole log was applied to the screen.
const MAX_CATCH_UP: Duration = Duration::from_secs(2);

/// Serves the calls of `Terminals`.
#[derive(Debug)]
pub(crate) struct TerminalsService {
    engine: Arc<Engine>,
}

impl TerminalsService {
    pub(crate) const fn new(engine: Arc<Engine>) -> Self {
        Self { engine }
    }

    /// An execution with a terminal, running or ended.
    fn execution(&self, id: &str) -> Result<Arc<Execution>, Fault> {
        let execution = self.engine.execution(id.parse()?)?;
        if execution.record().spec.tty.is_none() {
            let fault = Fault::new(FaultKind::Conflict, format!("`{id}` has no terminal"));
            return Err(fault.hint("start it with a terminal to get a screen"));
        }
        Ok(execution)
    }

    async fn shown(
        &self,
        execution: &Arc<Execution>,
        scrollback: Option<usize>,
        for_list: bool,
    ) -> Result<Shown, Fault> {
        if let Some(live) = execution.screen() {
            if !for_list {
                live.touch();
            }
            live.wait_for(execution.head().last_seq.0, MAX_CATCH_UP).await;
            return Ok(live.show(scrollback));
        }
        let (engine, execution) = (Arc::clone(&self.engine), Arc::clone(execution));
        let failed = |error: &dyn std::fmt::Display| {
            Fault::new(FaultKind::Internal, format!("cannot read the terminal's log: {error}"))
        };
        let work = move || rebuild::shown(&engine.terminals, &execution, scrollback);
        let built = tokio::task::spawn_blocking(work).await.map_err(|error| failed(&error))?;
        built.map_err(|error| failed(&error))
    }
}

#[tonic::async_trait]
impl Contract for TerminalsService {
    async fn snapshot(
        &self,
        request: Request<v1::SnapshotRequest>,
    ) -> Result<Response<v1::SnapshotResponse>, Status> {
        let request = request.into_inner();
        let execution = self.execution(&request.execution_id)?;
        let lines = request.scrollback_lines.map(|lines| usize::try_from(lines).unwrap_or(usize::MAX));
        let Shown { seq, rows, cols, data, title } = self.shown(&execution, lines, request.for_list).await?;
        let secret = self.engine.terminals.secret(execution.id());
        let data = redact::redact_screen(&secret, data).into();
        Ok(Response::new(v1::SnapshotResponse { seq, rows: rows.into(), cols: cols.into(), data, title }))
    }

    async fn list_sizes(
        &self,
        request: Request<v1::ListSizesRequest>,
    ) -> Result<Response<v1::ListSizesResponse>, Status> {
        let execution = self.execution(&request.into_inner().execution_id)?;
        let to_proto = |change: Change| v1::SizeChange {
            at_ms: change.at_ms,
            after_seq: change.after,
            rows: change.size.rows.into(),
            cols: change.size.cols.into(),
        };
        let sizes = sizes::read(execution.dir(), execution.record()).into_iter().map(to_proto).collect();
        Ok(Response::new(v1::ListSizesResponse { sizes }))
    }

    type FollowMarksStream = marks::Marks;

    async fn follow_marks(
        &self,
        request: Request<v1::FollowMarksRequest>,
    ) -> Result<Response<marks::Marks>, Status> {
        let request = request.into_inner();
        let execution = self.execution(&request.execution_id)?;
        let secret = self.engine.terminals.secret(execution.id());
        let mut waits_since = None;
        if let Some(live) = execution.screen().filter(|_| request.with_prompt) {
            live.wait_for(request.after_seq, MAX_CATCH_UP).await;
            waits_since = live.prompt().filter(|prompt| *prompt <= request.after_seq);
        }
        Ok(Response::new(marks::follow(&execution, &secret, request.after_seq, waits_since)?))
    }
}

//! Waits for the result of each build and writes it to the store, even if no client waits for it.

use std::sync::Arc;
use std::time::Duration;

use headwater_contract::{Backoff, ContractError};
use headwater_protocol::build::{BuildResult, BuildStatus, SUCCESS, diagnostics_of_text};
use headwater_protocol::{Execution, ExecutionState, Reason, Stream, Verdict};
use headwater_store::BuildRow;
use tokio::time::{Instant, sleep};

use super::{build_spec, is_compiled};
use crate::error::ApiError;
use crate::executions::recorder::is_missing;
use crate::state::Gateway;
use crate::workspace_path;

/// How long one call to the worker waits for the end of a build.
const LONG_POLL: Duration = Duration::from_mins(1);
/// The first pause between two attempts, when the worker or the store did not respond.
const PAUSE: Duration = Duration::from_millis(500);
/// The longest pause between two attempts: thousands of builds may wait for the same store.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// How often a build that the worker does not know is started again.
const ATTEMPTS: u32 = 3;
/// How many bytes of the end of each stream are kept with a build.
const TAIL_BYTES: usize = 256 << 10;

impl Gateway {
    /// Continues the builds that a previous gateway process did not finish.
    pub(crate) async fn take_up_builds(self: &Arc<Self>) {
        match self.store.unfinished_builds().await {
            Ok(rows) => rows.into_iter().for_each(|row| self.watch_build(row)),
            Err(error) => tracing::error!(%error, "cannot list unfinished builds"),
        }
    }

    /// Waits in the background for the build's result and writes it to the store.
    pub(crate) fn watch_build(self: &Arc<Self>, row: BuildRow) {
        let gateway = Arc::clone(self);
        self.background.until_stopped(async move {
            let mut attempts = 0;
            let mut backoff = Backoff::new(PAUSE, LONGEST_PAUSE);
            while let Err(error) = gateway.build_to_its_end(row.clone(), &mut attempts).await {
                tracing::warn!(build = %row.id, error = %error.message, "cannot get the result of a build");
                backoff.pause().await;
            }
        });
    }

    async fn build_to_its_end(
        self: &Arc<Self>,
        mut row: BuildRow,
        attempts: &mut u32,
    ) -> Result<(), ApiError> {
        loop {
            match self.ask_for_build(&row, LONG_POLL).await {
                Ok(Some(result)) => return self.end_build(&mut row, result).await,
                Ok(None) => {}
                Err(error) if is_missing(&error) => {
                    *attempts += 1;
                    if let Some(result) = self.begin_again(&row, *attempts).await? {
                        return self.end_build(&mut row, result).await;
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Starts a build again. A worker that was killed before the build ran does not know it.
    async fn begin_again(
        self: &Arc<Self>,
        row: &BuildRow,
        attempt: u32,
    ) -> Result<Option<BuildResult>, ApiError> {
        let lost = |why: &str| Ok(Some(BuildResult::ended(BuildStatus::Lost, why)));
        if !is_compiled(row) || attempt > ATTEMPTS {
            return lost("the worker does not know the build");
        }
        let Ok(spec) = serde_json::from_value(row.request.clone()) else {
            return lost("the stored build request cannot be parsed");
        };
        let spec = build_spec(row, spec);
        match self.worker.begin_build(&spec).await {
            Ok(mut begun) => {
                if let Some((session, start)) = begun.specs.take() {
                    self.take_up_build_execution(row, session, start, self.quota.admission.take(&row.owner))
                        .await?;
                }
                Ok(begun.result)
            }
            Err(ContractError::Fault(fault)) => lost(&fault.message),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits up to `at_most` for the result of a build; `None` if the build has not ended by then.
    async fn ask_for_build(
        &self,
        row: &BuildRow,
        at_most: Duration,
    ) -> Result<Option<BuildResult>, ContractError> {
        let id = row.id;
        if is_compiled(row) {
            return self.worker.build(id, at_most).await.map(|build| build.result);
        }
        let execution = self.worker.wait(id.execution(), at_most, false).await?;
        match &execution.state {
            ExecutionState::Queued | ExecutionState::Running { .. } => Ok(None),
            ExecutionState::Exited { verdict } | ExecutionState::Closed { verdict } => {
                self.result_of(row, &execution, verdict).await.map(Some)
            }
        }
    }

    /// Waits until the build has ended, or for `at_most`, and returns it as it is then.
    pub(crate) async fn wait_for_build(
        self: &Arc<Self>,
        mut row: BuildRow,
        at_most: Duration,
    ) -> Result<BuildRow, ApiError> {
        let until = Instant::now() + at_most;
        while row.result.is_none() && Instant::now() < until && !self.background.stopping.is_cancelled() {
            let left = until.saturating_duration_since(Instant::now());
            let asked = self.ask_for_build(&row, left.min(LONG_POLL));
            let asked = tokio::select! {
                asked = asked => asked,
                () = self.background.stopping.cancelled() => break,
            };
            match asked {
                Ok(Some(result)) => self.end_build(&mut row, result).await?,
                Ok(None) => {}
                Err(error) if is_missing(&error) => {
                    sleep(PAUSE).await; // `watch_build` finds out and writes the result
                    row = self.store.build(row.id).await?.unwrap_or(row);
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(row)
    }

    /// The result of a build that ran as a command in the session.
    async fn result_of(
        &self,
        row: &BuildRow,
        execution: &Execution,
        verdict: &Verdict,
    ) -> Result<BuildResult, ContractError> {
        let status = match (verdict.reason, verdict.code) {
            (Reason::Exited, Some(0)) => BuildStatus::Success,
            (Reason::TimedOut, _) => BuildStatus::TimedOut,
            (Reason::Cancelled, _) => BuildStatus::Cancelled,
            (Reason::Lost, _) => BuildStatus::Lost,
            _ => BuildStatus::Failed,
        };
        let (stdout, out_truncated) = self.tail(execution, Stream::Stdout).await?;
        let (mut stderr, err_truncated) = self.tail(execution, Stream::Stderr).await?;
        if let Some(why) = &verdict.message {
            stderr.push_str(why);
        }
        // make prints paths relative to the makefile's folder; `CMake` prints absolute paths.
        let folder =
            row.request.get("source_dir").and_then(|path| path.as_str()).filter(|_| row.kind == "make");
        let name = |file: &str| in_workspace(folder.unwrap_or_default(), file);
        let mut result = BuildResult::ended(status, stderr);
        let all = format!("{stdout}\n{}", result.stderr);
        result.truncated = out_truncated || err_truncated;
        result.take_diagnostics(diagnostics_of_text(&all, &name));
        let is_success = status == BuildStatus::Success;
        result.stdout = if is_success && stdout.is_empty() { SUCCESS.to_owned() } else { stdout };
        let paths = row.request.get("artifacts").and_then(|list| list.as_array()).filter(|_| is_success);
        result.artifacts =
            paths.into_iter().flatten().filter_map(|path| path.as_str().map(str::to_owned)).collect();
        let folder = row.request.get("programs_in").and_then(|folder| folder.as_str()).filter(|_| is_success);
        if let Some(folder) = folder {
            result.artifacts.extend(self.programs_of(row, folder).await?);
        }
        result.duration_ms = verdict.duration_ms;
        Ok(result)
    }

    /// The programs in the folder of a build; none if its session has ended or the folder is gone.
    async fn programs_of(&self, row: &BuildRow, folder: &str) -> Result<Vec<String>, ContractError> {
        match self.programs_in(row.session_id, folder, row.kind == "cmake").await {
            Err(error) if error.fault().is_some() => Ok(Vec::new()),
            found => found,
        }
    }

    /// The end of a stream as text (empty if its log was removed), and whether it is truncated.
    async fn tail(&self, execution: &Execution, stream: Stream) -> Result<(String, bool), ContractError> {
        let tail = self.output_tail(execution, vec![stream], TAIL_BYTES).await?;
        Ok(tail.map_or((String::new(), true), |tail| (tail.text, tail.truncated)))
    }
}

/// The absolute path in the session of a file that a compiler in this folder names.
fn in_workspace(folder: &str, file: &str) -> String {
    if file.starts_with('/') {
        return file.to_owned();
    }
    workspace_path::names(file).fold(workspace_path::absolute(folder), |path, name| path + "/" + name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_named_from_the_folder_that_it_was_compiled_in() {
        assert_eq!(in_workspace("", "./a.cpp"), "/workspace/a.cpp");
        assert_eq!(in_workspace("/workspace/proj", "src/a.cpp"), "/workspace/proj/src/a.cpp");
        assert_eq!(in_workspace("/proj/", "a.cpp"), "/workspace/proj/a.cpp");
        assert_eq!(in_workspace("proj", "/usr/include/x.h"), "/usr/include/x.h");
    }
}

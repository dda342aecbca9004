//! Builds: started under ids that the gateway chooses, and followed to their end even if no client waits.
//!
//! A build, its execution and the dedicated session of a compilation have the same digits in their ids. So a
//! build that is requested twice, with its idempotency key or after this process was killed, runs once.

pub(crate) mod commands;
mod programs;
mod result_poller;

use std::collections::BTreeMap;
use std::sync::Arc;

use headwater_contract::BuildSpec;
use headwater_protocol::build::{BuildResult, CompileSpec, Compiled};
use headwater_protocol::{BuildId, SessionId, SessionSpec, StartSpec};
use headwater_store::{BuildRow, SessionRow};
use serde_json::Value;

use crate::auth::access::ExecutionInfo;
use crate::auth::{Identity, Need};
use crate::bodies::OWNER;
use crate::error::ApiError;
use crate::executions::start::{ExecutionSpec, execution_row};
use crate::http::idempotency::RequestKey;
use crate::now_ms;
use crate::quota::admission::Permit;
use crate::state::Gateway;

impl Gateway {
    /// Compiles and links files of a session's workspace. If the cache has the result, this returns it at
    /// once. `call` is the metadata of the tool call that requested it.
    pub(crate) async fn compile(
        self: &Arc<Self>,
        who: &Identity,
        session: SessionId,
        spec: CompileSpec,
        call: BTreeMap<String, String>,
        request_key: RequestKey,
    ) -> Result<BuildRow, ApiError> {
        let owner = self.auth.may_use_session(who, Need::Write, session).await?;
        let (gateway, who) = (Arc::clone(self), who.clone());
        self.background
            .detached(async move {
                let spec = (spec, call);
                gateway.begin_compile(&who, owner, session, spec, request_key).await
            })
            .await
    }

    async fn begin_compile(
        self: &Arc<Self>,
        who: &Identity,
        owner: String,
        session: SessionId,
        (spec, call): (CompileSpec, BTreeMap<String, String>),
        request_key: RequestKey,
    ) -> Result<BuildRow, ApiError> {
        // Held to the end: a concurrent request with the same key finds this build.
        let claim = self.keys.claim(who, &request_key, BuildId::random().execution(), None).await?;
        let id = BuildId::from(claim.id);
        if claim.repeated
            && let Some(row) = self.store.build(id).await?
        {
            return Ok(row);
        }
        let kind = match spec.language {
            Compiled::Cpp => "cpp",
            Compiled::C => "c",
        };
        let row = BuildRow {
            id,
            session_id: session,
            owner,
            kind: kind.to_owned(),
            request: stored_request(&spec, &call),
            executed: false,
            result: None,
            created_at_ms: now_ms(),
        };
        let permit = self.quota.may_start(&row.owner, &session.to_string()).await?;
        let detail = format!("session={session} kind={kind}");
        self.audit.record(who, "build.start", id.to_string(), detail);
        self.carry_out_compile(row, spec, permit).await
    }

    /// Writes the row and starts the build in the worker, concurrently.
    async fn carry_out_compile(
        self: &Arc<Self>,
        mut row: BuildRow,
        spec: CompileSpec,
        permit: Permit,
    ) -> Result<BuildRow, ApiError> {
        let spec = build_spec(&row, spec);
        let starting = self.worker.begin_build(&spec);
        let (stored, begun) = futures_util::future::join(self.store.put_build(&row), starting).await;
        let begun = match begun {
            Ok(begun) => begun,
            Err(error) => {
                if error.fault().is_some() {
                    self.store.remove_build(row.id).await?;
                } else {
                    self.watch_build(row.clone()); // it is unknown whether it runs
                }
                return Err(error.into());
            }
        };
        stored?;
        row.executed = begun.executed;
        if let Some((session, start)) = begun.specs {
            self.take_up_build_execution(&row, session, start, permit).await?;
        }
        match begun.result {
            Some(result) => self.end_build(&mut row, result).await?,
            None => self.watch_build(row.clone()),
        }
        Ok(row)
    }

    /// Records the execution of a build, so that it can be listed, followed and cancelled like any other.
    async fn take_up_build_execution(
        self: &Arc<Self>,
        build: &BuildRow,
        spec: SessionSpec,
        start: StartSpec,
        permit: Permit,
    ) -> Result<(), ApiError> {
        let (id, session_id, owner) = (build.id.execution(), build.id.build_session(), build.owner.clone());
        let session = SessionRow {
            id: session_id,
            owner: owner.clone(),
            // The session ends with its execution.
            spec: SessionSpec { one_shot: true, ..spec },
            sandbox: self.reconciler.sandbox(),
            created_at_ms: build.created_at_ms,
            ended_at_ms: None,
        };
        let mut row = execution_row(id, session_id, owner.clone(), start, build.created_at_ms);
        self.recorder.begin(&row, true, Some(permit));
        self.store.put_session(&session).await?;
        let number = self.store.put_execution(&row).await?;
        self.auth.access.put_session(session_id, owner.clone());
        let known = ExecutionInfo {
            session_id,
            owner,
            conversation_id: row.conversation_id.clone(),
            queued_at_ms: row.queued_at_ms,
        };
        self.auth.access.put_execution(id, known);
        if let Some(number) = number {
            row.number = number;
            self.feeds.announce(&row);
            self.metrics.started();
        }
        self.recorder.watch_end(id);
        Ok(())
    }

    /// Runs a command in the session itself and records it as a build.
    pub(crate) async fn build_in_session(
        self: &Arc<Self>,
        who: &Identity,
        session: SessionId,
        kind: &str,
        request: Value,
        spec: StartSpec,
        request_key: RequestKey,
    ) -> Result<BuildRow, ApiError> {
        spec.check()?;
        let owner = self.auth.may_use_session(who, Need::Write, session).await?;
        let execution = ExecutionSpec { session: Some(session), spec, request_key };
        let started = self.starts.start(who, execution).await?;
        let row = BuildRow {
            id: started.id.into(),
            session_id: session,
            owner,
            kind: kind.to_owned(),
            request,
            executed: true,
            result: None,
            created_at_ms: now_ms(),
        };
        if !self.store.put_build(&row).await?
            && let Some(known) = self.store.build(row.id).await?
        {
            return Ok(known); // an earlier request with the same key recorded it
        }
        self.watch_build(row.clone());
        Ok(row)
    }

    /// Returns a build if `who` may use it in this way.
    pub(crate) async fn build_of(
        &self,
        who: &Identity,
        need: Need,
        id: BuildId,
    ) -> Result<BuildRow, ApiError> {
        let missing = || {
            ApiError::not_found("build", &id.to_string()).hint("`GET /v1/sessions/{id}/builds` lists them")
        };
        let row = self.store.build(id).await?.ok_or_else(missing)?;
        // The session's access rules apply to its builds; to all others, a build does not exist.
        self.auth.may_use_session(who, need, row.session_id).await.map_err(|error| {
            if error.status == axum::http::StatusCode::NOT_FOUND { missing() } else { error }
        })?;
        Ok(row)
    }

    pub(crate) async fn end_build(&self, row: &mut BuildRow, result: BuildResult) -> Result<(), ApiError> {
        let is_first = self.store.end_build(row.id, &result, row.executed).await?;
        if is_first {
            tracing::info!(
                build = %row.id,
                session = %row.session_id,
                kind = row.kind,
                status = result.status.name(),
                cached = result.cached,
                duration_ms = result.duration_ms,
                "build ended"
            );
        }
        row.result = Some(result);
        Ok(())
    }
}

/// The key of a stored request for the metadata of the tool call.
const CALL_KEY: &str = "call";

/// The request as it is stored, so that another attempt has the same call.
fn stored_request(spec: &CompileSpec, call: &BTreeMap<String, String>) -> Value {
    let mut request = serde_json::to_value(spec).unwrap_or_default();
    if let Some(fields) = request.as_object_mut().filter(|_| !call.is_empty()) {
        fields.insert(CALL_KEY.to_owned(), serde_json::json!(call));
    }
    request
}

/// The request to the worker. It is the same for every attempt.
fn build_spec(row: &BuildRow, spec: CompileSpec) -> BuildSpec {
    let call = row.request.get(CALL_KEY).cloned().unwrap_or_default();
    let mut metadata: BTreeMap<String, String> = serde_json::from_value(call).unwrap_or_default();
    metadata.insert(OWNER.to_owned(), row.owner.clone());
    metadata.insert("build".to_owned(), row.id.to_string());
    BuildSpec {
        id: row.id,
        session: row.session_id,
        execution: row.id.execution(),
        build_session: row.id.build_session(),
        owner: row.owner.clone(),
        metadata,
        spec,
    }
}

/// Whether the worker compiles a build in a dedicated session.
fn is_compiled(row: &BuildRow) -> bool {
    matches!(row.kind.as_str(), "cpp" | "c")
}

//! Sample rows.

use std::fmt::Display;

use headwater_protocol::{
    ExecutionId, Reason, SandboxKind, Seq, SessionId, SessionSpec, StartSpec, Usage, Verdict,
};

use crate::{AuditRow, ExecutionEnd, ExecutionRow, KeyRow, Role, SessionRow, Store, TokenRow};

/// A time in 2026.
pub(crate) const NOW: u64 = 1_790_000_000_123;

pub(crate) fn session() -> SessionRow {
    SessionRow {
        id: SessionId::random(),
        owner: "ada".into(),
        spec: SessionSpec::default(),
        sandbox: SandboxKind::Full,
        created_at_ms: NOW,
        ended_at_ms: None,
    }
}

pub(crate) fn execution(session_id: SessionId) -> ExecutionRow {
    ExecutionRow {
        id: ExecutionId::random(),
        session_id,
        owner: "ada".into(),
        conversation_id: None,
        tool_call_id: None,
        language: None,
        spec: StartSpec::shell("echo hello"),
        number: 0,
        queued_at_ms: NOW,
        end: None,
        log_removed: None,
    }
}

pub(crate) fn verdict(code: i32) -> Verdict {
    Verdict {
        code: Some(code),
        duration_ms: 12,
        usage: Usage { cpu_ms: 3, max_rss_bytes: 1 << 20 },
        stdout_bytes: 6,
        ..Verdict::new(Reason::Exited)
    }
}

pub(crate) fn end(code: i32) -> ExecutionEnd {
    ExecutionEnd {
        verdict: verdict(code),
        started_at_ms: NOW + 1,
        exited_at_ms: NOW + 13,
        last_seq: Seq(4),
        closed: false,
    }
}

pub(crate) fn key(object: impl Display) -> KeyRow {
    let object = object.to_string();
    KeyRow {
        owner: "ada".into(),
        key: format!("key of {object}"),
        request_hash: [0xA5; 32],
        object,
        session: None,
        created_at_ms: NOW,
    }
}

pub(crate) fn token(number: u8) -> TokenRow {
    TokenRow {
        id: format!("tok_{number:032x}"),
        name: format!("token {number}"),
        owner: "ada".into(),
        role: Role::Member,
        hash: [number; 32],
        created_at_ms: NOW,
        expires_at_ms: None,
        revoked_at_ms: None,
        sessions: None,
        scopes: None,
        last_used_at_ms: None,
    }
}

pub(crate) fn audit(number: u64) -> AuditRow {
    AuditRow {
        at_ms: NOW,
        owner: "ada".into(),
        token_id: format!("tok_{number:032x}"),
        action: "execution.start".into(),
        object: format!("exe_{number:032x}"),
        address: "127.0.0.1:50000".into(),
        detail: number.to_string(),
        result: "ok".into(),
    }
}

/// Adds a session and returns its id.
pub(crate) async fn put_session(store: &dyn Store) -> SessionId {
    let row = session();
    assert!(store.put_session(&row).await.unwrap());
    row.id
}

/// Adds an execution and returns it as stored.
pub(crate) async fn put(store: &dyn Store, mut row: ExecutionRow) -> ExecutionRow {
    row.number = store.put_execution(&row).await.unwrap().expect("the id is new");
    row
}

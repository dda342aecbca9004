//! Tests of tables and JSON objects.

use headwater_protocol::api::SessionBody;
use headwater_protocol::{
    Execution, ExecutionId, ExecutionState, Reason, Seq, Session, SessionId, SessionSpec, SessionState,
    StartSpec,
};

use super::*;

fn execution() -> Execution {
    Execution {
        id: ExecutionId::random(),
        session_id: SessionId::random(),
        spec: StartSpec::argv(["echo", "a b", "\x1b[31m"]),
        state: ExecutionState::Closed {
            verdict: Verdict {
                code: Some(3),
                duration_ms: 1_000,
                stdout_bytes: 4,
                ..Verdict::new(Reason::Exited)
            },
        },
        started_at_ms: 0,
        stdout_bytes: 4,
        stderr_bytes: 0,
        output_bytes: 0,
        last_seq: Seq(9),
        log_removed: None,
    }
}

#[test]
fn an_execution_as_json_has_the_fields_of_the_native_api() {
    let value = object(&ExecutionBody::from(execution()));
    assert_eq!(value["state"], "closed");
    assert_eq!(value["exit"], json!({"reason": "exited", "code": 3}));
    assert_eq!(value["exited_at"], "1970-01-01T00:00:01.000Z");
    assert_eq!((&value["last_seq"], &value["stdout_bytes"]), (&json!(9), &json!(4)));
    let mut running = execution();
    running.state = ExecutionState::Running { pid: 1 };
    let value = object(&ExecutionBody::from(running));
    assert_eq!((&value["exit"], &value["exited_at"]), (&Value::Null, &Value::Null));
}

#[test]
fn a_command_cannot_control_the_terminal() {
    assert_eq!(command_line(&execution().spec.command), "echo 'a b' '\\u{1b}[31m'");
    assert_eq!(command_line(&Command::Shell("a\nb\u{9b}".into())), "a\\nb\\u{9b}");
}

#[test]
fn an_ended_session_has_its_end_time() {
    let mut session = Session {
        id: SessionId::random(),
        spec: SessionSpec::default(),
        sandbox: SandboxKind::None,
        state: SessionState::Ready,
        created_at_ms: 0,
        running: 1,
    };
    let value = object(&SessionBody::from(session.clone()));
    assert_eq!(
        (&value["state"], &value["ended_at"], &value["sandbox"]),
        (&json!("ready"), &Value::Null, &json!("none"))
    );
    session.state = SessionState::Ended { ended_at_ms: 1_000 };
    assert_eq!(object(&SessionBody::from(session))["ended_at"], "1970-01-01T00:00:01.000Z");
}

#[test]
fn colours_do_not_count_in_the_width_of_a_column() {
    let mut table = Table::new(&["A", "B"]);
    table.painted_row([("xyz".into(), "\x1b[1mxyz\x1b[0m".into()), ("1".into(), "1".into())]);
    table.row(["é".into(), "2".into()]);
    assert_eq!(table.lines()[1..], ["\x1b[1mxyz\x1b[0m  1", "é    2"]);
}

#[test]
fn on_a_terminal_only_the_last_column_is_cut() {
    let mut table = Table::new(&["A", "B"]);
    table.width = Some(26);
    table.row(["xyz".into(), "1234567890123456789012345".into()]);
    table.row(["a note that is longer than the first column".into()]);
    let lines = table.lines();
    assert_eq!(lines[1], "xyz  12345678901234567890…");
    assert_eq!(lines[2], "a note that is longer than the first column");
}

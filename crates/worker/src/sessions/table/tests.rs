//! Tests of the session table: its transitions, what each state answers, and the use of files.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::sync::Weak;
use std::time::Duration;

use headwater_limits::descriptors;
use headwater_protocol::{SandboxKind, SessionState};
use rustix::net::{AddressFamily, SocketFlags, SocketType};

use super::*;
use crate::sessions::session::Parts;

fn record(id: SessionId) -> SessionRecord {
    SessionRecord {
        id,
        spec: SessionSpec::default(),
        sandbox: SandboxKind::None,
        created_at_ms: 1,
        ended_at_ms: None,
        slot: id,
        host_uid: None,
        cgroup: None,
        tools: false,
        place: None,
    }
}

fn ended(id: SessionId, at_ms: u64) -> SessionRecord {
    SessionRecord { ended_at_ms: Some(at_ms), ..record(id) }
}

/// A session whose init is nothing but the other end of its link.
fn live(id: SessionId) -> (Arc<Session>, OwnedFd) {
    let (link, other) =
        rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
            .unwrap();
    let parts = Parts {
        dir: std::env::temp_dir().join(id.to_string()),
        record: record(id),
        link,
        init: other.try_clone().unwrap(),
        cgroup: None,
        spare: false,
        disk: None,
        descriptors: descriptors::hold_anyway(0),
    };
    (Session::new(parts, Weak::new()).unwrap(), other)
}

/// A hibernated session whose idle timeout passed long ago.
fn expired(id: SessionId) -> Hibernated {
    let mut record = record(id);
    record.spec.idle_timeout_ms = Some(1);
    Hibernated::new(record, Instant::now().checked_sub(Duration::from_mins(1)).unwrap())
}

fn state(table: &SessionTable, id: SessionId) -> SessionState {
    table.info(id).unwrap().state
}

#[tokio::test]
async fn a_session_has_one_state_from_its_creation_to_its_removal() {
    let (table, id) = (SessionTable::default(), SessionId::random());
    assert_eq!(table.info(id).unwrap_err().kind, FaultKind::NotFound);
    let (session, _init) = live(id);
    table.set_live(&session);
    assert_eq!(state(&table, id), SessionState::Ready);
    assert!(Arc::ptr_eq(&table.live(id).unwrap(), &session) && !table.is_hibernated(id));

    table.set_hibernated(Hibernated::new(record(id), Instant::now()));
    assert_eq!(state(&table, id), SessionState::Hibernated);
    assert!(table.is_hibernated(id) && table.all_live().is_empty());
    assert_eq!(table.live(id).unwrap_err().kind, FaultKind::Conflict);

    table.set_live(&session);
    assert!(table.hibernated(id).is_none() && table.all_hibernated().is_empty(), "resumed");
    assert!(table.begin_removal(id, 5).is_none(), "only a hibernated session is removed this way");

    table.set_ended(ended(id, 7));
    assert_eq!(state(&table, id), SessionState::Ended { ended_at_ms: 7 });
    assert_eq!(table.live(id).unwrap_err().kind, FaultKind::Conflict);
    table.remove_ended(&[id]);
    assert_eq!(table.info(id).unwrap_err().kind, FaultKind::NotFound);
}

#[test]
fn a_hibernated_session_that_is_being_removed_is_shown_as_ended_and_is_not_yet_forgotten() {
    let (table, id) = (SessionTable::default(), SessionId::random());
    table.set_hibernated(Hibernated::new(record(id), Instant::now()));
    let removing = table.begin_removal(id, 9).unwrap();
    assert_eq!(removing.ended_at_ms, Some(9));
    assert!(table.begin_removal(id, 10).is_none(), "once");
    assert_eq!(state(&table, id), SessionState::Ended { ended_at_ms: 9 });
    assert!(!table.is_hibernated(id) && table.ended_by(u64::MAX).is_empty());
    table.remove_ended(&[id]);
    assert!(table.info(id).is_ok(), "its workspace still has to be removed");
    table.set_ended(removing);
    assert_eq!(table.ended_by(8), []);
    assert_eq!(table.ended_by(9), [id]);
}

#[test]
fn the_idle_timeout_ends_a_hibernated_session_unless_its_files_are_in_use_or_were_used_just_now() {
    let (table, id) = (SessionTable::default(), SessionId::random());
    table.set_hibernated(Hibernated::new(record(id), Instant::now()));
    assert!(table.expired().is_empty(), "no idle timeout");
    table.set_hibernated(expired(id));
    assert_eq!(table.expired(), [id]);

    let (_, first) = table.use_workspace(id).unwrap();
    let (_, second) = table.use_workspace(id).unwrap();
    table.set_hibernated(expired(id)); // the state changes, the use stays
    drop(first);
    assert!(table.is_in_use(id) && table.expired().is_empty());
    assert!(table.begin_removal_if_expired(id, 1).is_none());
    drop(second);
    assert!(!table.is_in_use(id));
    assert_eq!(table.expired(), [id]);

    let mut patient = expired(id);
    patient.record.spec.idle_timeout_ms = Some(30_000);
    table.set_hibernated(patient);
    assert_eq!(table.expired(), [id]);
    table.touch(id);
    assert!(table.expired().is_empty(), "used just now");
    table.set_hibernated(expired(id));
    assert!(table.begin_removal_if_expired(id, 1).is_some());
}

#[test]
fn files_of_an_ended_or_unknown_session_are_not_opened() {
    let (table, id) = (SessionTable::default(), SessionId::random());
    assert_eq!(table.use_workspace(id).unwrap_err().kind, FaultKind::NotFound);
    table.set_ended(ended(id, 1));
    assert_eq!(table.use_workspace(id).unwrap_err().kind, FaultKind::Conflict);
    assert!(!table.is_in_use(id));
}

#[test]
fn a_use_from_before_a_removal_does_not_count_for_a_new_session_with_the_same_id() {
    let (table, id) = (SessionTable::default(), SessionId::random());
    table.set_hibernated(Hibernated::new(record(id), Instant::now()));
    let (_, old) = table.use_workspace(id).unwrap();
    table.set_ended(ended(id, 1));
    table.remove_ended(&[id]);
    table.set_hibernated(expired(id));
    assert!(!table.is_in_use(id));
    let (_, new) = table.use_workspace(id).unwrap();
    drop(old);
    assert!(table.is_in_use(id));
    drop(new);
}

#[test]
fn a_measurement_is_kept_unless_the_files_were_used_since() {
    let (table, id) = (SessionTable::default(), SessionId::random());
    table.set_hibernated(Hibernated::new(record(id), Instant::now()));
    let before = table.hibernated(id).unwrap();
    table.note_disk_use(&before, (10, 4));
    assert_eq!(table.hibernated(id).unwrap().disk_bytes, Some((10, 4)));
    std::thread::sleep(Duration::from_millis(1)); // the clock has moved on
    drop(table.use_workspace(id).unwrap());
    assert_eq!(table.hibernated(id).unwrap().disk_bytes, None, "outdated");
    table.note_disk_use(&before, (10, 4));
    assert_eq!(table.hibernated(id).unwrap().disk_bytes, None, "measured before the last use");
}

#[tokio::test]
async fn a_change_of_a_hibernated_session_is_not_applied_to_one_that_was_resumed() {
    let (table, id) = (SessionTable::default(), SessionId::random());
    table.set_hibernated(Hibernated::new(record(id), Instant::now()));
    let mut changed = record(id);
    changed.spec.name = Some("new".into());
    table.update_hibernated(changed.clone());
    assert_eq!(table.with_spec(id, |spec| spec.name.clone()).unwrap().as_deref(), Some("new"));
    let (session, _init) = live(id);
    table.set_live(&session);
    table.update_hibernated(changed);
    assert_eq!(state(&table, id), SessionState::Ready);
    assert_eq!(table.with_spec(id, |spec| spec.name.clone()).unwrap(), None);
}

#[test]
fn a_list_is_in_the_order_of_creation_and_shows_ended_sessions_on_request() {
    let table = SessionTable::default();
    let [first, second] = [SessionId::random(), SessionId::random()];
    let mut newer = record(second);
    newer.created_at_ms = 2;
    newer.spec.metadata = BTreeMap::from([("key".into(), "value".into())]);
    table.set_hibernated(Hibernated::new(newer, Instant::now()));
    table.set_ended(ended(first, 3));
    let ids = |all: Vec<SessionInfo>| all.into_iter().map(|info| info.id).collect::<Vec<_>>();
    assert_eq!(ids(table.list(true, false)), [first, second]);
    assert_eq!(ids(table.list(false, false)), [second]);
    assert_eq!(table.list(false, false)[0].spec.metadata.len(), 1);
    assert!(table.list(false, true)[0].spec.metadata.is_empty(), "brief");
}

#[tokio::test]
async fn the_lock_of_an_id_is_held_by_one_caller_at_a_time() {
    use futures_util::FutureExt;
    let (table, id) = (SessionTable::default(), SessionId::random());
    let held = table.lock(id).await;
    assert!(table.lock(id).now_or_never().is_none());
    assert!(table.lock_workspace(id).now_or_never().is_some(), "another lock");
    assert!(table.lock(SessionId::random()).now_or_never().is_some());
    drop(held);
    assert!(table.lock(id).now_or_never().is_some());
}

//! Tests of the file: permissions, older and newer versions, damage.

use std::fs;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;

use futures_util::future::join_all;
use headwater_protocol::{Command, ExitDetail, LimitKind, StartSpec, Verdict};

use super::TestStore;
use super::samples::{audit, end, execution, key, put, put_session, session, token, verdict};
use crate::sqlite::{migrate_to, raw};
use crate::{
    AuditRow, Claim, ExecutionEnd, ExecutionFilter, ExecutionKind, PageRequest, SessionFilter, SqliteStore,
    Store, StoreError,
};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn only_its_user_can_read_the_store_and_the_files_beside_it() {
    let place = TestStore::new();
    let store = place.open().await;
    put_session(&store).await;
    for name in ["store.db", "store.db-wal", "store.db-shm"] {
        assert_eq!(mode(&place.folder.path().join(name)), 0o600, "{name}");
    }
    store.close().await.unwrap();
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o644)).unwrap();
    let store = place.open().await;
    put_session(&store).await;
    assert_eq!(mode(&place.path()), 0o600, "a file that was opened to others is closed again");
}

#[tokio::test]
async fn written_rows_are_found_after_opening_again() {
    let place = TestStore::new();
    let store = place.open().await;
    let row = put(&store, execution(put_session(&store).await)).await;
    store.close().await.unwrap();
    let store = place.open().await;
    assert_eq!(store.execution(row.id).await.unwrap(), Some(row.clone()));
    let next = put(&store, execution(row.session_id)).await;
    assert!(next.number > row.number);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_can_open_a_new_store_at_once() {
    for _ in 0..5 {
        let place = TestStore::new();
        let stores = join_all((0..8).map(|_| place.open())).await;
        for store in stores {
            put_session(&store).await;
        }
        let any = SessionFilter::default();
        assert_eq!(place.open().await.sessions(&any, PageRequest::first(9)).await.unwrap().items.len(), 8);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_can_write_at_once_alone_and_in_groups() {
    let place = TestStore::new();
    let stores = [place.open().await, place.open().await];
    let work = stores.iter().map(async |store| {
        for _ in 0..50 {
            put_session(store).await;
            join_all((0..3).map(|_| put_session(store))).await;
        }
    });
    join_all(work).await;
    let any = SessionFilter::default();
    let all = stores[0].sessions(&any, PageRequest::first(1000)).await.unwrap().items;
    assert_eq!(all.len(), 2 * 50 * 4);
}

#[tokio::test]
async fn a_file_of_an_older_version_is_brought_up_to_date() {
    let place = TestStore::new();
    migrate_to(&place.path(), 1).await;
    let old = session();
    let values = format!(
        "INSERT INTO sessions (id, owner, spec, sandbox, created_at_ms) VALUES ('{}', 'ada', '{{}}', 'full', {})",
        old.id, old.created_at_ms
    );
    raw(&place.path(), &values).await.unwrap();
    raw(&place.path(), "DELETE FROM keys").await.unwrap_err(); // the table does not exist yet
    let store = place.open().await;
    assert_eq!(store.session(old.id).await.unwrap(), Some(old.clone()));
    put(&store, execution(old.id)).await;
    assert_eq!(store.claim_key(&key(old.id)).await.unwrap(), Claim::New);
    assert!(store.put_token(&token(1)).await.unwrap());
    store.append_audit(&audit(1)).await.unwrap();
    store.close().await.unwrap();
    place.open().await.session(old.id).await.unwrap().expect("the second time there is nothing to migrate");
}

#[tokio::test]
async fn sessions_of_an_older_version_that_share_a_name_are_kept_and_the_newest_is_found_by_it() {
    let place = TestStore::new();
    migrate_to(&place.path(), 30).await;
    let rows = [session(), session(), session()];
    for (row, ended) in rows.iter().zip(["NULL", "NULL", "7"]) {
        let values = format!(
            "INSERT INTO sessions (id, owner, name, spec, sandbox, created_at_ms, ended_at_ms) \
             VALUES ('{}', 'ada', 'dev', '{{\"name\":\"dev\"}}', 'full', 1, {ended})",
            row.id
        );
        raw(&place.path(), &values).await.unwrap();
    }
    let store = place.open().await;
    for row in &rows {
        let kept = store.session(row.id).await.unwrap().expect("it is kept");
        assert_eq!(kept.spec.name.as_deref(), Some("dev"), "with its name");
    }
    assert_eq!(store.session_by_name("ada", "dev").await.unwrap().map(|row| row.id), Some(rows[1].id));
    assert!(matches!(
        store
            .create_session(&crate::SessionRow {
                spec: headwater_protocol::SessionSpec { name: Some("dev".into()), ..Default::default() },
                ..session()
            })
            .await,
        Err(StoreError::NameTaken)
    ));
}

#[tokio::test]
async fn executions_of_an_older_version_are_searched_by_text_kind_and_outcome() {
    let place = TestStore::new();
    migrate_to(&place.path(), 61).await;
    let parent = session();
    let values = format!(
        "INSERT INTO sessions (id, owner, spec, sandbox, created_at_ms) VALUES ('{}', 'ada', '{{}}', 'full', 1)",
        parent.id
    );
    raw(&place.path(), &values).await.unwrap();
    let code = Command::Code {
        language: "python".into(),
        code: "import os\n\n\tPrint('x')".into(),
        file: Some("Main.py".into()),
        args: vec!["one".into(), "two".into()],
    };
    let tty = Some(headwater_protocol::TtySize::default());
    let specs = [
        StartSpec::shell("Make  Test"),
        StartSpec::argv(["echo", "a b"]),
        StartSpec { command: code, ..StartSpec::shell("") },
        StartSpec { tty, ..StartSpec::shell("top") },
    ];
    for spec in &specs {
        let values = format!(
            "INSERT INTO executions (id, session_id, owner, spec, queued_at_ms, verdict, closed) \
             VALUES ('{}', '{}', 'ada', '{}', 1, '{}', 1)",
            headwater_protocol::ExecutionId::random(),
            parent.id,
            serde_json::to_string(spec).unwrap().replace('\'', "''"),
            serde_json::to_string(&verdict(0)).unwrap(),
        );
        raw(&place.path(), &values).await.unwrap();
    }
    raw(&place.path(), "UPDATE executions SET started_at_ms = 1, exited_at_ms = 2, last_seq = 1")
        .await
        .unwrap();
    let store = place.open().await;
    let found = async |filter: ExecutionFilter| {
        let page = store.executions(&filter, PageRequest::first(9)).await.unwrap();
        page.items.into_iter().map(|row| row.spec).collect::<Vec<_>>()
    };
    let any = ExecutionFilter::default();
    let texts = ["make test", "ECHO a b", "os print('x') main.py one two", "top"];
    let kinds = [ExecutionKind::Shell, ExecutionKind::Program, ExecutionKind::Code, ExecutionKind::Terminal];
    for ((spec, text), kind) in specs.iter().zip(texts).zip(kinds) {
        let by_text = ExecutionFilter { text: Some(text.into()), ..any.clone() };
        assert_eq!(found(by_text).await, std::slice::from_ref(spec), "{text}");
        assert_eq!(
            found(ExecutionFilter { kind: Some(kind), ..any.clone() }).await,
            std::slice::from_ref(spec)
        );
    }
    assert_eq!(found(ExecutionFilter { succeeded: Some(true), ..any.clone() }).await.len(), 4);
    assert_eq!(found(ExecutionFilter { succeeded: Some(false), ..any }).await.len(), 0);
}

#[tokio::test]
async fn a_file_of_a_newer_version_is_refused() {
    let place = TestStore::new();
    place.open().await.close().await.unwrap();
    let newer = "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
                 VALUES (4711, 'from the future', TRUE, x'00', 0)";
    raw(&place.path(), newer).await.unwrap();
    let error = SqliteStore::open(&place.path()).await.unwrap_err();
    assert!(matches!(error, StoreError::Newer { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("4711") && text.contains("newer version") && text.contains("store.db"), "{text}");
}

/// Checks that opening fails, with the file's name and advice.
async fn assert_refused_as_damaged(place: &TestStore) {
    let error = SqliteStore::open(&place.path()).await.unwrap_err();
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
    let text = error.to_string();
    for word in ["store.db", "damaged", "backup", "move it aside", "-wal"] {
        assert!(text.contains(word), "{text}");
    }
}

#[tokio::test]
async fn a_file_that_is_not_a_store_is_refused_and_left_unchanged() {
    let place = TestStore::new();
    let text = "this is no database\n".repeat(1000);
    fs::write(place.path(), &text).unwrap();
    assert_refused_as_damaged(&place).await;
    assert_eq!(fs::read_to_string(place.path()).unwrap(), text);
}

/// A closed store with many pages.
async fn filled() -> TestStore {
    let place = TestStore::new();
    let store = place.open().await;
    let parent = put_session(&store).await;
    for _ in 0..200 {
        put(&store, execution(parent)).await;
    }
    store.close().await.unwrap();
    place
}

#[tokio::test]
async fn a_file_that_was_cut_is_refused() {
    let place = filled().await;
    let file = fs::OpenOptions::new().write(true).open(place.path()).unwrap();
    file.set_len(file.metadata().unwrap().len() / 2).unwrap();
    assert_refused_as_damaged(&place).await;
}

#[tokio::test]
async fn an_overwritten_page_is_reported_when_it_is_read() {
    let place = filled().await;
    let file = fs::OpenOptions::new().write(true).open(place.path()).unwrap();
    let pages = file.metadata().unwrap().len() / 4096;
    for page in 1..pages {
        file.write_all_at(&[0xEE; 4096], page * 4096).unwrap();
    }
    match SqliteStore::open(&place.path()).await {
        Err(error) => assert!(matches!(error, StoreError::Corrupt { .. }), "{error}"),
        Ok(store) => {
            let any = SessionFilter::default();
            let error = store.sessions(&any, PageRequest::first(9)).await.unwrap_err();
            assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
            let error = store.put_session(&session()).await.unwrap_err();
            assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
        }
    }
}

#[tokio::test]
async fn an_invalid_row_is_reported_with_its_column() {
    let place = TestStore::new();
    let store = place.open().await;
    let id = put_session(&store).await;
    raw(&place.path(), "UPDATE sessions SET spec = '{'").await.unwrap();
    let error = store.session(id).await.unwrap_err();
    assert!(matches!(error, StoreError::Corrupt { .. }) && error.to_string().contains("`spec`"), "{error}");
}

#[tokio::test]
async fn an_end_keeps_its_detail_and_one_of_an_earlier_version_has_none() {
    let place = TestStore::new();
    let store = place.open().await;
    let id = put(&store, execution(put_session(&store).await)).await.id;
    let detail = ExitDetail::Limit { which: LimitKind::DiskBytes, limit: 7 };
    let verdict = Verdict { detail: Some(detail.clone()), ..verdict(0) };
    assert!(store.end_execution(id, &ExecutionEnd { verdict, ..end(0) }).await.unwrap());
    let stored = async || store.execution(id).await.unwrap().unwrap().end.unwrap().verdict.detail;
    assert_eq!(stored().await, Some(detail));
    let later = "UPDATE executions SET verdict = json_set(verdict, '$.detail.kind', 'unheard_of')";
    raw(&place.path(), later).await.unwrap();
    assert_eq!(stored().await, Some(ExitDetail::Other));
    raw(&place.path(), "UPDATE executions SET verdict = json_remove(verdict, '$.detail')").await.unwrap();
    assert_eq!(stored().await, None);
}

#[tokio::test]
async fn a_folder_that_is_missing_is_named() {
    let place = TestStore::new();
    let path = place.folder.path().join("missing").join("store.db");
    let error = SqliteStore::open(&path).await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable { .. }), "{error}");
    assert!(
        error.to_string().contains("missing/store.db") && error.to_string().contains("folder"),
        "{error}"
    );
}

#[tokio::test]
async fn audit_rows_can_be_neither_changed_nor_removed() {
    let place = TestStore::new();
    let store = place.open().await;
    store.append_audit(&audit(1)).await.unwrap();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
    let recent = AuditRow { at_ms: u64::try_from(now).unwrap(), ..audit(2) };
    store.append_audit(&recent).await.unwrap();
    let refused = async |text: &str| {
        let error = raw(&place.path(), text).await.unwrap_err();
        assert!(error.to_string().contains("append-only"), "{text}: {error}");
    };
    refused("UPDATE audit SET owner = 'nobody'").await;
    refused("DELETE FROM audit").await;
    refused("INSERT OR REPLACE INTO audit SELECT * FROM audit").await;
    // Opening the guard of the sweep by hand removes no row of the last seven days.
    raw(&place.path(), "UPDATE audit_retention SET before_ms = 9999999999999").await.unwrap();
    refused("DELETE FROM audit").await;
    refused(&format!("DELETE FROM audit WHERE at_ms = {now}")).await;
    raw(&place.path(), "DELETE FROM audit_retention").await.unwrap();
    refused("DELETE FROM audit").await;
    store.close().await.unwrap();
}

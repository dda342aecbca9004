//! Tests of the search for executions.

use headwater_protocol::{LogRemoved, Reason, SessionSpec, StartSpec, TtySize, Verdict};

use super::executions::{ANY, list};
use crate::tests::samples::{end, execution, put, put_session, session};
use crate::{
    ExecutionEnd, ExecutionFilter, ExecutionKind, ExecutionRow, PageRequest, RemovedLogRow, SessionRow, Store,
};

fn with_text(text: &str) -> ExecutionFilter {
    ExecutionFilter { text: Some(text.into()), ..ANY }
}

async fn numbers(store: &dyn Store, filter: &ExecutionFilter) -> Vec<i64> {
    list(store, filter).await.iter().map(|row| row.number).collect()
}

async fn run(store: &dyn Store, spec: StartSpec) -> ExecutionRow {
    let session = put_session(store).await;
    put(store, ExecutionRow { spec, ..execution(session) }).await
}

pub(crate) async fn text_is_found_in_commands_names_and_ids_whatever_its_case(store: &dyn Store) {
    let named = SessionSpec { name: Some("Night shift".into()), ..SessionSpec::default() };
    let named = SessionRow { spec: named, ..session() };
    store.put_session(&named).await.unwrap();
    let shell =
        put(store, ExecutionRow { spec: StartSpec::shell("Make  ÄPFEL\n50%"), ..execution(named.id) }).await;
    let argv = run(store, StartSpec::argv(["grep", "a_b", "x y"])).await;
    let code = run(store, StartSpec::code("python", "import os\n\nprint('It''s')")).await;
    let expected = [
        ("make äpfel", Some(&shell)),
        ("äPFEL 50%", Some(&shell)),
        ("night SHIFT", Some(&shell)),
        ("grep a_b x y", Some(&argv)),
        ("a_b", Some(&argv)),
        ("OS  PRINT(", Some(&code)),
        ("'it''s'", Some(&code)),
        ("a%b", None),
        ("axb", None),
        ("make apfel", None),
        ("' OR '1' = '1", None),
    ];
    for (text, row) in expected {
        let found = numbers(store, &with_text(text)).await;
        assert_eq!(found, row.iter().map(|row| row.number).collect::<Vec<_>>(), "{text}");
    }
    for (text, row) in [(argv.id.to_string(), &argv), (code.session_id.to_string(), &code)] {
        assert_eq!(numbers(store, &with_text(&text)).await, [row.number]);
        assert_eq!(numbers(store, &with_text(&text[..14].to_uppercase())).await, [row.number]);
        assert!(numbers(store, &with_text(&text[6..])).await.is_empty(), "only from its beginning");
    }
    assert_eq!(numbers(store, &with_text("  ")).await.len(), 3);
}

pub(crate) async fn nothing_of_others_is_found(store: &dyn Store) {
    let mine = run(store, StartSpec::shell("echo same")).await;
    let theirs = ExecutionRow { owner: "eve".into(), ..execution(put_session(store).await) };
    let theirs = put(store, ExecutionRow { spec: StartSpec::shell("echo same"), ..theirs }).await;
    let of_owner = ExecutionFilter { owner: Some("ada".into()), ..with_text("same") };
    assert_eq!(numbers(store, &of_owner).await, [mine.number]);
    let id = ExecutionFilter { owner: Some("ada".into()), ..with_text(&theirs.id.to_string()) };
    assert!(numbers(store, &id).await.is_empty());
    let among = ExecutionFilter { among: Some(vec![theirs.session_id]), ..with_text("same") };
    assert_eq!(numbers(store, &among).await, [theirs.number]);
}

pub(crate) async fn kinds_are_told_apart(store: &dyn Store) {
    let tty = Some(TtySize::default());
    let specs = [
        (ExecutionKind::Shell, StartSpec::shell("x")),
        (ExecutionKind::Program, StartSpec::argv(["x"])),
        (ExecutionKind::Code, StartSpec { tty, ..StartSpec::code("python", "x") }),
        (ExecutionKind::Terminal, StartSpec { tty, ..StartSpec::argv(["x"]) }),
    ];
    for (kind, spec) in specs {
        let row = run(store, spec).await;
        assert_eq!(numbers(store, &ExecutionFilter { kind: Some(kind), ..ANY }).await, [row.number]);
    }
}

pub(crate) async fn those_that_exited_with_0_succeeded_and_all_others_that_ended_failed(store: &dyn Store) {
    let session = put_session(store).await;
    let ended = async |verdict: Verdict| {
        let row = put(store, execution(session)).await;
        store.end_execution(row.id, &ExecutionEnd { verdict, ..end(0) }).await.unwrap();
        row.number
    };
    put(store, execution(session)).await; // it runs
    let good = ended(Verdict { code: Some(0), ..Verdict::new(Reason::Exited) }).await;
    let bad = [
        ended(Verdict { code: Some(1), ..Verdict::new(Reason::Exited) }).await,
        ended(Verdict { signal: Some(9), ..Verdict::new(Reason::Signalled) }).await,
        ended(Verdict { code: Some(0), ..Verdict::new(Reason::TimedOut) }).await,
        ended(Verdict::new(Reason::Lost)).await,
    ];
    let of = |succeeded: bool| ExecutionFilter { succeeded: Some(succeeded), ..ANY };
    assert_eq!(numbers(store, &of(true)).await, [good]);
    assert_eq!(numbers(store, &of(false)).await, bad.into_iter().rev().collect::<Vec<_>>());
    let both = ExecutionFilter { owner: Some("ada".into()), session_id: Some(session), ..of(true) };
    assert_eq!(numbers(store, &both).await, [good]);
}

pub(crate) async fn pages_of_a_search_hold_each_once_and_look_at_a_bounded_number_of_rows(store: &dyn Store) {
    let session = put_session(store).await;
    let mut rare = Vec::new();
    for index in 0..180 {
        let is_rare = matches!(index, 0 | 1 | 30 | 31 | 32 | 179);
        let line = if is_rare { "find me" } else { "echo other" };
        let row = put(store, ExecutionRow { spec: StartSpec::shell(line), ..execution(session) }).await;
        if is_rare {
            rare.insert(0, row.number);
        }
    }
    for limit in [1, 2, 3, 100] {
        let (mut seen, mut pages, mut cursor) = (Vec::new(), 0, None);
        loop {
            let page = store.executions(&with_text("FIND"), PageRequest { limit, cursor }).await.unwrap();
            seen.extend(page.items.iter().map(|row| row.number));
            pages += 1;
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
            put(store, execution(session)).await; // those that come meanwhile do not disturb
        }
        assert_eq!(seen, rare, "{limit}");
        assert!(pages >= 4, "180 rows, 50 for each page at most: {pages}");
    }
    let all = ExecutionFilter { session_id: Some(session), ..ANY };
    let page = store.executions(&all, PageRequest::first(150)).await.unwrap();
    assert_eq!(page.items.len(), 150, "only a search is bounded");
}

pub(crate) async fn what_was_removed_is_no_longer_found(store: &dyn Store) {
    let (kept, gone) =
        (run(store, StartSpec::shell("echo one")).await, run(store, StartSpec::shell("echo two")).await);
    assert!(store.remove_execution(gone.id).await.unwrap());
    assert_eq!(numbers(store, &with_text("echo")).await, [kept.number]);
    let removed = LogRemoved { at_ms: 7, reason: "age".into() };
    let row = RemovedLogRow { id: kept.id, removed, spec: StartSpec::shell("begin") };
    store.note_removed_logs(std::slice::from_ref(&row)).await.unwrap();
    assert_eq!(numbers(store, &with_text("one")).await, [kept.number], "it runs, so its log was not removed");
    store.end_execution(kept.id, &end(0)).await.unwrap();
    store.note_removed_logs(&[row]).await.unwrap();
    assert!(numbers(store, &with_text("one")).await.is_empty());
    assert_eq!(numbers(store, &with_text("begin")).await, [kept.number]);
    let again = run(store, StartSpec::shell("echo three")).await;
    assert_eq!(numbers(store, &with_text("echo")).await, [again.number]);
}

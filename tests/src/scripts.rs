//! Tests of what runs the tests.

use std::process::{Command, Output};

fn side_by_side(checks: &[&str]) -> Output {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts/side-by-side.py");
    Command::new(script).args(checks).output().unwrap()
}

#[test]
fn checks_side_by_side_keep_their_output_apart_and_a_failure_fails_all() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file").display().to_string();
    // The first waits for the second: they run at once. Both print meanwhile.
    let wait = format!("first: echo 1; until [ -e {file} ]; do sleep 0.02; done; echo 2");
    let fail = format!("second: echo 3; echo 4 >&2; touch {file}; exit 7");
    let ended = side_by_side(&[&wait, &fail, "third: echo 5"]);
    let (out, err) = (String::from_utf8(ended.stdout).unwrap(), String::from_utf8(ended.stderr).unwrap());
    let lines: Vec<_> = out.lines().map(|line| line.split(" in ").next().unwrap_or_default()).collect();
    let expected = [
        "== first ==",
        "1",
        "2",
        "== first: passed",
        "== second ==",
        "3",
        "4",
        "== second: FAILED",
        "== third ==",
        "5",
        "== third: passed",
    ];
    assert_eq!(lines, expected);
    assert_eq!(ended.status.code(), Some(1));
    assert!(err.starts_with("failed with exit code 7: second ("), "{err}");
}

#[test]
fn checks_side_by_side_that_all_pass_pass() {
    let ended = side_by_side(&["one: true", "two: true"]);
    assert!(ended.status.success());
    assert!(ended.stderr.is_empty());
    assert!(!side_by_side(&["no title"]).status.success());
}

//! Looking through a folder that somebody has filled.

use std::fs;
use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;

struct Ground(TempDir);

impl Ground {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Self(folder)
    }

    fn run(&self, request: &v1::SearchRequest) -> (Vec<v1::SearchMatch>, v1::SearchSummary) {
        let workspace = Workspace::open(self.0.path(), None).unwrap();
        let top = WorkspacePath::parse_any(&request.path, "/").unwrap();
        let mut all = Vec::new();
        let search = Search::new(request, top).unwrap();
        let summary = search
            .run(
                &workspace,
                |found| {
                    all.push(found);
                    true
                },
                || true,
            )
            .unwrap();
        (all, summary)
    }

    fn paths(&self, request: &v1::SearchRequest) -> Vec<String> {
        self.run(request).0.iter().map(|found| String::from_utf8_lossy(&found.path).into_owned()).collect()
    }
}

fn ask() -> v1::SearchRequest {
    v1::SearchRequest { limit: 100, timeout_ms: 60_000, gitignore: true, ..v1::SearchRequest::default() }
}

fn by_name(glob: &str) -> v1::SearchRequest {
    v1::SearchRequest { name: Some(glob.to_owned()), ..ask() }
}

fn by_content(regex: &str) -> v1::SearchRequest {
    v1::SearchRequest { content: Some(regex.to_owned()), ..ask() }
}

#[test]
fn names_are_found_by_globs_and_paths_by_globs_with_a_slash() {
    let ground = Ground::new(&[
        ("a.py", ""),
        ("src/b.py", ""),
        ("src/deep/c.py", ""),
        ("src/c.PY", ""),
        (".h/x.py", ""),
    ]);
    assert_eq!(ground.paths(&by_name("*.py")), ["a.py", "src/b.py", "src/deep/c.py"]);
    assert_eq!(ground.paths(&by_name("src/*.py")), ["src/b.py"]);
    assert_eq!(ground.paths(&by_name("**/deep/*")), ["src/deep/c.py"]);
    assert_eq!(ground.paths(&by_name("deep")), ["src/deep"]);
    assert_eq!(
        ground.paths(&v1::SearchRequest { ignore_case: true, ..by_name("c.py") }),
        ["src/c.PY", "src/deep/c.py"]
    );
    assert_eq!(ground.paths(&v1::SearchRequest { hidden: true, ..by_name("x.*") }), [".h/x.py"]);
    assert_eq!(
        ground.paths(&v1::SearchRequest { path: "src".into(), ..by_name("deep/*") }),
        ["src/deep/c.py"]
    );
}

#[test]
fn lines_are_found_with_their_place() {
    let long = format!("{}needle{}", "x".repeat(1000), "y".repeat(1000));
    let ground = Ground::new(&[("a", "one\nthe needle\r\nthree\n"), ("b", &long), ("c.bin", "needle\0")]);
    let (found, summary) = ground.run(&by_content("need[l]e"));
    assert_eq!((found.len(), summary.matches, summary.skipped), (2, 2, 1));
    assert_eq!((found[0].line, found[0].column, &found[0].text[..]), (2, 5, &b"the needle"[..]));
    assert_eq!((found[1].line, found[1].column, found[1].text_offset), (1, 1001, 920));
    assert_eq!(found[1].text.len(), 400);
    assert!(found[1].text[80..].starts_with(b"needle"));
    assert_eq!(ground.paths(&v1::SearchRequest { name: Some("a*".into()), ..by_content("the") }), ["a"]);
}

#[test]
fn git_ignored_files_are_skipped_unless_requested() {
    let ground = Ground::new(&[
        (".gitignore", "*.log\n/build/\n!keep.log\n"),
        ("a.log", "x"),
        ("keep.log", "x"),
        ("build/o", "x"),
        ("sub/build/o", "x"),
        ("sub/.gitignore", "!a.log\nsecret\n"),
        ("sub/a.log", "x"),
        ("sub/secret/f", "x"),
        ("secret", "x"),
    ]);
    assert_eq!(ground.paths(&by_content("x")), ["keep.log", "secret", "sub/a.log", "sub/build/o"]);
    let all = ground.paths(&v1::SearchRequest { gitignore: false, ..by_content("x") });
    assert_eq!(all.len(), 7, "{all:?}");
    let below = v1::SearchRequest { path: "sub".into(), ..by_content("x") };
    assert_eq!(ground.paths(&below), ["sub/a.log", "sub/build/o"], "files above count, too");
}

#[test]
fn links_are_not_followed() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret"), "needle").unwrap();
    let ground = Ground::new(&[("f", "needle")]);
    symlink(outside.path(), ground.0.path().join("folder")).unwrap();
    symlink(outside.path().join("secret"), ground.0.path().join("file")).unwrap();
    assert_eq!(ground.paths(&by_content("needle")), ["f"]);
    assert_eq!(ground.paths(&by_name("secret")), Vec::<String>::new());
    let top = WorkspacePath::parse_any(b"folder", "/").unwrap();
    let workspace = Workspace::open(ground.0.path(), None).unwrap();
    assert!(Search::new(&by_name("*"), top).unwrap().run(&workspace, |_| true, || true).is_err());
}

#[test]
fn a_search_is_bounded_by_count_and_ends_when_nobody_listens() {
    let ground = Ground::new(&[("f", &"needle\n".repeat(1000))]);
    let (found, summary) = ground.run(&v1::SearchRequest { limit: 10, ..by_content("needle") });
    assert_eq!((found.len(), summary.stopped.as_str()), (10, "limit"));
    let workspace = Workspace::open(ground.0.path(), None).unwrap();
    let search = Search::new(&by_content("needle"), WorkspacePath::root()).unwrap();
    let mut sent = 0;
    let summary = search
        .run(
            &workspace,
            |_| {
                sent += 1;
                false
            },
            || true,
        )
        .unwrap();
    assert_eq!((sent, summary.stopped.as_str()), (1, "gone"));
    let late = v1::SearchRequest { timeout_ms: 0, ..by_content("needle") };
    assert_eq!(ground.run(&late).1.stopped, "time");
}

#[test]
fn invalid_and_too_large_patterns_are_refused() {
    let refused = |request: &v1::SearchRequest| Search::new(request, WorkspacePath::root()).unwrap_err().kind;
    for request in [
        ask(),
        by_name("[a"),
        by_content("(a"),
        by_content("a\\nb"),
        by_content(&"a".repeat(1001)),
        by_content("(((\\w{1000}){1000}){1000})"),
    ] {
        assert_eq!(refused(&request), FaultKind::Invalid, "{request:?}");
    }
}

fn set_age(ground: &Ground, path: &str, seconds: u64) {
    let file = File::options().write(true).open(ground.0.path().join(path)).unwrap();
    file.set_modified(std::time::SystemTime::now() - Duration::from_secs(seconds)).unwrap();
}

#[test]
fn the_newest_files_come_first_and_equal_ones_in_the_order_of_their_paths() {
    let ground =
        Ground::new(&[("a.py", "x"), ("b/c.py", "x\nx"), ("d.py", "x"), ("e.py", "y"), ("f.py", "x")]);
    set_age(&ground, "a.py", 300);
    set_age(&ground, "b/c.py", 100);
    set_age(&ground, "d.py", 200);
    let old = std::time::UNIX_EPOCH + Duration::from_secs(1000);
    for path in ["e.py", "f.py"] {
        File::options().write(true).open(ground.0.path().join(path)).unwrap().set_modified(old).unwrap();
    }
    let newest = v1::SearchRequest { newest_first: true, ..by_content("x|y") };
    assert_eq!(ground.paths(&newest), ["b/c.py", "b/c.py", "d.py", "a.py", "e.py", "f.py"]);
    let first = v1::SearchRequest { first_match_only: true, ..newest };
    assert_eq!(ground.paths(&first), ["b/c.py", "d.py", "a.py", "e.py", "f.py"]);
    let two = v1::SearchRequest { limit: 2, ..first };
    let (found, summary) = ground.run(&two);
    assert_eq!((found.len(), summary.matches, summary.stopped.as_str()), (2, 2, "limit"));
    let all = v1::SearchRequest { limit: 5, ..two };
    assert_eq!(ground.run(&all).1.stopped, "", "there is nothing more than the limit");
}

#[test]
fn a_single_file_can_be_searched() {
    let ground = Ground::new(&[("a/b.py", "one\ntwo"), ("a/c.py", "two")]);
    for newest_first in [false, true] {
        let one = v1::SearchRequest { path: "a/b.py".into(), newest_first, ..by_content("two") };
        let (found, summary) = ground.run(&one);
        assert_eq!((found.len(), found[0].line, summary.files), (1, 2, 1));
    }
}

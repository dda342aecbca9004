//! Properties of generated patches.

use std::fmt::Write as _;

use headwater_tools::patch::Patch;
use proptest::prelude::*;

use crate::harness::{Files, applied, planned, wrapped};

/// A line of a file, and the lines that replace it; `None`: it stays.
type Edit = (Vec<u8>, Option<Vec<String>>);

fn new_text() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "",
        " ",
        "x",
        "  x",
        "\tx ",
        "@@",
        "*** End Patch",
        "+",
        "-",
        "\u{201c}q\u{201d}",
        "a\u{a0}b",
        "f\x0cg",
    ])
    .prop_map(str::to_owned)
}

/// Texts that repeat often, some of them not UTF-8.
fn old_text() -> impl Strategy<Value = Vec<u8>> {
    let odd = prop::sample::select(vec![&b"\xff"[..], b"caf\xe9", b"\xc3\x28 "]).prop_map(<[u8]>::to_vec);
    prop_oneof![8 => new_text().prop_map(String::into_bytes), 1 => odd]
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let replaced = prop::option::weighted(0.4, prop::collection::vec(new_text(), 0..4));
    prop::collection::vec((old_text(), replaced), 1..20)
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Joins lines; the last one has no line end if `is_open`.
fn joined(lines: &[Vec<u8>], ending: &str, is_open: bool) -> Vec<u8> {
    let mut bytes = lines.join(ending.as_bytes());
    if !is_open && !lines.is_empty() {
        bytes.extend_from_slice(ending.as_bytes());
    }
    bytes
}

fn old_lines(edits: &[Edit]) -> Vec<Vec<u8>> {
    edits.iter().map(|(old, _)| old.clone()).collect()
}

fn new_lines(edits: &[Edit]) -> Vec<Vec<u8>> {
    let new = edits.iter().flat_map(|(old, new)| match new {
        None => vec![old.clone()],
        Some(new) => new.iter().map(|line| line.clone().into_bytes()).collect(),
    });
    new.collect()
}

fn write_edit(hunk: &mut String, (old, new): &Edit) {
    let Some(new) = new else {
        writeln!(hunk, " {}", lossy(old)).unwrap();
        return;
    };
    writeln!(hunk, "-{}", lossy(old)).unwrap();
    for line in new {
        writeln!(hunk, "+{line}").unwrap();
    }
}

/// The hunks of the edits, with this many lines of context. The context is indented and ends with spaces if it is
/// `loose`.
fn hunks(edits: &[Edit], context: usize, loose: bool) -> String {
    let mut hunks = String::new();
    let mut last_shown = None;
    for (at, edit) in edits.iter().enumerate() {
        let from = at.saturating_sub(context);
        let mut near = edits.iter().skip(from).take(at - from + context + 1);
        if !near.any(|(_, new)| new.is_some()) {
            continue;
        }
        if last_shown.is_none_or(|last| last + 1 != at) {
            hunks.push_str("@@\n");
        }
        last_shown = Some(at);
        match edit {
            (old, None) if loose => writeln!(hunks, "   {}  ", lossy(old)).unwrap(),
            edit => write_edit(&mut hunks, edit),
        }
    }
    hunks
}

fn one_file(bytes: Vec<u8>) -> Files {
    [("dir/file".to_owned(), bytes)].into()
}

fn update(hunks: &str) -> String {
    wrapped(&format!("*** Update File: dir/file\n{}", hunks.trim_end_matches('\n')))
}

/// A section that concerns one of a few paths, some of which are inside others.
fn section() -> impl Strategy<Value = String> {
    let path = || prop::sample::select(vec!["a", "b", "c", "d/e", "d/f", "a/g"]);
    let text = || prop::sample::select(vec!["one", "two", "three"]);
    prop_oneof![
        (path(), text()).prop_map(|(path, text)| format!("*** Add File: {path}\n+{text}")),
        path().prop_map(|path| format!("*** Delete File: {path}")),
        (path(), path()).prop_map(|(from, to)| format!("*** Update File: {from}\n*** Move to: {to}")),
        (path(), text(), text())
            .prop_map(|(path, old, new)| format!("*** Update File: {path}\n@@\n-{old}\n+{new}")),
        (path(), text(), path())
            .prop_map(|(path, new, to)| format!("*** Update File: {path}\n*** Move to: {to}\n@@\n+{new}")),
    ]
}

fn some_files() -> Files {
    let files = [("a", "one\n"), ("b", "two\r\n"), ("d/e", "one\ntwo")];
    files.into_iter().map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn a_generated_diff_of_a_whole_file_gives_the_target(
        edits in edits(),
        ending in prop::sample::select(vec!["\n", "\r\n"]),
        is_open in any::<bool>(),
    ) {
        let mut edits = edits;
        // The last line of a file without a final newline has text, and is not removed.
        edits.push((b"last".to_vec(), None));
        prop_assume!(edits.iter().any(|(_, new)| new.is_some()));
        let mut hunk = "@@\n".to_owned();
        for edit in &edits {
            write_edit(&mut hunk, edit);
        }
        let before = one_file(joined(&old_lines(&edits), ending, is_open));
        let (after, summary) = applied(&before, &update(&hunk)).map_err(|error| TestCaseError::fail(error.text()))?;
        let target = one_file(joined(&new_lines(&edits), ending, is_open));
        prop_assert_eq!(after, target);
        prop_assert_eq!(summary, "Success. Updated the following files:\nM dir/file");
    }

    #[test]
    fn a_generated_diff_with_little_context_gives_the_target(
        replaced in prop::collection::vec(
            prop::option::weighted(0.15, prop::collection::vec(new_text(), 0..3)), 1..60),
        context in 0_usize..4,
        loose in any::<bool>(),
        ending in prop::sample::select(vec!["\n", "\r\n"]),
    ) {
        prop_assume!(replaced.iter().any(Option::is_some));
        // Every line is different, so that each hunk has one place.
        let edits: Vec<Edit> =
            replaced.into_iter().enumerate().map(|(n, new)| (format!("line {n}").into_bytes(), new)).collect();
        let before = one_file(joined(&old_lines(&edits), ending, false));
        let (after, _) = applied(&before, &update(&hunks(&edits, context, loose)))
            .map_err(|error| TestCaseError::fail(error.text()))?;
        prop_assert_eq!(after, one_file(joined(&new_lines(&edits), ending, false)));
    }

    #[test]
    fn a_patch_with_one_wrong_section_is_refused_as_a_whole(
        count in 1_usize..8,
        wrong in any::<prop::sample::Index>(),
    ) {
        let wrong = wrong.index(count);
        let files: Files = (0..count).map(|n| (format!("f{n}"), b"one\ntwo\n".to_vec())).collect();
        let sections: Vec<_> = (0..count)
            .map(|n| format!("*** Update File: f{n}\n@@\n one\n-{}\n+2", if n == wrong { "three" } else { "two" }))
            .collect();
        let error = planned(&files, &wrapped(&sections.join("\n"))).unwrap_err();
        let path = format!("`f{wrong}`");
        prop_assert!(error.text().contains(&path), "{}", error.text());
    }

    #[test]
    fn a_patch_gives_what_its_sections_give_one_after_the_other(
        sections in prop::collection::vec(section(), 1..8),
    ) {
        let before = some_files();
        // `applied` checks that the changes are possible in their order.
        if let Ok((after, _)) = applied(&before, &wrapped(&sections.join("\n"))) {
            let mut files = before;
            for section in &sections {
                files = applied(&files, &wrapped(section)).map_err(|error| TestCaseError::fail(error.text()))?.0;
            }
            prop_assert_eq!(after, files);
        }
    }

    #[test]
    fn any_text_is_a_patch_or_an_error_with_a_hint(
        pieces in prop::collection::vec(prop::sample::select(vec![
            "*** Begin Patch", "*** End Patch", "*** Update File: a", "*** Add File: n", "*** Delete File: b",
            "*** Move to: m", "*** End of File", "*** Environment ID: e", "@@", "@@ one", "@@ -1,2 +1 @@", " one",
            "-one", "+one", "\\ No newline at end of file", "<<EOF", "EOF", "```", "", "\r", "\u{e9}", "\u{feff}",
        ]), 0..12),
        is_framed in any::<bool>(),
    ) {
        let text = pieces.join("\n");
        let text = if is_framed { wrapped(&text) } else { text };
        match applied(&some_files(), &text) {
            Ok(_) => prop_assert!(Patch::parse(&text).is_ok()),
            Err(error) => prop_assert!(!error.hint().is_empty() && !error.code().is_empty()),
        }
    }
}

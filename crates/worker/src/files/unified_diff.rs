//! The unified diff of two texts.

use std::time::Duration;

use similar::TextDiff;

/// Unchanged lines around a change.
const CONTEXT_LINES: usize = 3;
/// How long the shortest diff is searched for. After that it may be longer than necessary, but is still correct.
const DIFF_TIMEOUT: Duration = Duration::from_millis(500);

/// The diff; empty if the texts are equal. A missing text differs from an empty one.
pub(crate) fn unified(name: &str, old: Option<&[u8]>, new: Option<&[u8]>) -> Vec<u8> {
    with_context(CONTEXT_LINES, name, old, new)
}

fn with_context(lines: usize, name: &str, old: Option<&[u8]>, new: Option<&[u8]>) -> Vec<u8> {
    let side =
        |side: &str, exists: bool| if exists { format!("{side}/{name}") } else { "/dev/null".to_owned() };
    let (from, to) = (side("a", old.is_some()), side("b", new.is_some()));
    let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
    let diff = TextDiff::configure().timeout(DIFF_TIMEOUT).diff_lines(old, new);
    let mut out = Vec::new();
    // Hunk by hunk: the library writes a whole diff with bytes that are not UTF-8 replaced, and a hunk as it is.
    for hunk in diff.unified_diff().context_radius(lines).iter_hunks() {
        if out.is_empty() {
            out.extend(format!("--- {from}\n+++ {to}\n").bytes());
        }
        // Writing to memory does not fail.
        let _ = hunk.to_writer(&mut out);
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn diff(old: &str, new: &str) -> String {
        String::from_utf8(unified("f", Some(old.as_bytes()), Some(new.as_bytes()))).unwrap()
    }

    #[test]
    fn changes_are_shown_with_their_context() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let new = "1\n2\n3\n4\nfive\n6\n7\n8\n9\n";
        assert_eq!(diff(old, new), "--- a/f\n+++ b/f\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
        assert_eq!(diff(old, old), "");
        assert_eq!(diff("a", "a\n"), "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n");
        let added = String::from_utf8(unified("f", None, Some(b"x\n"))).unwrap();
        assert_eq!(added, "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+x\n");
    }

    #[test]
    fn bytes_that_are_not_text_are_kept() {
        let patch = unified("f", Some(b"a\n\xff\n"), Some(b"a\n\xfe\n"));
        assert!(patch.ends_with(b" a\n-\xff\n+\xfe\n"), "{patch:?}");
    }

    #[test]
    fn texts_without_anything_in_common_are_diffed() {
        let lines = |side: &str| (0..3000).map(|n| format!("{side} {n}")).collect::<Vec<_>>().join("\n");
        let (old, new) = (lines("old"), lines("new"));
        let patch = diff(&old, &new);
        assert_eq!(patch.lines().filter(|line| line.starts_with("-old")).count(), 3000);
        assert_eq!(patch.lines().filter(|line| line.starts_with("+new")).count(), 3000);
    }

    proptest! {
        #[test]
        fn a_diff_leads_from_one_text_to_the_other(
            old in proptest::collection::vec("[abc]\n", 0..40),
            new in proptest::collection::vec("[abc]\n", 0..40),
        ) {
            let (old, new) = (old.concat(), new.concat());
            let patch = with_context(usize::MAX / 4, "f", Some(old.as_bytes()), Some(new.as_bytes()));
            let patch = String::from_utf8(patch).unwrap();
            let side = |mark: char| -> String {
                let lines = patch.split_inclusive('\n').skip(3);
                lines.filter(|line| line.starts_with([' ', mark])).map(|line| &line[1..]).collect()
            };
            if old != new {
                prop_assert_eq!((side('-'), side('+')), (old, new));
            }
        }
    }
}

//! How two texts differ, line by line, as a unified diff.
//!
//! The shortest way from one to the other (Myers, "An O(ND) difference algorithm", 1986), as long as it is short: past a bound
//! all lines between the common beginning and the common end count as changed, which is true as well.

/// Lines that stay around those that change.
const CONTEXT: usize = 3;
/// The longest way that is looked for: memory grows with its square.
const MAX_STEPS: usize = 1000;

/// One line of the way from the old text to the new one: the numbers of the lines in each, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    Same(usize, usize),
    Old(usize),
    New(usize),
}

/// The diff; empty if they are equal. A text that is not there is no empty one.
pub(super) fn unified(name: &str, old: Option<&[u8]>, new: Option<&[u8]>) -> Vec<u8> {
    let (from, to) = (lines(old.unwrap_or_default()), lines(new.unwrap_or_default()));
    let script = script(&from, &to);
    let changes = script.iter().enumerate().filter(|(_, line)| !matches!(line, Line::Same(..)));
    let changes: Vec<_> = changes.map(|(at, _)| at).collect();
    let mut out = Vec::new();
    if changes.is_empty() {
        return out;
    }
    let side =
        |side: &str, there: bool| if there { format!("{side}/{name}") } else { "/dev/null".to_owned() };
    let (a, b) = (side("a", old.is_some()), side("b", new.is_some()));
    out.extend_from_slice(format!("--- {a}\n+++ {b}\n").as_bytes());
    for (begin, end) in hunks(&changes, script.len()) {
        write_hunk(&script, begin, end, &from, &to, &mut out);
    }
    out
}

/// With their ends: a last line without one is another line.
fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}

/// Changes with what is around them; those that touch are one.
fn hunks(changes: &[usize], length: usize) -> Vec<(usize, usize)> {
    let mut hunks: Vec<(usize, usize)> = Vec::new();
    for at in changes {
        let (begin, end) = (at.saturating_sub(CONTEXT), (at + 1 + CONTEXT).min(length));
        match hunks.last_mut() {
            Some(last) if begin <= last.1 => last.1 = end,
            _ => hunks.push((begin, end)),
        }
    }
    hunks
}

fn write_hunk(script: &[Line], begin: usize, end: usize, from: &[&[u8]], to: &[&[u8]], out: &mut Vec<u8>) {
    let count = |lines: &[Line]| {
        let old = lines.iter().filter(|line| !matches!(line, Line::New(_))).count();
        let new = lines.iter().filter(|line| !matches!(line, Line::Old(_))).count();
        (old, new)
    };
    let lines = script.get(begin..end).unwrap_or_default();
    let before = count(script.get(..begin).unwrap_or_default());
    let here = count(lines);
    // A side without lines is told by the line that it comes after.
    let first = |before: usize, here: usize| if here == 0 { before } else { before + 1 };
    let head =
        format!("@@ -{},{} +{},{} @@\n", first(before.0, here.0), here.0, first(before.1, here.1), here.1);
    out.extend_from_slice(head.as_bytes());
    for line in lines {
        let (mark, text) = match *line {
            Line::Same(old, _) => (b' ', from.get(old)),
            Line::Old(old) => (b'-', from.get(old)),
            Line::New(new) => (b'+', to.get(new)),
        };
        let text = text.copied().unwrap_or_default();
        out.push(mark);
        out.extend_from_slice(text);
        if !text.ends_with(b"\n") {
            out.extend_from_slice(b"\n\\ No newline at end of file\n");
        }
    }
}

/// The way from one to the other.
fn script(from: &[&[u8]], to: &[&[u8]]) -> Vec<Line> {
    let head = from.iter().zip(to).take_while(|(old, new)| old == new).count();
    let rest = from.len().min(to.len()) - head;
    let tail = from.iter().rev().zip(to.iter().rev()).take(rest).take_while(|(old, new)| old == new).count();
    let (old_end, new_end) = (from.len() - tail, to.len() - tail);
    let mut script: Vec<_> = (0..head).map(|at| Line::Same(at, at)).collect();
    let (old, new) = (from.get(head..old_end).unwrap_or_default(), to.get(head..new_end).unwrap_or_default());
    if let Some(middle) = shortest(old, new) {
        script.extend(middle.into_iter().map(|line| match line {
            Line::Same(old, new) => Line::Same(old + head, new + head),
            Line::Old(old) => Line::Old(old + head),
            Line::New(new) => Line::New(new + head),
        }));
    } else {
        script.extend((head..old_end).map(Line::Old));
        script.extend((head..new_end).map(Line::New));
    }
    script.extend((0..tail).map(|at| Line::Same(old_end + at, new_end + at)));
    script
}

/// For each number of steps, how far each diagonal was reached; -steps is at 0.
type Reached = Vec<Vec<usize>>;

/// The shortest way, if it takes few enough steps.
fn shortest(from: &[&[u8]], to: &[&[u8]]) -> Option<Vec<Line>> {
    let mut reached: Reached = Vec::new();
    for steps in 0..=MAX_STEPS.min(from.len() + to.len()) {
        let mut row = Vec::with_capacity(2 * steps + 1);
        for at in 0..=2 * steps {
            // Only every second diagonal can be reached by so many steps.
            if at % 2 == 1 {
                row.push(0);
                continue;
            }
            let mut x = begin(&reached, steps, at);
            let mut y = (x + steps).checked_sub(at)?;
            while from.get(x).is_some_and(|line| to.get(y) == Some(line)) {
                (x, y) = (x + 1, y + 1);
            }
            row.push(x);
            if x >= from.len() && y >= to.len() {
                reached.push(row);
                return Some(way_back(&reached, from.len(), to.len()));
            }
        }
        reached.push(row);
    }
    None
}

/// Where diagonal `at - steps` begins after so many steps: right of the one below it, or below the one above.
fn begin(reached: &Reached, steps: usize, at: usize) -> usize {
    let Some(before) = steps.checked_sub(1).and_then(|before| reached.get(before)) else {
        return 0;
    };
    // In the row before, the diagonal k is at one less.
    let (below, above) = (at.checked_sub(2).and_then(|at| before.get(at)), before.get(at));
    match (below, above) {
        (Some(below), Some(above)) if below < above => *above,
        (Some(below), _) => below + 1,
        (None, above) => above.copied().unwrap_or(0),
    }
}

fn way_back(reached: &Reached, mut x: usize, mut y: usize) -> Vec<Line> {
    let mut way = Vec::new();
    for steps in (1..reached.len()).rev() {
        let at = x + steps - y;
        let before = reached.get(steps - 1);
        let below = before.and_then(|before| before.get(at.checked_sub(2)?));
        let above = before.and_then(|before| before.get(at));
        let down = match (below, above) {
            (Some(below), Some(above)) => below < above,
            (None, _) => true,
            (Some(_), None) => false,
        };
        let start = begin(reached, steps, at);
        while x > start {
            (x, y) = (x - 1, y.saturating_sub(1));
            way.push(Line::Same(x, y));
        }
        if down {
            y = y.saturating_sub(1);
            way.push(Line::New(y));
        } else {
            x = x.saturating_sub(1);
            way.push(Line::Old(x));
        }
    }
    while x > 0 && y > 0 {
        (x, y) = (x - 1, y - 1);
        way.push(Line::Same(x, y));
    }
    way.reverse();
    way
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn diff(old: &str, new: &str) -> String {
        String::from_utf8(unified("f", Some(old.as_bytes()), Some(new.as_bytes()))).unwrap()
    }

    #[test]
    fn changes_are_told_with_what_is_around_them() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
        let new = "1\n2\n3\n4\nfive\n6\n7\n8\n9\n";
        assert_eq!(diff(old, new), "--- a/f\n+++ b/f\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
        assert_eq!(diff(old, old), "");
        assert_eq!(
            diff("a", "a\n"),
            "--- a/f\n+++ b/f\n@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n"
        );
        let added = String::from_utf8(unified("f", None, Some(b"x\n"))).unwrap();
        assert_eq!(added, "--- /dev/null\n+++ b/f\n@@ -0,0 +1,1 @@\n+x\n");
    }

    #[test]
    fn texts_without_anything_in_common_are_told_all_the_same() {
        let lines = |side: &str| (0..3000).map(|n| format!("{side} {n}")).collect::<Vec<_>>().join("\n");
        let (old, new) = (lines("old"), lines("new"));
        let told = diff(&old, &new);
        assert_eq!(told.lines().filter(|line| line.starts_with("-old")).count(), 3000);
        assert_eq!(told.lines().filter(|line| line.starts_with("+new")).count(), 3000);
    }

    proptest! {
        #[test]
        fn the_way_leads_from_one_text_to_the_other(
            old in proptest::collection::vec(0_u8..4, 0..40),
            new in proptest::collection::vec(0_u8..4, 0..40),
        ) {
            let (old, new): (Vec<_>, Vec<_>) = (old.chunks(1).collect(), new.chunks(1).collect());
            let script = script(&old, &new);
            let (mut from, mut to) = (Vec::new(), Vec::new());
            for line in &script {
                match *line {
                    Line::Same(a, b) => {
                        prop_assert_eq!(old[a], new[b]);
                        from.push(a);
                        to.push(b);
                    }
                    Line::Old(a) => from.push(a),
                    Line::New(b) => to.push(b),
                }
            }
            prop_assert_eq!(from, (0..old.len()).collect::<Vec<_>>());
            prop_assert_eq!(to, (0..new.len()).collect::<Vec<_>>());
        }
    }
}

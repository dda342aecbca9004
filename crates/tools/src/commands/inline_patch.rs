//! Recognises a patch that is passed to a command `apply_patch`, as models write it in a shell.

use crate::schema::{ApplyPatch, Call};

/// The call of the tool `apply_patch` that a script means: `apply_patch <<'EOF'`, the patch and `EOF`, and nothing
/// else.
pub(super) fn of_script(script: &str) -> Option<Call> {
    let text = script.trim();
    let (first, rest) = text.split_once('\n')?;
    let word = first.strip_prefix("apply_patch")?.trim().strip_prefix("<<")?.trim();
    let word = unquoted(word)?;
    let body = rest.strip_suffix(word)?.strip_suffix('\n')?;
    if body.lines().any(|line| line == word) {
        return None; // the document ends earlier: other commands follow it
    }
    Some(call(body))
}

/// The same for a program with arguments: `apply_patch PATCH`, or a shell that runs such a script.
pub(super) fn of_program(arguments: &[String]) -> Option<Call> {
    match arguments {
        [program, patch] if program == "apply_patch" => Some(call(patch)),
        [_, flag, script] if matches!(flag.as_str(), "-c" | "-lc") => of_script(script),
        _ => None,
    }
}

fn call(patch: &str) -> Call {
    Call::ApplyPatch(Box::new(ApplyPatch { input: patch.to_owned() }))
}

/// The word that ends a here-document. Without quotes a shell would expand variables in the patch, which nobody
/// who writes a patch wants.
fn unquoted(word: &str) -> Option<&str> {
    let inner = ['\'', '"'].iter().find_map(|quote| word.strip_prefix(*quote)?.strip_suffix(*quote));
    let word = inner.unwrap_or(word);
    let is_plain = !word.is_empty() && word.chars().all(|ch| ch.is_ascii_alphanumeric() || ch == '_');
    is_plain.then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &str = "*** Begin Patch\n*** Delete File: a\n*** End Patch";

    fn input(call: Option<Call>) -> Option<String> {
        match call? {
            Call::ApplyPatch(arguments) => Some(arguments.input),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_script_that_only_applies_a_patch_is_recognised() {
        for script in [
            format!("apply_patch <<'EOF'\n{PATCH}\nEOF\n"),
            format!("\n apply_patch << EOF\n{PATCH}\nEOF"),
            format!("apply_patch <<\"PATCH_1\"\n{PATCH}\nPATCH_1"),
        ] {
            assert_eq!(input(of_script(&script)).as_deref(), Some(PATCH), "{script}");
            let shell = ["bash".to_owned(), "-lc".to_owned(), script];
            assert_eq!(input(of_program(&shell)).as_deref(), Some(PATCH));
        }
        let direct = ["apply_patch".to_owned(), PATCH.to_owned()];
        assert_eq!(input(of_program(&direct)).as_deref(), Some(PATCH));
    }

    #[test]
    fn a_script_that_does_more_runs_as_it_is() {
        for script in [
            format!("cd x && apply_patch <<'EOF'\n{PATCH}\nEOF"),
            format!("apply_patch <<'EOF'\n{PATCH}\nEOF\nmake"),
            format!("apply_patch <<'EOF'\n{PATCH}\nEOF\ncat <<'EOF'\nx\nEOF"),
            "apply_patch a.patch".to_owned(),
            "ls".to_owned(),
        ] {
            assert!(of_script(&script).is_none(), "{script}");
        }
    }
}

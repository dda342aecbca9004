//! The program that a build's own session runs: a few lines for bash that compile what the cache lacks, several at once,
//! and link. Everything that it leaves is in one folder, a few small files for each source.

use std::fmt::Write;

use super::inputs::OURS;
use super::plan::Plan;

/// What is left of a build, by what comes after the number of its source.
pub(crate) fn left(n: usize, what: &str) -> String {
    format!("{OURS}/{n}.{what}")
}

/// Where the binary is made.
pub(crate) fn made() -> String {
    format!("{OURS}/made")
}

const HEAD: &str = r#"set -u
left=.headwater-build
exec </dev/null
mkdir -p "$left"
# Whether an assembler reads nothing but this file. One that cannot be looked at is not plain.
plain() {
    LC_ALL=C grep -qaiE '^#APP|\.(incbin|include|macro|irp)' "$1"
    [ $? = 1 ]
}
# Compiles one source. What the compiler says goes to people as it comes, and once more, for programs, if it is anything.
unit() {
    local n=$1 source=$2 status
    "$compiler" "${compile[@]}" "${made_as[@]}" -o "$left/$n.$suffix" -MD -MF "$left/$n.d" -MT made \
        -x "$language" "$source" 2>&1 >/dev/null | tee "$left/$n.txt" >&2
    status=${PIPESTATUS[0]}
    if [ -s "$left/$n.txt" ]; then
        "$compiler" "${compile[@]}" "${exact[@]}" -S -o /dev/null -x "$language" "$source" 2>"$left/$n.exact" >/dev/null
    fi
    if [ "$status" = 0 ] && [ "$suffix" = s ]; then
        # What an assembler may read by itself (`.incbin`) nobody tells: such an object is not kept. Names of sections and
        # symbols may hold whole lines, also such that make up the word.
        if ! plain "$left/$n.s"; then : >"$left/$n.asm"; fi
        "$compiler" "${machine[@]}" -c -o "$left/$n.o" "$left/$n.s" 2>&1 >/dev/null | tee -a "$left/$n.txt" >&2
        status=${PIPESTATUS[0]}
    fi
    echo "$status" >"$left/$n.status"
}
"#;

const TAIL: &str = r#"wait
for n in "${all[@]}"; do
    [ "$(cat "$left/$n.status" 2>/dev/null)" = 0 ] || exit 1
done
"$compiler" "${objects[@]}" "${link[@]}" "${told[@]}" -o "$left/made" 2>&1 >/dev/null | tee "$left/link.txt" >&2
[ "${PIPESTATUS[0]}" = 0 ] || exit 1
echo 'Compiled successfully'
"#;

/// The text of the program. `jobs` compilers run at once; `mapped` is where the workspace is, if not at `/workspace`.
pub(crate) fn script(plan: &Plan, jobs: usize, mapped: Option<&str>) -> String {
    let mut text = HEAD.to_owned();
    let mut compile = plan.compile.clone();
    compile.extend(mapped.map(|home| format!("-ffile-prefix-map={home}=/workspace")));
    let is_machine = |flag: &&String| matches!(flag.as_str(), "-m32" | "-m64");
    let machine: Vec<String> = plan.compile.iter().filter(is_machine).cloned().collect();
    let exact: &[&str] = if plan.is_clang {
        &["-fdiagnostics-parseable-fixits", "-fdiagnostics-print-source-range-info"]
    } else {
        &["-fdiagnostics-format=json"]
    };
    let made_as = if plan.plain { "-S" } else { "-c" };
    let told: &[&str] = if plan.plain { &["-Wl,--dependency-file=.headwater-build/link.d"] } else { &[] };
    let numbers: Vec<String> = (0..plan.units.len()).map(|n| n.to_string()).collect();
    let objects: Vec<String> = (0..plan.units.len()).map(|n| left(n, "o")).collect();
    // A string takes all that is written to it.
    let _ = writeln!(text, "compiler={} language={}", quote(&plan.compiler), quote(&plan.language));
    let _ = writeln!(text, "suffix={}", if plan.plain { "s" } else { "o" });
    for (name, list) in [
        ("compile", &compile),
        ("machine", &machine),
        ("exact", &owned(exact)),
        ("made_as", &owned(&[made_as])),
        ("told", &owned(told)),
        ("link", &plan.link),
        ("objects", &objects),
        ("all", &numbers),
    ] {
        let words: Vec<_> = list.iter().map(|word| quote(word)).collect();
        let _ = writeln!(text, "{name}=({})", words.join(" "));
    }
    units(&mut text, plan, jobs);
    text.push_str(TAIL);
    text
}

fn units(text: &mut String, plan: &Plan, jobs: usize) {
    let mut running = 0;
    for (n, unit) in plan.units.iter().enumerate() {
        if unit.hit.is_some() {
            let _ = writeln!(text, "echo 0 >\"$left/{n}.status\"; cat \"$left/{n}.txt\" >&2");
            continue;
        }
        if running >= jobs.max(1) {
            let _ = writeln!(text, "wait -n");
        }
        running += 1;
        // A name that begins with a dash is no flag.
        let dash = if unit.source.starts_with('-') { "./" } else { "" };
        let _ = writeln!(text, "unit {n} {} &", quote(&format!("{dash}{}", unit.source)));
    }
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// As one word for the shell, whatever is in it.
pub(crate) fn quote(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builds::cache::Told;
    use crate::builds::plan::PlannedUnit;

    fn plan(flags: &[&str], hits: &[bool]) -> Plan {
        let unit = |hit: &bool| PlannedUnit {
            source: "a b.cpp".into(),
            key: None,
            reads: Vec::new(),
            hit: hit.then(Told::default),
        };
        Plan {
            compiler: "/usr/bin/g++".into(),
            is_clang: false,
            language: "c++".into(),
            compile: flags.iter().map(|flag| (*flag).to_owned()).collect(),
            link: Vec::new(),
            plain: true,
            units: hits.iter().map(unit).collect(),
            key: None,
            output: "main".into(),
            timeout_ms: 1,
        }
    }

    #[test]
    fn nothing_in_a_flag_or_a_name_is_a_command() {
        assert_eq!(quote("a'b $(x) `y`"), "'a'\\''b $(x) `y`'");
        let text = script(&plan(&["-DX='$(touch /tmp/x)'"], &[false]), 2, None);
        assert!(text.contains("'-DX='\\''$(touch /tmp/x)'\\'''"), "{text}");
        assert!(text.contains("unit 0 'a b.cpp' &"), "{text}");
        let checked = std::process::Command::new("bash").args(["-n", "-c", &text]).status().unwrap();
        assert!(checked.success());
    }

    #[test]
    fn files_that_an_assembler_would_read_are_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("0.s");
        let is_plain = |text: &str| {
            std::fs::write(&path, text).unwrap();
            let functions = HEAD.replace("exec </dev/null\nmkdir -p \"$left\"\n", "");
            let line = format!("{functions}\nplain '{}'", path.display());
            std::process::Command::new("bash").args(["-c", &line]).status().unwrap().success()
        };
        assert!(is_plain("\t.file \"/usr/include/a.h\"\n\t.section .debug_macro\n\tret\n"));
        for text in [
            "#APP\nnop\n",
            "\t.section x\n.incbin \"a\"\n",
            "a: .INCLUDE \"a\"\n",
            ".irp b,bin\n.inc\\b \"a\"\n.endr\n",
        ] {
            assert!(!is_plain(text), "{text}");
        }
        std::fs::remove_file(&path).unwrap();
        let line = format!("{HEAD}\nplain nowhere");
        let mut bash = std::process::Command::new("bash");
        assert!(!bash.args(["-c", &line]).current_dir(folder.path()).status().unwrap().success());
    }

    #[test]
    fn cached_objects_are_not_compiled_and_parallel_compiles_are_limited() {
        let text = script(&plan(&[], &[true, false, false, false]), 2, Some("/data/x"));
        assert!(!text.contains("unit 0 ") && text.contains("cat \"$left/0.txt\""));
        assert_eq!(text.matches("wait -n").count(), 1);
        assert!(text.contains("-ffile-prefix-map=/data/x=/workspace"));
    }
}

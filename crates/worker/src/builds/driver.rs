//! The bash script that runs in the session of a build: it compiles the sources that are not cached, several at once, and
//! links. All its results are in one folder, a few small files for each source.

use std::fmt::Write;

use headwater_protocol::shell_quote;

use super::inputs::BUILD_DIR;
use super::plan::Plan;

/// A result file of a source, by its number and the suffix.
pub(crate) fn unit_file(n: usize, suffix: &str) -> String {
    format!("{BUILD_DIR}/{n}.{suffix}")
}

/// The path of the linked binary.
pub(crate) fn output_path() -> String {
    format!("{BUILD_DIR}/made")
}

const HEAD: &str = r#"set -u
dir=.headwater-build
exec </dev/null
mkdir -p "$dir"
# Whether an assembler reads nothing but this file. A file that cannot be read is not plain.
plain() {
    LC_ALL=C grep -qaiE '^#APP|\.(incbin|include|macro|irp)' "$1"
    [ $? = 1 ]
}
# Compiles one source. Messages go to stderr at once; if there are any, the compiler runs again to get them for programs.
unit() {
    local n=$1 source=$2 status
    "$compiler" "${compile[@]}" "${output_kind[@]}" -o "$dir/$n.$suffix" -MD -MF "$dir/$n.d" -MT made \
        -x "$language" "$source" 2>&1 >/dev/null | tee "$dir/$n.txt" >&2
    status=${PIPESTATUS[0]}
    if [ -s "$dir/$n.txt" ]; then
        "$compiler" "${compile[@]}" "${exact[@]}" -S -o /dev/null -x "$language" "$source" 2>"$dir/$n.exact" >/dev/null
    fi
    if [ "$status" = 0 ] && [ "$suffix" = s ]; then
        # Files that an assembler reads itself (`.incbin`) are not reported: such an object is not cached. Names of sections
        # and symbols may contain whole lines, even ones that form the word.
        if ! plain "$dir/$n.s"; then : >"$dir/$n.asm"; fi
        "$compiler" "${machine[@]}" -c -o "$dir/$n.o" "$dir/$n.s" 2>&1 >/dev/null | tee -a "$dir/$n.txt" >&2
        status=${PIPESTATUS[0]}
    fi
    echo "$status" >"$dir/$n.status"
}
"#;

const TAIL: &str = r#"wait
for n in "${all[@]}"; do
    [ "$(cat "$dir/$n.status" 2>/dev/null)" = 0 ] || exit 1
done
"$compiler" "${objects[@]}" "${link[@]}" "${link_dependencies[@]}" -o "$dir/made" 2>&1 >/dev/null | tee "$dir/link.txt" >&2
[ "${PIPESTATUS[0]}" = 0 ] || exit 1
echo 'Compiled successfully'
"#;

/// The text of the script. `jobs` compilers run at once; `mapped` is the path of the workspace, if not `/workspace`.
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
    let output_kind = if plan.plain { "-S" } else { "-c" };
    let link_dependencies: &[&str] =
        if plan.plain { &["-Wl,--dependency-file=.headwater-build/link.d"] } else { &[] };
    let numbers: Vec<String> = (0..plan.units.len()).map(|n| n.to_string()).collect();
    let objects: Vec<String> = (0..plan.units.len()).map(|n| unit_file(n, "o")).collect();
    // Writing to a string does not fail.
    let _ =
        writeln!(text, "compiler={} language={}", shell_quote(&plan.compiler), shell_quote(&plan.language));
    let _ = writeln!(text, "suffix={}", if plan.plain { "s" } else { "o" });
    for (name, list) in [
        ("compile", &compile),
        ("machine", &machine),
        ("exact", &owned(exact)),
        ("output_kind", &owned(&[output_kind])),
        ("link_dependencies", &owned(link_dependencies)),
        ("link", &plan.link),
        ("objects", &objects),
        ("all", &numbers),
    ] {
        let words: Vec<_> = list.iter().map(|word| shell_quote(word)).collect();
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
            let _ = writeln!(text, "echo 0 >\"$dir/{n}.status\"; cat \"$dir/{n}.txt\" >&2");
            continue;
        }
        if running >= jobs.max(1) {
            let _ = writeln!(text, "wait -n");
        }
        running += 1;
        // A name that begins with a dash must not be taken for a flag.
        let dash = if unit.source.starts_with('-') { "./" } else { "" };
        let _ = writeln!(text, "unit {n} {} &", shell_quote(&format!("{dash}{}", unit.source)));
    }
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builds::cache::CompileOutput;
    use crate::builds::plan::PlannedUnit;

    fn plan(flags: &[&str], hits: &[bool]) -> Plan {
        let unit = |hit: &bool| PlannedUnit {
            source: "a b.cpp".into(),
            key: None,
            reads: Vec::new(),
            hit: hit.then(CompileOutput::default),
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
            let functions = HEAD.replace("exec </dev/null\nmkdir -p \"$dir\"\n", "");
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
        assert!(!text.contains("unit 0 ") && text.contains("cat \"$dir/0.txt\""));
        assert_eq!(text.matches("wait -n").count(), 1);
        assert!(text.contains("-ffile-prefix-map=/data/x=/workspace"));
    }
}

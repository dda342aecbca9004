//! Which files of a workspace are an input of a build.

use std::fs;
use std::os::unix::fs::symlink;

use super::*;

fn take(files: &[(&str, &str)], flags: &[&str], sources: &[&str]) -> Result<Inputs, Fault> {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    symlink("/etc/passwd", folder.path().join("passwd.h")).unwrap();
    symlink("/etc", folder.path().join("etc")).unwrap();
    let workspace = Workspace::open(folder.path(), None).unwrap();
    let flags = Flags::parse(&flags.iter().map(|flag| (*flag).to_owned()).collect::<Vec<_>>(), &[]).unwrap();
    let scans = Scans::default();
    let sources: Vec<_> = sources.iter().map(|source| (*source).to_owned()).collect();
    InputCollector::new(&workspace, "/workspace", &scans, &flags, "build/main").collect(&sources)
}

fn paths(inputs: &Inputs) -> Vec<&str> {
    inputs.files.keys().map(String::as_str).collect()
}

#[test]
fn includes_are_followed_through_folders_and_flags_and_nothing_else_is_taken() {
    let files = [
        ("src/main.cpp", "#include \"a.h\"\n#include <lib.h>\n#include \"../top.h\"\n#include <iostream>\n"),
        ("src/a.h", "#include \"sub/b.h\"\n"),
        ("src/sub/b.h", "#include \"../../../out.h\"\n#include \"b.h\"\n"),
        ("inc/lib.h", "#include </workspace/abs.h>\n"),
        ("abs.h", ""),
        ("top.h", ""),
        ("forced.h", ""),
        ("other.cpp", ""),
    ];
    let inputs = take(&files, &["-Iinc", "-include", "forced.h"], &["src/main.cpp"]).unwrap();
    let all = ["abs.h", "forced.h", "inc/lib.h", "src/a.h", "src/main.cpp", "src/sub/b.h", "top.h"];
    assert_eq!(paths(&inputs), all);
    assert!(!inputs.whole && inputs.units[0].reads.len() == all.len());
}

#[test]
fn each_source_reads_its_own_and_shared_files_are_taken_once() {
    let files = [
        ("a.cpp", "#include \"x.h\"\n"),
        ("b.cpp", "#include \"x.h\"\n#include \"y.h\"\nint at = sizeof(__DATE__);\n"),
        ("x.h", ""),
        ("y.h", ""),
    ];
    let inputs = take(&files, &[], &["a.cpp", "b.cpp"]).unwrap();
    assert_eq!((inputs.units[0].reads.len(), inputs.units[1].reads.len()), (2, 3));
    assert!(!inputs.units[0].timed && inputs.units[1].timed);
}

#[test]
fn an_unknown_dependency_makes_every_file_but_the_output_an_input() {
    let files = [
        ("a.cpp", "#include NAME\n"),
        ("b.h", ""),
        ("build/main", "old"),
        (".git/x", ""),
        (".headwater-build/0.o", ""),
    ];
    let inputs = take(&files, &["-DNAME=\"b.h\""], &["a.cpp"]).unwrap();
    assert_eq!(paths(&inputs), ["a.cpp", "b.h"]);
    assert!(inputs.whole);
    let inputs = take(&[("a.cpp", ""), ("c.so", "")], &["-fplugin=./c.so"], &["a.cpp"]).unwrap();
    assert_eq!(paths(&inputs), ["a.cpp", "c.so"]);
}

#[test]
fn links_lead_nowhere() {
    let files = [("a.cpp", "#include \"passwd.h\"\n#include \"etc/passwd\"\n")];
    assert_eq!(paths(&take(&files, &[], &["a.cpp"]).unwrap()), ["a.cpp"]);
    let fault = take(&files, &[], &["passwd.h"]).unwrap_err();
    assert_eq!(fault.kind, FaultKind::NotFound);
}

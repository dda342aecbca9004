//! Files in memory, and a runner of cases.

use std::collections::BTreeMap;

use headwater_tools::patch::{Change, FilePath, Kind, Patch, PatchError, Plan, Snapshot, plan};

/// The path of the workspace for programs.
pub(crate) const HOME: &str = "/home/agent/project";

/// Paths and contents.
pub(crate) type Listing = &'static [(&'static str, &'static [u8])];
pub(crate) type Files = BTreeMap<String, Vec<u8>>;

/// A patch that applies.
pub(crate) struct Applied {
    pub(crate) name: &'static str,
    pub(crate) before: Listing,
    /// The patch, without its first and last line unless `is_whole`.
    pub(crate) patch: &'static str,
    pub(crate) after: Listing,
    /// The lines of the result after the first one.
    pub(crate) summary: &'static str,
}

/// A patch that is refused.
pub(crate) struct Refused {
    pub(crate) name: &'static str,
    pub(crate) before: Listing,
    pub(crate) patch: &'static str,
    pub(crate) code: &'static str,
    /// Parts of the text for the model.
    pub(crate) says: &'static [&'static str],
}

/// Adds the first and the last line.
pub(crate) fn wrapped(sections: &str) -> String {
    format!("*** Begin Patch\n{sections}\n*** End Patch\n")
}

pub(crate) fn files(listing: Listing) -> Files {
    listing.iter().map(|(path, bytes)| ((*path).to_owned(), bytes.to_vec())).collect()
}

pub(crate) fn path(text: &str) -> FilePath {
    FilePath::parse(text, HOME).unwrap()
}

/// The version of a file in a snapshot.
fn version(bytes: &[u8]) -> String {
    format!("{bytes:?}")
}

pub(crate) fn snapshot(files: &Files) -> Snapshot {
    let mut snapshot = Snapshot::default();
    for (name, bytes) in files {
        match name.strip_suffix('@') {
            // A link, for the cases that need one.
            Some(link) => snapshot.insert(path(link), Kind::Other),
            None => snapshot.insert_file(path(name), version(bytes), bytes.clone()),
        }
    }
    snapshot
}

pub(crate) fn planned(files: &Files, patch: &str) -> Result<Plan, PatchError> {
    plan(&Patch::parse(patch)?, HOME, &snapshot(files))
}

/// Plans a patch and carries it out.
pub(crate) fn applied(files: &Files, patch: &str) -> Result<(Files, String), PatchError> {
    let plan = planned(files, patch)?;
    let mut files = files.clone();
    for change in &plan.changes {
        carry_out(&mut files, change);
    }
    Ok((files, plan.summary()))
}

/// Carries out one change, and checks that it is possible in this order and expects the right versions.
fn carry_out(files: &mut Files, change: &Change) {
    match change {
        Change::Create { path, bytes } => {
            assert_eq!(files.insert(path.to_string(), bytes.clone()), None, "{path} exists already");
        }
        Change::Overwrite { path, version: expected, bytes } => {
            let before = files.insert(path.to_string(), bytes.clone()).unwrap();
            assert_eq!(version(&before), *expected);
        }
        Change::Delete { path, version: expected } => {
            assert_eq!(version(&files.remove(path.as_str()).unwrap()), *expected);
        }
        Change::Rename { from, version: expected, to, replaces, bytes } => {
            let moved = files.remove(from.as_str()).unwrap();
            assert_eq!(version(&moved), *expected);
            let replaced = files.insert(to.to_string(), bytes.clone().unwrap_or(moved));
            assert_eq!(replaced.as_deref().map(version), *replaces);
        }
    }
    for file in files.keys() {
        let folder = format!("{file}/");
        let below = files.keys().find(|other| other.starts_with(&folder));
        assert_eq!(below, None, "{file} is a file and a folder");
    }
}

/// Runs cases, and reports every one that fails.
pub(crate) fn all_apply(cases: &[Applied], is_whole: bool) {
    let mut failures = Vec::new();
    for case in cases {
        let patch = if is_whole { case.patch.to_owned() } else { wrapped(case.patch) };
        let expected =
            (files(case.after), format!("Success. Updated the following files:\n{}", case.summary));
        match applied(&files(case.before), &patch) {
            Ok(got) if got == expected => {}
            Ok(got) => {
                failures.push(format!(
                    "{}:\n  got      {}\n  expected {}",
                    case.name,
                    show(&got),
                    show(&expected)
                ));
            }
            Err(error) => failures.push(format!("{}: {}", case.name, error.text())),
        }
    }
    assert!(failures.is_empty(), "{} cases failed:\n{}", failures.len(), failures.join("\n"));
}

fn show((files, summary): &(Files, String)) -> String {
    let files: Vec<_> =
        files.iter().map(|(path, bytes)| format!("{path}={}", bytes.escape_ascii())).collect();
    format!("{} {summary:?}", files.join(" "))
}

/// Runs cases that must be refused, and reports every one that is not, or with another text.
pub(crate) fn all_are_refused(cases: &[Refused], is_whole: bool) {
    let mut failures = Vec::new();
    for case in cases {
        let patch = if is_whole { case.patch.to_owned() } else { wrapped(case.patch) };
        let error = match planned(&files(case.before), &patch) {
            Ok(plan) => {
                failures.push(format!("{}: was applied: {plan:?}", case.name));
                continue;
            }
            Err(error) => error,
        };
        let text = error.text();
        let is_right = error.code() == case.code && case.says.iter().all(|part| text.contains(part));
        if !is_right || !text.ends_with("No file was changed.") {
            failures.push(format!("{}: {}: {text}", case.name, error.code()));
        }
    }
    assert!(failures.is_empty(), "{} cases failed:\n{}", failures.len(), failures.join("\n"));
}

//! Checks what this host can do for a session, by trying it.
//!
//! Every wall is tried separately in a short-lived [child] process, so that one that cannot be built is
//! named; then all of them together in a real [session], in which a program runs. Limits are tried by
//! exceeding them. A refusal by the kernel is explained from the [facts] about the host, with the command or
//! setting that fixes it.

mod child;
mod facts;
mod files;
mod limits;
mod namespaces;
mod privileges;
mod quotas;
mod refusal;
mod rlimits;
mod root;
mod scratch_dir;
mod session;
mod syscalls;
mod terminals;

use std::path::PathBuf;

use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};

use crate::launch;
use crate::wire::Bind;
use facts::Facts;

/// The result of one check. In JSON it also has its `status`: `ok`, `warning` or `failed`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// The name of the check.
    pub name: String,
    /// Whether code can be run safely as far as this check goes.
    pub ok: bool,
    /// What was found, and what is used instead if something is missing.
    pub detail: String,
    /// The command or setting that fixes it; `None` if there is nothing to fix.
    pub fix: Option<String>,
}

/// How serious a result is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Severity {
    /// The check passed and there is nothing to fix.
    #[serde(rename = "ok")]
    Fine,
    /// Code can be run, but with a substitute for what is missing.
    #[serde(rename = "warning")]
    Warning,
    /// Code cannot be run, or not safely.
    #[serde(rename = "failed")]
    Failure,
}

impl Serialize for Check {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut fields = to.serialize_struct("Check", 5)?;
        fields.serialize_field("name", &self.name)?;
        fields.serialize_field("ok", &self.ok)?;
        fields.serialize_field("status", &self.severity())?;
        fields.serialize_field("detail", &self.detail)?;
        fields.serialize_field("fix", &self.fix)?;
        fields.end()
    }
}

impl Check {
    /// A check that passed.
    pub fn fine(name: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { name: name.into(), ok: true, detail: detail.into(), fix: None }
    }

    /// A check that failed without consequences for safety: there is a substitute.
    pub fn warning(name: impl Into<String>, detail: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { name: name.into(), ok: true, detail: detail.into(), fix: Some(fix.into()) }
    }

    /// A check that failed: no code can be run, or not safely.
    pub fn failure(name: impl Into<String>, detail: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { name: name.into(), ok: false, detail: detail.into(), fix: Some(fix.into()) }
    }

    /// The severity, which follows from `ok` and `fix`.
    pub fn severity(&self) -> Severity {
        match (self.ok, &self.fix) {
            (true, None) => Severity::Fine,
            (true, Some(_)) => Severity::Warning,
            (false, _) => Severity::Failure,
        }
    }
}

/// The configuration to check.
#[derive(Debug, Clone)]
pub struct Options {
    /// An existing folder, preferably on the file system of the sessions. Everything created in it is removed
    /// again.
    pub folder: PathBuf,
    /// The first host user of sessions, if the caller is root. The trial uses another one if it can.
    pub first_uid: u32,
    /// Host paths that are shown in sessions.
    pub binds: Vec<Bind>,
    /// The program that runs as init.
    pub init_binary: PathBuf,
}

impl Options {
    /// Options with this program as init.
    pub fn new(folder: PathBuf, first_uid: u32, binds: Vec<Bind>) -> Self {
        Self { folder, first_uid, binds, init_binary: launch::own_binary() }
    }
}

/// Runs all checks. Takes about half a second. Forks, and may move the caller into a cgroup below its own
/// (see [`CgroupRoot::discover`](crate::cgroup::CgroupRoot::discover)): call it from a process that does
/// nothing else.
pub fn check(options: &Options) -> Vec<Check> {
    let facts = Facts::of_this_host(options.first_uid);
    let mut checks = vec![facts.kernel(), facts.user()];
    checks.extend(namespaces::check(&facts));
    checks.extend(root::check(&facts));
    checks.push(terminals::check(&facts));
    checks.extend(privileges::check(&facts));
    checks.extend(syscalls::check(&facts));
    checks.push(session::check(options, &facts, &checks));
    checks.extend(limits::check(&facts));
    checks.extend(files::check(options, &facts));
    checks.push(quotas::check(options, &facts));
    checks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_has_five_fields_and_its_severity_follows_from_them() {
        let warning = Check::warning("a", "b stands in", "do c");
        let text = postcard::to_stdvec(&warning).unwrap();
        assert_eq!(
            text,
            postcard::to_stdvec(&("a", true, Severity::Warning, "b stands in", Some("do c"))).unwrap()
        );
        assert_eq!(warning.severity(), Severity::Warning);
        assert_eq!(Check::fine("a", "b").severity(), Severity::Fine);
        assert_eq!(Check::failure("a", "b", "c").severity(), Severity::Failure);
    }
}

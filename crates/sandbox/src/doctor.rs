//! What this host can and cannot do for a session, found out by trying it.
//!
//! Every wall is tried by itself in a short-lived [child] process, so that the one that cannot be built is named; then
//! all of them together by a real [session], in which a program runs. Limits are tried by overstepping them. What the
//! kernel refuses is explained from the [facts] of the host, with the command or setting that mends it.

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

use serde::Serialize;

use crate::launch;
use crate::wire::Bind;
use facts::Facts;

/// One thing that was tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// What.
    pub name: String,
    /// Whether code can be run safely as far as this goes.
    pub ok: bool,
    /// What was found; if it is less than it could be, what stands in.
    pub detail: String,
    /// The command or setting that mends it; absent if there is nothing to mend.
    pub fix: Option<String>,
}

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// As it should be.
    Fine,
    /// Code can be run, but something else stands in for what is missing.
    Warning,
    /// Code cannot be run, or not safely.
    Failure,
}

impl Check {
    /// As it should be.
    pub fn fine(name: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { name: name.into(), ok: true, detail: detail.into(), fix: None }
    }

    /// Not as it should be, but something stands in.
    pub fn warning(name: impl Into<String>, detail: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { name: name.into(), ok: true, detail: detail.into(), fix: Some(fix.into()) }
    }

    /// Without this no code can be run, or not safely.
    pub fn failure(name: impl Into<String>, detail: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { name: name.into(), ok: false, detail: detail.into(), fix: Some(fix.into()) }
    }

    /// How bad it is: what is fine has nothing to mend.
    pub fn severity(&self) -> Severity {
        match (self.ok, &self.fix) {
            (true, None) => Severity::Fine,
            (true, Some(_)) => Severity::Warning,
            (false, _) => Severity::Failure,
        }
    }
}

/// What to try it with.
#[derive(Debug, Clone)]
pub struct Options {
    /// An existing folder, best on the file system that sessions will be on. What is made in it is removed again.
    pub folder: PathBuf,
    /// The first host user that sessions get, if the caller is root. The one that is tried gets another, if it can.
    pub first_uid: u32,
    /// Host paths that sessions are shown.
    pub binds: Vec<Bind>,
    /// The program that is init.
    pub init_binary: PathBuf,
}

impl Options {
    /// With this very program as init.
    pub fn new(folder: PathBuf, first_uid: u32, binds: Vec<Bind>) -> Self {
        Self { folder, first_uid, binds, init_binary: launch::own_binary() }
    }
}

/// Tries everything. Takes about half a second; forks, and may move the caller into a cgroup below its own (see
/// [`CgroupRoot::discover`](crate::cgroup::CgroupRoot::discover)): for a process that does nothing else.
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
    fn a_check_has_four_fields_and_its_severity_follows_from_them() {
        let warning = Check::warning("a", "b stands in", "do c");
        let text = postcard::to_stdvec(&warning).unwrap();
        assert_eq!(text, postcard::to_stdvec(&("a", true, "b stands in", Some("do c"))).unwrap());
        assert_eq!(warning.severity(), Severity::Warning);
        assert_eq!(Check::fine("a", "b").severity(), Severity::Fine);
        assert_eq!(Check::failure("a", "b", "c").severity(), Severity::Failure);
    }
}

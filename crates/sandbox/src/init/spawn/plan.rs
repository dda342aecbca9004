//! Everything the child needs, prepared before it exists: it must not allocate between clone and exec.

use std::ffi::{CString, c_char};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use super::failure;
use crate::init::stdio::ProgramEnds;
use crate::wire::{Rlimits, Start, StartFailure};

/// The search path for programs if the environment has no `PATH`.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Runs scripts without a `#!` line.
pub(super) const SHELL: &std::ffi::CStr = c"/bin/sh";

/// A resource limit to set.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limit {
    pub(super) resource: libc::__rlimit_resource_t,
    pub(super) value: libc::rlimit64,
}

/// What the child does. The pointers are into `_texts`, which lives as long.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) cwd: CString,
    /// A free slot, the arguments, null. The shell takes the free slot if one is needed.
    pub(super) argv: Vec<*const c_char>,
    pub(super) envp: Vec<*const c_char>,
    pub(super) candidates: Vec<CString>,
    pub(super) limits: [Option<Limit>; 5],
    /// The descriptors that become 0, 1 and 2; -1 leaves one as it is.
    pub(super) stdio: [RawFd; 3],
    pub(super) is_tty: bool,
    pub(super) cgroups: Vec<RawFd>,
    pub(super) tag: u64,
    pub(super) cookie: u64,
    _texts: Texts,
}

impl Plan {
    pub(super) fn new(
        start: &Start,
        inner: &ProgramEnds,
        cgroups: &[OwnedFd],
        tag: u64,
        default_files: Option<libc::rlimit64>,
    ) -> Result<Self, StartFailure> {
        let Some(program) = start.argv.first().filter(|name| !name.is_empty()) else {
            return Err(failure::nothing_to_run());
        };
        let cwd = CString::new(start.cwd.as_str()).map_err(|_| failure::has_nul("the working directory"))?;
        let mut texts = Texts::with_room_for(start);
        let arguments = texts.push_all(&start.argv).ok_or_else(|| failure::has_nul("an argument"))?;
        let env = texts.push_all(&start.env).ok_or_else(|| failure::has_nul("the environment"))?;
        let argv = std::iter::once(std::ptr::null()).chain(texts.pointers(&arguments)).collect();
        let envp = texts.pointers(&env).collect();
        let path = start.env.iter().find_map(|entry| entry.strip_prefix("PATH=")).unwrap_or(DEFAULT_PATH);
        Ok(Self {
            cwd,
            argv,
            envp,
            candidates: candidates(program, path),
            limits: limits(&start.rlimits, default_files),
            stdio: stdio(inner),
            is_tty: inner.is_tty,
            cgroups: cgroups.iter().map(AsRawFd::as_raw_fd).collect(),
            tag,
            cookie: crate::walls::tag_cookie(),
            _texts: texts,
        })
    }
}

fn stdio(inner: &ProgramEnds) -> [RawFd; 3] {
    let stdout = inner.stdout.as_raw_fd();
    let stdin = inner.stdin.as_ref().map_or(-1, AsRawFd::as_raw_fd);
    [stdin, stdout, inner.stderr.as_ref().map_or(stdout, AsRawFd::as_raw_fd)]
}

/// The paths to try, in order. Names with NUL bytes have been refused before, so none is lost here.
fn candidates(program: &str, path: &str) -> Vec<CString> {
    if program.contains('/') {
        return CString::new(program).into_iter().collect();
    }
    let full = |folder: &str| {
        if folder.is_empty() { program.into() } else { format!("{folder}/{program}") }
    };
    path.split(':').filter_map(|folder| CString::new(full(folder)).ok()).collect()
}

fn limits(wanted: &Rlimits, default_files: Option<libc::rlimit64>) -> [Option<Limit>; 5] {
    let both = |value: u64| libc::rlimit64 { rlim_cur: value, rlim_max: value };
    let limit = |resource, value: Option<libc::rlimit64>| value.map(|value| Limit { resource, value });
    // SIGXCPU first, and SIGKILL a second later for programs that ignore it.
    let cpu = wanted.cpu_ms.map(|ms| ms.div_ceil(1000).max(1));
    let cpu = cpu.map(|seconds| libc::rlimit64 { rlim_cur: seconds, rlim_max: seconds.saturating_add(1) });
    [
        limit(libc::RLIMIT_NOFILE, wanted.open_files.map(both).or(default_files)),
        limit(libc::RLIMIT_FSIZE, wanted.file_bytes.map(both)),
        limit(libc::RLIMIT_CPU, cpu),
        limit(libc::RLIMIT_DATA, wanted.data_bytes.map(both)),
        limit(libc::RLIMIT_NPROC, wanted.processes.map(both)),
    ]
}

/// Many C strings in one allocation.
#[derive(Debug)]
struct Texts {
    bytes: Vec<u8>,
}

impl Texts {
    fn with_room_for(start: &Start) -> Self {
        let room = start.argv.iter().chain(&start.env).map(|text| text.len() + 1).sum();
        Self { bytes: Vec::with_capacity(room) }
    }

    /// Appends the strings and returns where each begins; `None` if one contains a NUL byte.
    fn push_all(&mut self, texts: &[String]) -> Option<Vec<usize>> {
        let mut places = Vec::with_capacity(texts.len());
        for text in texts {
            if text.as_bytes().contains(&0) {
                return None;
            }
            places.push(self.bytes.len());
            self.bytes.extend_from_slice(text.as_bytes());
            self.bytes.push(0);
        }
        Some(places)
    }

    /// The addresses of the strings, then null. Valid until more is appended.
    fn pointers(&self, places: &[usize]) -> impl Iterator<Item = *const c_char> {
        let texts = places
            .iter()
            .map(|at| self.bytes.get(*at..).map_or(std::ptr::null(), |text| text.as_ptr().cast()));
        texts.chain(std::iter::once(std::ptr::null()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_looked_up_in_each_folder_and_a_path_is_not() {
        let found = |program, path| candidates(program, path).into_iter().map(|c| c.into_string().unwrap());
        assert_eq!(found("x", "/a::/b").collect::<Vec<_>>(), ["/a/x", "x", "/b/x"]);
        assert_eq!(found("./x", "/a:/b").collect::<Vec<_>>(), ["./x"]);
    }

    #[test]
    fn cpu_time_is_rounded_up_and_the_hard_limit_is_a_second_later() {
        let wanted = Rlimits { cpu_ms: Some(1001), ..Rlimits::default() };
        let cpu = limits(&wanted, None)[2].unwrap().value;
        assert_eq!((cpu.rlim_cur, cpu.rlim_max), (2, 3));
    }

    #[test]
    fn texts_keep_their_position_and_refuse_nul() {
        let mut texts = Texts { bytes: Vec::new() };
        assert_eq!(texts.push_all(&["ab".into(), "c".into()]), Some(vec![0, 3]));
        assert_eq!(texts.bytes, b"ab\0c\0");
        assert_eq!(texts.push_all(&["a\0b".into()]), None);
    }
}

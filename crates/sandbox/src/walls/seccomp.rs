//! The seccomp filter: which system calls programs inside may make.
//!
//! [`syscalls`] lists calls that are allowed and calls that fail with `ENOSYS`; [`rules`] has the calls that
//! depend on their arguments; [`search_tree`] compiles both to a program that finds its answer by binary
//! search, because a long list of comparisons would slow down every start of a program.

mod bpf;
mod rules;
mod search_tree;
mod syscalls;

#[cfg(test)]
mod machine;
#[cfg(test)]
mod tests;

use rustix::io::Errno;

use super::failure::Wall;
use super::process::last_errno;
use crate::wire::{KernelLimits, WallFailure};
use bpf::Code;

/// The filter of a session, as BPF. `cookie` is the value that [`tag_cookie`](super::tag_cookie) will return.
pub fn program(cookie: u64, kernel: KernelLimits) -> Vec<libc::sock_filter> {
    let mut code = Code::default();
    search_tree::compile(&rules::by_number(cookie, kernel), &mut code);
    code.finish()
}

/// Installs `program` for the calling thread and its descendants. Requires `no_new_privs`.
pub fn install(program: &[libc::sock_filter]) -> Result<(), WallFailure> {
    load(program).map_err(|errno| Wall::Seccomp.failed("install the seccomp filter", errno))
}

/// The same, returning the kernel's error; `E2BIG` for a program that is too long.
pub fn load(program: &[libc::sock_filter]) -> Result<(), Errno> {
    let len = libc::c_ushort::try_from(program.len()).map_err(|_| Errno::TOOBIG)?;
    let prog = libc::sock_fprog { len, filter: program.as_ptr().cast_mut() };
    // SAFETY: `prog` points at `len` instructions, which the kernel copies and checks before it returns.
    let result = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            libc::SECCOMP_FILTER_FLAG_SPEC_ALLOW,
            &raw const prog,
        )
    };
    match result {
        0 => Ok(()),
        _ => Err(last_errno()),
    }
}

//! The filter of system calls: what programs inside may ask of the kernel.
//!
//! [`syscalls`] lists what is allowed and what is answered with "no such call"; [`rules`] holds the calls whose
//! arguments decide; [`search_tree`] turns both into a program that finds its answer by halving, since a long list of
//! comparisons would cost every program at its start.

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

/// The filter of a session, ready for the kernel. `cookie` is what [`tag_cookie`](super::tag_cookie) will say.
pub fn program(cookie: u64, kernel: KernelLimits) -> Vec<libc::sock_filter> {
    let mut code = Code::default();
    search_tree::compile(&rules::by_number(cookie, kernel), &mut code);
    code.finish()
}

/// Puts the calling thread, and all that it starts from now on, under `program`. Needs `no_new_privs`.
pub fn install(program: &[libc::sock_filter]) -> Result<(), WallFailure> {
    load(program).map_err(|errno| Wall::Seccomp.failed("install the filter of system calls", errno))
}

/// The same, with the kernel's number if it refuses; `E2BIG` for a program that is too long to be handed to it.
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

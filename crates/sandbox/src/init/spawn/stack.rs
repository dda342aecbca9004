//! The child's stack between clone and exec. One is enough: init starts one program at a time.

use std::ffi::c_void;

use rustix::io::Errno;

use crate::init::signals::last_errno;

/// Far more than the child needs; only pages that are used cost memory.
const STACK_BYTES: usize = 64 * 1024;
/// At least one page, for every page size of Linux.
const GUARD_BYTES: usize = 64 * 1024;

/// A stack with a guard area below it.
#[derive(Debug)]
pub(in crate::init) struct Stack {
    base: *mut c_void,
}

impl Stack {
    /// Maps the stack for the life of the process.
    pub(in crate::init) fn new() -> Result<Self, Errno> {
        let size = STACK_BYTES + GUARD_BYTES;
        let (rights, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new anonymous mapping at an address that the kernel chooses. Its lower part is made
        // inaccessible before any pointer to it exists.
        unsafe {
            let flags = flags | libc::MAP_NORESERVE | libc::MAP_STACK;
            let base = libc::mmap(std::ptr::null_mut(), size, rights, flags, -1, 0);
            if base == libc::MAP_FAILED || libc::mprotect(base, GUARD_BYTES, libc::PROT_NONE) != 0 {
                return Err(last_errno());
            }
            Ok(Self { base })
        }
    }

    /// The top of the stack, which grows down from here. Page-aligned, and so aligned for calls.
    pub(super) fn top(&self) -> *mut c_void {
        self.base.wrapping_byte_add(STACK_BYTES + GUARD_BYTES)
    }
}

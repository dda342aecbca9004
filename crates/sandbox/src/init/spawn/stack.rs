//! The child's stack between clone and exec: one, kept for the next child, since init starts one at a time.

use std::ffi::c_void;

use rustix::io::Errno;

use crate::init::signals::last_errno;

/// Far more than the child needs; only touched pages cost memory.
const STACK_BYTES: usize = 64 * 1024;
/// No page size of Linux is larger.
const GUARD_BYTES: usize = 64 * 1024;

/// A stack with a guard below it.
#[derive(Debug)]
pub(in crate::init) struct Stack {
    base: *mut c_void,
}

impl Stack {
    /// Maps it, for the life of the process.
    pub(in crate::init) fn new() -> Result<Self, Errno> {
        let size = STACK_BYTES + GUARD_BYTES;
        let (rights, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a fresh anonymous mapping at an address of the kernel's choice, of which the lower part is then
        // made inaccessible before anyone has a pointer to it.
        unsafe {
            let flags = flags | libc::MAP_NORESERVE | libc::MAP_STACK;
            let base = libc::mmap(std::ptr::null_mut(), size, rights, flags, -1, 0);
            if base == libc::MAP_FAILED || libc::mprotect(base, GUARD_BYTES, libc::PROT_NONE) != 0 {
                return Err(last_errno());
            }
            Ok(Self { base })
        }
    }

    /// Where it begins: it grows down from here. Page-aligned, hence aligned for calls.
    pub(super) fn top(&self) -> *mut c_void {
        self.base.wrapping_byte_add(STACK_BYTES + GUARD_BYTES)
    }
}

//! Settings of the C library's allocator.

/// Makes all threads of this process share two heaps instead of up to eight for each processor, so that
/// memory used briefly by a hundred readers is reused by the next ones instead of being kept once for each
/// thread.
pub fn share_heaps() {
    #[cfg(target_env = "gnu")]
    // SAFETY: sets a parameter of the allocator, which any thread may do at any time.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 2);
    }
}

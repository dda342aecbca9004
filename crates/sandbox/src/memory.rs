//! What the C library's allocator keeps for itself.

/// Has all threads of this process share two heaps instead of up to eight for each processor: what a hundred readers
/// needed for a moment is then reused by the next ones instead of being kept once more for each thread.
pub fn share_heaps() {
    #[cfg(target_env = "gnu")]
    // SAFETY: sets a parameter of the allocator, which any thread may do at any time.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 2);
    }
}

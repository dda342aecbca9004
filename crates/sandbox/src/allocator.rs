//! Settings of the C library's allocator.

/// Blocks of at least this size are mapped one by one, and returned to the system when they are freed.
const MAPPED: libc::c_int = 1 << 20;
/// Free memory at the end of a heap is returned to the system when there is more than this.
const TRIM: libc::c_int = 4 << 20;

/// Bounds the memory that this process keeps after it was freed.
///
/// All threads share two heaps instead of up to eight for each processor, so that memory used briefly by a
/// hundred readers is reused by the next ones. Large blocks stay out of the heaps: by default, the allocator
/// takes blocks of up to 32 MiB from a heap as soon as one of that size was freed, and a small block behind
/// them keeps all of them resident.
pub fn bound_heaps() {
    #[cfg(target_env = "gnu")]
    // SAFETY: sets parameters of the allocator, which any thread may do at any time.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 2);
        libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED);
        libc::mallopt(libc::M_TRIM_THRESHOLD, TRIM);
    }
}

//! Long messages, which travel in a sealed memfd instead of in the packet.

use std::ffi::CStr;
use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd};

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fstat};
use rustix::io::{Errno, pread, write};

use super::packet::{LinkError, MAX_MESSAGE_BYTES};

pub(super) const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::WRITE);

/// Creates a file in memory. Where the seccomp filter refuses it to programs, it allows it to init, by a
/// cookie in an unused argument of the call.
pub(crate) fn memfd_create(name: &CStr, flags: MemfdFlags) -> Result<OwnedFd, Errno> {
    // SAFETY: the name is a C string that outlives the call; a returned descriptor has no other owner.
    unsafe {
        let cookie = crate::walls::tag_cookie();
        let made = libc::syscall(libc::SYS_memfd_create, name.as_ptr(), flags.bits(), 0, 0, 0, cookie);
        match i32::try_from(made) {
            Ok(fd) if fd >= 0 => Ok(OwnedFd::from_raw_fd(fd)),
            _ => Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)),
        }
    }
}

/// A sealed memfd that contains these bytes.
pub(super) fn seal(bytes: &[u8]) -> Result<OwnedFd, LinkError> {
    if bytes.len() > MAX_MESSAGE_BYTES {
        return Err(LinkError::TooLong { bytes: bytes.len() as u64 });
    }
    let fd = memfd_create(c"message", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    let mut rest = bytes;
    while !rest.is_empty() {
        let written = write(&fd, rest)?;
        rest = rest.get(written..).unwrap_or_default();
    }
    fcntl_add_seals(&fd, SEALS | SealFlags::SEAL)?;
    Ok(fd)
}

/// The contents of a sealed memfd. The seals are checked first: without them the size could change while it
/// is read.
pub(super) fn open(fd: BorrowedFd<'_>) -> Result<Vec<u8>, LinkError> {
    let seals = fcntl_get_seals(fd).map_err(|_| LinkError::NotSealed)?;
    if !seals.contains(SEALS) {
        return Err(LinkError::NotSealed);
    }
    let size = u64::try_from(fstat(fd)?.st_size).unwrap_or(u64::MAX);
    let length = usize::try_from(size).unwrap_or(usize::MAX);
    if length > MAX_MESSAGE_BYTES {
        return Err(LinkError::TooLong { bytes: size });
    }
    let mut bytes = vec![0; length];
    let mut at = 0;
    while at < length {
        match pread(fd, &mut bytes[at..], at as u64)? {
            0 => return Err(LinkError::NotSealed),
            read => at += read,
        }
    }
    Ok(bytes)
}

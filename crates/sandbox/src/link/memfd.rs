//! Long messages: a sealed memfd in place of the packet's bytes.

use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fstat, memfd_create};
use rustix::io::{pread, write};

use super::packet::{LinkError, MAX_MESSAGE_BYTES};

pub(super) const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::WRITE);

/// A memfd that holds these bytes and will hold them unchanged.
pub(super) fn seal(bytes: &[u8]) -> Result<OwnedFd, LinkError> {
    if bytes.len() > MAX_MESSAGE_BYTES {
        return Err(LinkError::TooLong { bytes: bytes.len() as u64 });
    }
    let fd = memfd_create("message", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    let mut rest = bytes;
    while !rest.is_empty() {
        let written = write(&fd, rest)?;
        rest = rest.get(written..).unwrap_or_default();
    }
    fcntl_add_seals(&fd, SEALS | SealFlags::SEAL)?;
    Ok(fd)
}

/// What a sealed memfd holds. The seals are checked first: without them the size could change under the reader.
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

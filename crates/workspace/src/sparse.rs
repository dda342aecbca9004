//! Files with holes: a file of a terabyte may contain a few bytes. Copies and hashes take time for the data, not for the
//! length, and can be cancelled after each chunk.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt;

use rustix::fs::SeekFrom;
use rustix::io::Errno;

/// The bytes of one system call: after each, cancellation is checked.
const CHUNK_BYTES: u64 = 8 << 20;
/// The bytes of one read into memory.
const BUFFER_BYTES: usize = 128 << 10;

/// Whether to stop: the session has ended, or the caller is gone.
pub type IsCancelled<'a> = &'a dyn Fn() -> bool;

/// The parts of a file, below `end`, that are not holes.
fn next_data(file: BorrowedFd<'_>, at: u64, end: u64) -> Result<Option<(u64, u64)>, Errno> {
    if at >= end {
        return Ok(None);
    }
    let data = match rustix::fs::seek(file, SeekFrom::Data(at)) {
        Err(Errno::NXIO) => return Ok(None), // a hole up to the end
        Err(Errno::INVAL | Errno::OPNOTSUPP) => return Ok(Some((at, end))), // not supported here
        data => data?,
    };
    let hole = rustix::fs::seek(file, SeekFrom::Hole(data)).unwrap_or(end).min(end);
    Ok((data < hole).then_some((data, hole)))
}

/// Copies a file into an empty one: blocks are shared where the file system supports it, else the data is copied and
/// holes stay holes. `left` limits the bytes and is reduced by them; a copy that does not fit fails with `DQUOT`, a
/// cancelled one with `CANCELED`.
pub fn copy(
    from: BorrowedFd<'_>,
    to: BorrowedFd<'_>,
    left: &mut u64,
    is_cancelled: IsCancelled<'_>,
) -> Result<(), Errno> {
    let stat = rustix::fs::fstat(from)?;
    let end = u64::try_from(stat.st_size).unwrap_or(0);
    let allocated = u64::try_from(stat.st_blocks).unwrap_or(0) * 512;
    if allocated > *left {
        return Err(Errno::DQUOT);
    }
    if rustix::fs::ioctl_ficlone(to, from).is_ok() {
        *left -= allocated;
        return Ok(());
    }
    rustix::fs::ftruncate(to, end)?;
    let mut at = 0;
    while let Some((data, hole)) = next_data(from, at, end)? {
        *left = left.checked_sub(hole - data).ok_or(Errno::DQUOT)?;
        copy_range(from, to, data, hole, is_cancelled)?;
        at = hole;
    }
    Ok(())
}

fn copy_range(
    from: BorrowedFd<'_>,
    to: BorrowedFd<'_>,
    begin: u64,
    end: u64,
    is_cancelled: IsCancelled<'_>,
) -> Result<(), Errno> {
    let (mut read, mut written) = (begin, begin);
    while read < end {
        if is_cancelled() {
            return Err(Errno::CANCELED);
        }
        let wanted = usize::try_from((end - read).min(CHUNK_BYTES)).unwrap_or(usize::MAX);
        match rustix::fs::copy_file_range(from, Some(&mut read), to, Some(&mut written), wanted) {
            Ok(0) => return Ok(()), // it became shorter
            Ok(_) | Err(Errno::INTR) => {}
            Err(Errno::XDEV | Errno::NOSYS | Errno::OPNOTSUPP | Errno::INVAL) => {
                return copy_by_hand(from, to, read, end, is_cancelled);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn copy_by_hand(
    from: BorrowedFd<'_>,
    to: BorrowedFd<'_>,
    mut at: u64,
    end: u64,
    is_cancelled: IsCancelled<'_>,
) -> Result<(), Errno> {
    let mut buffer = vec![0; BUFFER_BYTES];
    while at < end {
        if is_cancelled() {
            return Err(Errno::CANCELED);
        }
        let wanted = usize::try_from(end - at).unwrap_or(usize::MAX).min(BUFFER_BYTES);
        let place = buffer.get_mut(..wanted).unwrap_or_default();
        let n = rustix::io::retry_on_intr(|| rustix::io::pread(from, &mut *place, at))?;
        if n == 0 {
            return Ok(());
        }
        let mut chunk = buffer.get(..n).unwrap_or_default();
        while !chunk.is_empty() {
            let written = rustix::io::retry_on_intr(|| rustix::io::pwrite(to, chunk, at))?;
            at += written as u64;
            chunk = chunk.get(written..).unwrap_or_default();
        }
    }
    Ok(())
}

/// The hash and the length of a file. The hash covers the length and all blocks that are not zero, with their offsets:
/// a hole and written zeros are equal, and holes need not be read.
pub fn hash(file: &File, is_cancelled: IsCancelled<'_>) -> io::Result<(String, u64)> {
    let end = file.metadata()?.len();
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut at = 0;
    while let Some((data, hole)) = next_data(file.as_fd(), at, end)? {
        // Blocks begin at multiples of their size, wherever the file system reports data.
        at = data - data % BUFFER_BYTES as u64;
        while at < hole {
            if is_cancelled() {
                return Err(Errno::CANCELED.into());
            }
            let n = read_block(file, &mut buffer, at)?;
            let Some(block) = buffer.get(..n).filter(|block| !block.is_empty()) else { break };
            if block.iter().any(|byte| *byte != 0) {
                hasher.update(&at.to_le_bytes());
                hasher.update(block);
            }
            at += BUFFER_BYTES as u64;
        }
        at = at.max(hole);
    }
    hasher.update(&end.to_le_bytes());
    Ok((hasher.finalize().to_hex().to_string(), end))
}

/// Reads a whole block, or up to the end of the file.
fn read_block(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, at + filled as u64)? {
            0 => break,
            n => filled += n,
        }
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    const TERABYTE: u64 = 1 << 40;

    fn sparse(parts: &[(u64, &[u8])], length: u64) -> File {
        let file = tempfile::tempfile().unwrap();
        file.set_len(length).unwrap();
        for (at, bytes) in parts {
            file.write_all_at(bytes, *at).unwrap();
        }
        file
    }

    #[test]
    fn a_terabyte_with_a_few_bytes_is_copied_and_hashed_at_once_with_its_holes() {
        let from = sparse(&[(5, b"near"), (TERABYTE / 2 - 3, b"across"), (TERABYTE - 4, b"last")], TERABYTE);
        let (to, mut left) = (tempfile::tempfile().unwrap(), 1 << 20);
        copy(from.as_fd(), to.as_fd(), &mut left, &|| false).unwrap();
        let about = to.metadata().unwrap();
        assert_eq!(about.len(), TERABYTE);
        assert!(about.blocks() * 512 < 1 << 20, "{} blocks", about.blocks());
        let mut bytes = [0; 6];
        to.read_exact_at(&mut bytes, TERABYTE / 2 - 3).unwrap();
        assert_eq!(&bytes, b"across");
        assert_eq!(hash(&from, &|| false).unwrap(), hash(&to, &|| false).unwrap());
    }

    #[test]
    fn a_hash_depends_on_content_and_holes_count_as_zeros() {
        let hash = |file: &File| hash(file, &|| false).unwrap();
        let zeros = vec![0; 300_000];
        let plain = hash(&sparse(&[(299_990, b"x")], 300_000));
        assert_eq!(plain, hash(&sparse(&[(0, &zeros), (299_990, b"x")], 300_000)));
        assert_ne!(plain, hash(&sparse(&[(299_991, b"x")], 300_000)));
        assert_ne!(plain, hash(&sparse(&[(299_990, b"x")], 300_001)));
        assert_ne!(plain, hash(&sparse(&[(299_990 - BUFFER_BYTES as u64, b"x")], 300_000)));
    }

    #[test]
    fn a_copy_that_does_not_fit_or_is_cancelled_is_not_made() {
        let from = sparse(&[(0, &vec![7; 200_000])], 200_000);
        let copy = |mut left: u64, cancelled: bool| {
            copy(from.as_fd(), tempfile::tempfile().unwrap().as_fd(), &mut left, &|| cancelled)
        };
        assert_eq!(copy(100_000, false), Err(Errno::DQUOT));
        assert_eq!(copy(1 << 20, false), Ok(()), "the control");
        // Where the disk shares blocks there is nothing to cancel.
        assert!(matches!(copy(1 << 20, true), Err(Errno::CANCELED) | Ok(())));
        assert!(hash(&from, &|| true).is_err());
    }
}

//! ZIP archives: reading those that users send ([`read`]) and writing ours ([`write`]). Names are bytes, as on the disk.
//!
//! Reading uses `rawzip`. Its writer is not used: it changes names that are text (`a\\b` becomes `a/b`), and an entry of more
//! than 4 GiB gets a header that says less.

mod read;
mod write;

pub(crate) use self::read::{Entry, for_each};
pub(crate) use self::write::ZipWriter;

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{self, Write};

    use super::*;

    /// An entry's name, mode and content.
    type Seen = (Vec<u8>, u32, Vec<u8>);

    fn read_all(archive: &[u8], max_entries: u64) -> io::Result<Vec<Seen>> {
        let mut file = tempfile::tempfile()?;
        file.write_all(archive)?;
        let mut seen = Vec::new();
        for_each::<io::Error>(
            File::try_clone(&file)?,
            max_entries,
            |error| error,
            |entry, content| {
                let mut bytes = Vec::new();
                content.read_to_end(&mut bytes)?;
                seen.push((entry.name.clone(), entry.mode, bytes));
                Ok(())
            },
        )?;
        Ok(seen)
    }

    #[test]
    fn a_written_archive_is_read_again_whatever_the_names() {
        let mut out = Vec::new();
        let mut writer = ZipWriter::new(&mut out);
        writer.folder(b"empty/", 0o750).unwrap();
        writer.file(b"a\nb \xff", 0o640, 5, &mut &b"hello"[..]).unwrap();
        writer.file("ü".as_bytes(), 0o755, 0, &mut &b""[..]).unwrap();
        writer.file(b"a\\b", 0o644, 1, &mut &b"x"[..]).unwrap();
        writer.link(b"link", b"a\nb \xff").unwrap();
        writer.finish().unwrap();
        assert_eq!(
            read_all(&out, 100).unwrap(),
            [
                (b"empty/".to_vec(), 0o040_750, b"".to_vec()),
                (b"a\nb \xff".to_vec(), 0o100_640, b"hello".to_vec()),
                ("ü".as_bytes().to_vec(), 0o100_755, b"".to_vec()),
                (b"a\\b".to_vec(), 0o100_644, b"x".to_vec()),
                (b"link".to_vec(), 0o120_777, b"a\nb \xff".to_vec()),
            ]
        );
    }

    #[test]
    fn a_damaged_archive_is_an_error_and_never_a_panic() {
        let mut out = Vec::new();
        let mut writer = ZipWriter::new(&mut out);
        writer.file(b"name", 0o644, 1000, &mut [7; 1000].as_slice()).unwrap();
        writer.finish().unwrap();
        assert!(read_all(&out, 1).is_ok(), "the control");
        for cut in 0..out.len() {
            assert!(read_all(&out[..cut], 100).is_err(), "cut at {cut}");
        }
        for at in 0..out.len() {
            let mut spoiled = out.clone();
            spoiled[at] ^= 0x55;
            let _ = read_all(&spoiled, 100);
        }
        assert!(read_all(&out, 0).is_err(), "too many entries");
    }
}

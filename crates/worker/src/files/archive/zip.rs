//! The parts of a ZIP archive that reading and writing share. Names are bytes, as on the disk, and only the current entry
//! is in memory; libraries for ZIP keep the whole directory in memory and require text.

mod read;
mod write;

pub(crate) use self::read::{Entry, Zip};
pub(crate) use self::write::ZipWriter;

const LOCAL: u32 = 0x0403_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const DESCRIPTOR: u32 = 0x0807_4b50;
const END: u32 = 0x0605_4b50;
const END_64: u32 = 0x0606_4b50;
const LOCATOR_64: u32 = 0x0706_4b50;
/// The extra field with sizes that need more than 32 bits.
const EXTRA_64: u16 = 0x0001;

const STORED: u16 = 0;
const DEFLATED: u16 = 8;
/// The name is UTF-8.
const UTF8: u16 = 1 << 11;
/// Sizes and checksum come after the data.
const STREAMED: u16 = 1 << 3;
/// The system code of Unix: the mode is in the upper half of the attributes.
const UNIX: u8 = 3;

/// The value of a 32-bit field whose real value is in the 64-bit extra field; also the largest 32-bit size.
const IN_EXTRA_64: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Read};

    use super::*;

    #[test]
    fn a_written_archive_is_read_again_whatever_the_names() {
        let mut out = Vec::new();
        let mut writer = ZipWriter::new(&mut out);
        writer.folder(b"empty/", 0o750).unwrap();
        writer.file(b"a\nb \xff", 0o640, 5, &mut &b"hello"[..]).unwrap();
        writer.file("ü".as_bytes(), 0o755, 0, &mut &b""[..]).unwrap();
        writer.link(b"link", b"a\nb \xff").unwrap();
        writer.finish().unwrap();
        let mut zip = Zip::open(Cursor::new(out), 100).unwrap();
        let mut seen = Vec::new();
        while let Some(entry) = zip.next().unwrap() {
            let mut content = Vec::new();
            zip.content(&entry).unwrap().read_to_end(&mut content).unwrap();
            seen.push((entry.name.clone(), entry.mode, content));
        }
        assert_eq!(
            seen,
            [
                (b"empty/".to_vec(), 0o040_750, b"".to_vec()),
                (b"a\nb \xff".to_vec(), 0o100_640, b"hello".to_vec()),
                ("ü".as_bytes().to_vec(), 0o100_755, b"".to_vec()),
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
        for cut in 0..out.len() {
            assert!(Zip::open(Cursor::new(&out[..cut]), 100).is_err(), "cut at {cut}");
        }
        for at in 0..out.len() {
            let mut spoiled = out.clone();
            spoiled[at] ^= 0x55;
            if let Ok(mut zip) = Zip::open(Cursor::new(spoiled), 100) {
                while let Ok(Some(entry)) = zip.next() {
                    if let Ok(mut content) = zip.content(&entry) {
                        let _ = content.read_to_end(&mut Vec::new());
                    }
                }
            }
        }
        assert!(Zip::open(Cursor::new(out), 0).is_err(), "more entries than may be");
    }
}

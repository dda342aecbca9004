//! Archives that somebody sends, made by hand: each hostile one is refused, and says why.

use std::fs;
use std::io::{Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use ::tar::{Builder, EntryType, Header};
use tempfile::TempDir;

use super::*;

const BOUNDS: Bounds = Bounds { bytes: 64 << 20, length: 256 << 20, entries: 100 };

fn open(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    file.rewind().unwrap();
    file
}

fn try_it(bytes: &[u8], format: ArchiveFormat) -> (TempDir, Result<Extracted, Fault>) {
    let folder = tempfile::tempdir().unwrap();
    let tree = Workspace::open(folder.path(), None).unwrap();
    let extracted = unpack(open(bytes), format, &tree, BOUNDS, &|| false);
    (folder, extracted.map(|(extracted, _)| extracted))
}

/// An entry whose name is not looked at by the library that writes it.
fn entry(out: &mut Builder<Vec<u8>>, kind: EntryType, name: &[u8], link: &[u8], data: &[u8]) {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_size(data.len() as u64);
    header.set_mode(0o4755);
    header.as_old_mut().name[..name.len()].copy_from_slice(name);
    header.as_old_mut().linkname[..link.len()].copy_from_slice(link);
    header.set_cksum();
    out.append(&header, data).unwrap();
}

/// Kind, name, what a link says, content.
type Made<'a> = (EntryType, &'a [u8], &'a [u8], &'a [u8]);

fn tar(entries: &[Made<'_>]) -> Vec<u8> {
    let mut out = Builder::new(Vec::new());
    for (kind, name, link, data) in entries {
        entry(&mut out, *kind, name, link, data);
    }
    out.into_inner().unwrap()
}

#[test]
fn a_valid_archive_is_unpacked_without_setuid_bits() {
    let bytes = tar(&[
        (EntryType::Directory, b"./", b"", b""),
        (EntryType::Regular, b"./a/b", b"", b"text"),
        (EntryType::Directory, b"a/", b"", b""),
        (EntryType::Symlink, b"a/up", b"../a/b", b""),
        (EntryType::Regular, b"\xff\n", b"", b""),
    ]);
    let (folder, extracted) = try_it(&bytes, ArchiveFormat::Tar);
    assert_eq!(extracted.unwrap(), Extracted { files: 2, folders: 1, links: 1, bytes: 4 });
    assert_eq!(fs::read(folder.path().join("a/up")).unwrap(), b"text");
    let mode = fs::metadata(folder.path().join("a/b")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o755);
    assert_eq!(fs::metadata(folder.path().join("a/b")).unwrap().nlink(), 1);
}

#[test]
fn hostile_tars_are_refused() {
    use EntryType::{Block, Char, Directory, Fifo, Link, Regular, Symlink};
    let deep = b"d/".repeat(45);
    let cases: &[(&str, Vec<u8>)] = &[
        ("..", tar(&[(Regular, b"../x", b"", b"")])),
        ("..", tar(&[(Regular, b"a/../../x", b"", b"")])),
        ("absolute", tar(&[(Regular, b"/etc/x", b"", b"")])),
        ("invalid target", tar(&[(Symlink, b"a", b"", b"")])),
        ("hard link", tar(&[(Regular, b"a", b"", b""), (Link, b"b", b"a", b"")])),
        ("device", tar(&[(Char, b"a", b"", b"")])),
        ("device", tar(&[(Block, b"a", b"", b"")])),
        ("FIFO", tar(&[(Fifo, b"a", b"", b"")])),
        ("twice", tar(&[(Regular, b"a", b"", b""), (Regular, b"./a", b"", b"x")])),
        ("twice", tar(&[(Directory, b"a/", b"", b""), (Directory, b"a", b"", b"")])),
        ("twice", tar(&[(Directory, b"a/", b"", b""), (Regular, b"a", b"", b"")])),
        ("not a folder", tar(&[(Symlink, b"a", b"b", b""), (Regular, b"a/x", b"", b"")])),
        ("not a folder", tar(&[(Symlink, b"a", b"/tmp", b""), (Regular, b"a/x", b"", b"")])),
        ("twice", tar(&[(Symlink, b"a", b"/tmp", b""), (Directory, b"a/", b"", b"")])),
        ("twice", tar(&[(Symlink, b"a", b"/tmp/x", b""), (Regular, b"a", b"", b"x")])),
        ("not a folder", tar(&[(Regular, b"a", b"", b""), (Regular, b"a/x", b"", b"")])),
        ("folder with content", tar(&[(Directory, b"a/", b"", b"data")])),
        ("entries", tar(&many().collect::<Vec<_>>())),
        ("refused", b"this is no archive".to_vec()),
        ("empty", Vec::new()),
        ("refused", tar(&[(Regular, b"a", b"", &[1; 5000])])[..2000].to_vec()),
    ];
    for (n, (says, bytes)) in cases.iter().enumerate() {
        let (_folder, extracted) = try_it(bytes, ArchiveFormat::Tar);
        let fault = extracted.expect_err(&format!("case {n}: {says}"));
        assert_eq!(fault.kind, FaultKind::Invalid, "case {n}: {fault}");
        assert!(fault.message.contains(says), "case {n}, `{says}`: {fault}");
    }
    let nested = [deep.as_slice(), b"x"].concat();
    assert!(try_it(&tar(&[(Regular, &nested, b"", b"")]), ArchiveFormat::Tar).1.is_ok(), "the control");
}

/// More than there may be.
fn many() -> impl Iterator<Item = Made<'static>> {
    (0..=BOUNDS.entries).map(|n| {
        let name: &'static [u8] = Box::leak(format!("f{n}").into_bytes().into_boxed_slice());
        (EntryType::Regular, name, &b""[..], &b""[..])
    })
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

#[test]
fn bombs_are_refused_before_they_fill_the_disk_or_the_memory() {
    // Zeros take no room, but their length is bounded too.
    let zeros = |mib: usize| gzip(&tar(&[(EntryType::Regular, b"zeros", b"", &vec![0; mib << 20])]));
    let fault = try_it(&zeros(257), ArchiveFormat::TarGz).1.unwrap_err();
    assert!(fault.message.contains("in total"), "{fault}");
    let (folder, extracted) = try_it(&zeros(200), ArchiveFormat::TarGz);
    assert_eq!(extracted.unwrap().bytes, 200 << 20, "the control");
    let about = fs::metadata(folder.path().join("zeros")).unwrap();
    assert!(about.len() == 200 << 20 && about.blocks() < 1000, "{about:?}");
    let packed = gzip(&tar(&[(EntryType::Regular, b"text", b"", &vec![b'x'; 65 << 20])]));
    assert_eq!(try_it(&packed, ArchiveFormat::TarGz).1.unwrap_err().kind, FaultKind::Full);
    let large = tar(&[(EntryType::Regular, b"a", b"", &vec![1; 65 << 20])]);
    assert_eq!(try_it(&large, ArchiveFormat::Tar).1.unwrap_err().kind, FaultKind::Full);
    // A name of 30 MiB, which a library reads at once.
    let long = gzip(&tar(&[
        (EntryType::GNULongName, b"././@LongLink", b"", &vec![b'n'; 30 << 20]),
        (EntryType::Regular, b"a", b"", b""),
    ]));
    let fault = try_it(&long, ArchiveFormat::TarGz).1.unwrap_err();
    assert!(fault.message.contains("header is too long"), "{fault}");
}

#[test]
fn hostile_zips_are_refused() {
    let zip = |build: &dyn Fn(&mut super::super::zip::ZipWriter<&mut Vec<u8>>)| {
        let mut out = Vec::new();
        let mut zip = super::super::zip::ZipWriter::new(&mut out);
        build(&mut zip);
        zip.finish().unwrap();
        out
    };
    let file = |name: &'static [u8]| {
        move |zip: &mut super::super::zip::ZipWriter<&mut Vec<u8>>| {
            zip.file(name, 0o644, 1, &mut &b"x"[..]).unwrap();
        }
    };
    let cases: &[(&str, Vec<u8>)] = &[
        ("..", zip(&file(b"../x"))),
        ("absolute", zip(&file(b"/x"))),
        ("invalid target", zip(&|zip| zip.link(b"a", b"").unwrap())),
        (
            "twice",
            zip(&|zip| {
                file(b"a")(zip);
                file(b"a")(zip);
            }),
        ),
        (
            "not a folder",
            zip(&|zip| {
                zip.link(b"a", b"b").unwrap();
                file(b"a/x")(zip);
            }),
        ),
        ("end of central directory", b"PK".to_vec()),
        ("end of central directory", Vec::new()),
    ];
    for (n, (says, bytes)) in cases.iter().enumerate() {
        let fault = try_it(bytes, ArchiveFormat::Zip).1.expect_err(&format!("case {n}: {says}"));
        assert!(
            fault.kind == FaultKind::Invalid && fault.message.contains(says),
            "case {n}, `{says}`: {fault}"
        );
    }
    let bomb =
        zip(&|zip| zip.file(b"zeros", 0o644, 257 << 20, &mut std::io::repeat(0).take(257 << 20)).unwrap());
    let fault = try_it(&bomb, ArchiveFormat::Zip).1.unwrap_err();
    assert!(fault.message.contains("in total"), "{fault}");
    // Two entries of the directory that stand for the same data.
    let once = zip(&|zip| zip.file(b"a", 0o644, 4 << 20, &mut std::io::repeat(7).take(4 << 20)).unwrap());
    let fault = try_it(&overlapping(&once), ArchiveFormat::Zip).1.unwrap_err();
    assert!(fault.message.contains("overlap"), "{fault}");
}

/// The archive with its directory's one entry 50 times, under other names.
fn overlapping(zip: &[u8]) -> Vec<u8> {
    let end = zip.len() - 22;
    let at = u32::from_le_bytes(zip[end + 16..end + 20].try_into().unwrap()) as usize;
    let mut out = zip[..at].to_vec();
    // So that the directory itself is not what makes the archive large enough.
    for n in 0..50_u8 {
        let mut entry = zip[at..end].to_vec();
        entry[46] = b'A' + n % 26;
        out.extend_from_slice(&entry);
    }
    let length = u32::try_from(out.len() - at).unwrap();
    let mut tail = zip[end..].to_vec();
    tail[8..10].copy_from_slice(&50_u16.to_le_bytes());
    tail[10..12].copy_from_slice(&50_u16.to_le_bytes());
    tail[12..16].copy_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&tail);
    out
}

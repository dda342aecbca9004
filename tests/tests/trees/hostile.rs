//! Hostile archives: each is refused as a whole, and nothing of it is unpacked.

use std::io::Write;

use anyhow::{Result, ensure};
use headwater_tests::http::error_of;
use tar::{Builder, EntryType, Header};

use crate::{new, staged, upload, with};

/// An archive with a valid file first, and then an entry that the writing library does not check.
fn hostile(kind: EntryType, name: &[u8], link: &[u8], data: &[u8]) -> Result<Vec<u8>> {
    let mut out = Builder::new(Vec::new());
    for (kind, name, link, data) in
        [(EntryType::Regular, &b"good"[..], &b""[..], &b"x"[..]), (kind, name, link, data)]
    {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(data.len() as u64);
        header.set_mode(0o6755);
        header.as_old_mut().name[..name.len()].copy_from_slice(name);
        header.as_old_mut().linkname[..link.len()].copy_from_slice(link);
        header.set_cksum();
        out.append(&header, data)?;
    }
    Ok(out.into_inner()?)
}

/// A link, and then a file whose path leads through it.
fn through(target: &[u8]) -> Result<Vec<u8>> {
    let mut out = Builder::new(Vec::new());
    for (kind, name, link) in
        [(EntryType::Symlink, &b"l"[..], target), (EntryType::Regular, &b"l/canary"[..], &b""[..])]
    {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(0);
        header.set_mode(0o644);
        header.as_old_mut().name[..name.len()].copy_from_slice(name);
        header.as_old_mut().linkname[..link.len()].copy_from_slice(link);
        header.set_cksum();
        out.append(&header, &b""[..])?;
    }
    Ok(out.into_inner()?)
}

fn zip(entries: &[(&str, Option<&str>)]) -> Result<Vec<u8>> {
    let mut out = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    for (name, link) in entries {
        if let Some(target) = link {
            out.add_symlink(*name, *target, options)?;
        } else {
            out.start_file(*name, options)?;
            out.write_all(b"x")?;
        }
    }
    Ok(out.finish()?.into_inner())
}

fn gzip(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    out.write_all(bytes)?;
    Ok(out.finish()?)
}

#[tokio::test]
async fn hostile_archives_are_refused_whole_and_nothing_of_them_is_seen() -> Result<()> {
    let fixture = new().await?;
    let canary = fixture.folder().join("canary");
    let zeros = vec![0; 40 << 20];
    let cases: Vec<(&str, &str, Vec<u8>)> = vec![
        ("upwards", "tar", hostile(EntryType::Regular, b"../canary", b"", b"x")?),
        ("upwards in the middle", "tar", hostile(EntryType::Regular, b"a/../../canary", b"", b"x")?),
        ("absolute", "tar", hostile(EntryType::Regular, b"/tmp/canary", b"", b"x")?),
        ("a hard link", "tar", hostile(EntryType::Link, b"l", b"good", b"")?),
        ("a hard link to the host", "tar", hostile(EntryType::Link, b"l", b"/etc/passwd", b"")?),
        ("a device", "tar", hostile(EntryType::Char, b"null", b"", b"")?),
        ("a disk", "tar", hostile(EntryType::Block, b"sda", b"", b"")?),
        ("a FIFO", "tar", hostile(EntryType::Fifo, b"fifo", b"", b"")?),
        ("twice", "tar", hostile(EntryType::Regular, b"good", b"", b"y")?),
        ("in a file", "tar", hostile(EntryType::Regular, b"good/x", b"", b"y")?),
        ("cut", "tar", hostile(EntryType::Regular, b"long", b"", &[7; 9000])?[..4000].to_vec()),
        ("through a link to the host", "tar", through(b"/tmp")?),
        ("through a link upwards", "tar", through(b"..")?),
        ("a long name", "tar.gz", gzip(&hostile(EntryType::GNULongName, b"x", b"", &zeros)?)?),
        ("no gzip", "tar.gz", hostile(EntryType::Regular, b"f", b"", b"y")?),
        ("a zip upwards", "zip", zip(&[("good", None), ("../canary", None)])?),
        ("an absolute zip", "zip", zip(&[("good", None), ("/tmp/canary", None)])?),
        ("a zip through a link out", "zip", zip(&[("good", None), ("l", Some("/tmp")), ("l/canary", None)])?),
        ("a zip through a link", "zip", zip(&[("good", None), ("l", Some("d")), ("l/x", None)])?),
        ("no zip", "zip", b"PK\x03\x04 and nothing else".to_vec()),
        ("nothing", "tar", Vec::new()),
    ];
    for (what, format, archive) in cases {
        let answer = upload(&fixture, &format!("format={format}"), &archive).await?;
        error_of(&answer, 400).map_err(|error| error.context(what))?;
        let left = std::fs::read_dir(fixture.workspace())?.count();
        ensure!(left == 0, "{what}: something was unpacked");
        ensure!(!canary.exists() && staged(&fixture) == 0, "{what}: something is left");
    }
    // The control: the valid file alone is unpacked, without setuid bits.
    let good = hostile(EntryType::Regular, b"other", b"", b"y")?;
    assert_eq!(upload(&fixture, "", &good).await?.status, 200);
    assert_eq!(fixture.run("stat -c '%a %n' *").await?, "755 good\n755 other\n");
    Ok(())
}

#[tokio::test]
async fn an_archive_whose_sender_goes_away_is_not_unpacked() -> Result<()> {
    let fixture = new().await?;
    let archive = hostile(EntryType::Regular, b"f", b"", b"y")?;
    let bearer = format!("Bearer {}", fixture.server.token());
    let path = fixture.path("files/archive");
    let length = (archive.len() + 1).to_string();
    let headers = [("Authorization", bearer.as_str()), ("Content-Length", length.as_str())];
    // All but the last byte that was announced; then the connection ends.
    let mut stream = tokio::net::TcpStream::connect(fixture.server.address()).await?;
    let head = format!("PUT {path} HTTP/1.1\r\nHost: {}\r\n", fixture.server.address());
    let head = headers.iter().fold(head, |head, (name, value)| format!("{head}{name}: {value}\r\n")) + "\r\n";
    tokio::io::AsyncWriteExt::write_all(&mut stream, head.as_bytes()).await?;
    tokio::io::AsyncWriteExt::write_all(&mut stream, &archive).await?;
    headwater_tests::host::eventually("the upload has begun", async || staged(&fixture) == 1).await?;
    drop(stream);
    headwater_tests::host::eventually("the upload is given up", async || staged(&fixture) == 0).await?;
    assert_eq!(std::fs::read_dir(fixture.workspace())?.count(), 0);
    Ok(())
}

#[tokio::test]
async fn an_archive_that_unpacks_to_more_than_the_session_may_hold_is_refused() -> Result<()> {
    let fixture = with(&serde_json::json!({"limits": {"disk_bytes": 8 << 20}})).await?;
    for (status, byte) in [(413, b'x'), (400, 0)] {
        let bomb = gzip(&hostile(EntryType::Regular, b"large", b"", &vec![byte; 40 << 20])?)?;
        error_of(&upload(&fixture, "format=tar.gz", &bomb).await?, status)?;
        ensure!(std::fs::read_dir(fixture.workspace())?.count() == 0 && staged(&fixture) == 0);
    }
    // The control: an archive that fits is unpacked, however small it was packed, and zeros take no space.
    for byte in [b'x', 0] {
        let packed = gzip(&hostile(EntryType::Regular, b"large", b"", &vec![byte; 6 << 20])?)?;
        assert_eq!(upload(&fixture, "format=tar.gz", &packed).await?.status, 200);
    }
    Ok(())
}

//! Trees as archives, out and in again.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::{Cursor, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use anyhow::{Result, ensure};
use headwater_tests::http::{error_of, text};
use serde_json::json;

use crate::{download, new, staged, upload, with};

/// Kind, rights and content of everything below a folder, by the bytes of its path.
type Tree = BTreeMap<Vec<u8>, (char, u32, Vec<u8>)>;

fn tree(folder: &Path) -> Result<Tree> {
    let mut all = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next)? {
            let path = entry?.path();
            let about = fs::symlink_metadata(&path)?;
            let rights = about.permissions().mode() & 0o7777;
            let name = path.strip_prefix(folder)?.as_os_str().as_bytes().to_vec();
            if about.is_dir() {
                all.insert(name, ('d', rights, Vec::new()));
                folders.push(path);
            } else if about.is_symlink() {
                all.insert(name, ('l', 0, fs::read_link(&path)?.into_os_string().into_vec()));
            } else if about.is_file() {
                all.insert(name, ('f', rights, fs::read(&path)?));
            }
        }
    }
    Ok(all)
}

/// A tree with everything that is odd and may be.
fn make_odd(folder: &Path) -> Result<()> {
    let at = |name: &[u8]| folder.join(OsStr::from_bytes(name));
    fs::create_dir_all(at(b"empty/inner"))?;
    fs::create_dir(at(b"sub"))?;
    let long = "n".repeat(250);
    let names: [&[u8]; 7] = [
        b"plain",
        b"line\nend \"quoted\" 'x' *",
        b"\xff\xfe",
        "ünï ☃".as_bytes(),
        b"-rf",
        b"sub/ lead",
        long.as_bytes(),
    ];
    for (n, name) in names.iter().enumerate() {
        fs::write(at(name), format!("content {n}\n").repeat(n * 1000))?;
        fs::set_permissions(at(name), fs::Permissions::from_mode([0o644, 0o755, 0o400, 0o600][n % 4]))?;
    }
    fs::write(at(b"sub/binary"), (0..=255).cycle().take(300_000).collect::<Vec<u8>>())?;
    fs::set_permissions(at(b"empty"), fs::Permissions::from_mode(0o750))?;
    symlink("../plain", at(b"sub/link"))?;
    symlink("nowhere", at(b"dangling"))?;
    Ok(())
}

#[tokio::test]
async fn a_tree_goes_out_and_comes_in_again_as_it_was() -> Result<()> {
    let fixture = new().await?;
    make_odd(&fixture.workspace())?;
    rustix::fs::mknodat(
        rustix::fs::CWD,
        fixture.workspace().join("fifo"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )?;
    let expected = tree(&fixture.workspace())?; // without the FIFO
    for format in ["tar", "tar.gz", "zip"] {
        let archive = download(&fixture, &format!("format={format}")).await?;
        let into = format!("path=in-{format}&format={format}");
        let answer = upload(&fixture, &into, &archive).await?;
        ensure!(answer.status == 200, "{format}: {}", answer.text());
        let folder = fixture.workspace().join(format!("in-{format}"));
        assert_eq!(tree(&folder)?, expected, "{format}");
        let owner = |path: &Path| fs::symlink_metadata(path).map(|about| (about.uid(), about.gid()));
        assert_eq!(owner(&folder.join("plain"))?, owner(&fixture.workspace())?, "it belongs to the session");
        assert_eq!(owner(&folder.join("sub/link"))?, owner(&fixture.workspace())?);
        // The session can use and remove it.
        fixture.run(&format!("cat in-{format}/sub/link && rm -r in-{format}")).await?;
    }
    assert_eq!(staged(&fixture), 0, "nothing is left behind");
    Ok(())
}

/// A workspace as people have it: a virtual environment with absolute links, text that packs well, holes, folders that
/// nobody may write, a deep tree; and two things that no archive has.
const WORKSPACE: &str = r#"
python3 -m venv --without-pip .venv
ln -s /usr/bin/env absolute && ln -s ../../outside outside && ln -s 'a//b/./c' odd && ln -s "$(printf 'x%.0s' $(seq 3000))" long
yes 0 | head -c 50M > zeros.txt
truncate -s 64M sparse && printf middle | dd of=sparse bs=1 seek=33554431 conv=notrunc status=none
mkdir -p read-only/inner empty/inner && echo kept > read-only/inner/file && chmod 444 read-only/inner/file
chmod 555 read-only/inner && chmod 500 read-only
deep=deep; for n in $(seq 100); do deep=$deep/d; done; mkdir -p $deep && echo end > $deep/file
printf x > "$(printf 'new\nline \377')"; printf '' > nothing
mkfifo fifo && python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("socket")'
"#;

#[tokio::test]
async fn our_own_archive_of_a_workspace_is_unpacked_in_another_session_as_it_was() -> Result<()> {
    let fixture = new().await?;
    fixture.run(WORKSPACE).await?;
    let expected = tree(&fixture.workspace())?;
    ensure!(
        expected.values().any(|(kind, _, text)| *kind == 'l' && text.starts_with(b"/usr/bin/")),
        "the venv"
    );
    for format in ["tar", "tar.gz", "zip"] {
        let route = fixture.path(&format!("files/archive?format={format}"));
        let archive = fixture.get(&route).await?;
        ensure!(archive.status == 200, "{format}: {}", archive.text());
        ensure!(
            archive.head.to_lowercase().contains("x-headwater-left-out: 2"),
            "{format}: {}",
            archive.head
        );
        let other = text(&fixture.post_ok("/v1/sessions", &json!({})).await?["id"]);
        let route = format!("/v1/sessions/{other}/files/archive?format={format}");
        let answer = fixture.request("PUT", &route, &[], &archive.body).await?;
        ensure!(answer.status == 200, "{format}: {}", answer.text());
        let workspace = fixture.server.data().join("sessions").join(&other).join("workspace");
        let found = tree(&workspace)?;
        let differ: Vec<_> =
            expected.iter().filter(|(name, about)| found.get(*name) != Some(about)).collect();
        let names: Vec<_> = differ
            .iter()
            .map(|(name, (kind, mode, _))| format!("{kind} {mode:o} {}", name.escape_ascii()))
            .collect();
        ensure!(names.is_empty() && found.len() == expected.len(), "{format}: {names:?}");
        // It works, zeros became holes, and the session can remove all of it.
        let line = "test \"$(.venv/bin/python -c 'print(6 * 7)')\" = 42 && test $(du -k sparse | cut -f1) -lt 1024 && \
                    chmod -R u+rwx read-only && rm -r read-only deep";
        fixture.run_in(&other, line).await?;
    }
    Ok(())
}

#[tokio::test]
async fn archives_are_read_and_written_as_others_do() -> Result<()> {
    let fixture = new().await?;
    fixture.run("mkdir d && printf hello > d/f && ln -s f d/l && chmod 754 d/f").await?;
    let archive = download(&fixture, "path=d&format=zip").await?;
    let mut zip = zip::ZipArchive::new(Cursor::new(archive))?;
    let names: Result<Vec<_>, _> =
        zip.file_names().map(|name| name.map(std::borrow::Cow::into_owned)).collect();
    let mut names = names?;
    names.sort();
    assert_eq!(names, ["f", "l"]);
    let mut content = String::new();
    let mut file = zip.by_name("f")?;
    assert_eq!(file.unix_mode().map(|mode| mode & 0o777), Some(0o754));
    file.read_to_string(&mut content)?;
    assert_eq!(content, "hello");
    let mut tar = tar::Archive::new(flate2::read::GzDecoder::new(Cursor::new(
        download(&fixture, "format=tar.gz").await?,
    )));
    let mut paths: Vec<_> =
        tar.entries()?.map(|entry| Ok(entry?.path()?.into_owned())).collect::<Result<_>>()?;
    paths.sort();
    assert_eq!(paths, ["d/", "d/f", "d/l"].map(Path::new));
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    writer.start_file("made/by/zip", options.unix_permissions(0o700))?;
    std::io::Write::write_all(&mut writer, b"from another")?;
    writer.add_directory("made/empty", options)?;
    let answer = upload(&fixture, "format=zip", &writer.finish()?.into_inner()).await?;
    ensure!(answer.status == 200, "{}", answer.text());
    assert_eq!(fixture.run("cat made/by/zip && ls -d made/empty").await?, "from anothermade/empty\n");
    Ok(())
}

#[tokio::test]
async fn a_conflict_is_reported_before_anything_is_changed() -> Result<()> {
    let fixture = new().await?;
    fixture.run("mkdir -p from/a from/b && echo new > from/a/f && echo new > from/b/f").await?;
    let archive = download(&fixture, "path=from").await?;
    fixture.run("mkdir to && mkdir to/a && echo old > to/a/f && echo a file > to/b").await?;
    let error = error_of(&upload(&fixture, "path=to", &archive).await?, 409)?;
    ensure!(text(&error["message"]).contains("to/b"), "{error}");
    assert_eq!(fixture.run("cat to/a/f").await?, "old\n", "nothing was changed");
    fixture.run("rm to/b && echo kept > to/a/other").await?;
    assert_eq!(upload(&fixture, "path=to", &archive).await?.status, 200);
    assert_eq!(fixture.run("cat to/a/f to/b/f to/a/other").await?, "new\nnew\nkept\n");
    // Through a link nothing is unpacked, and nothing is packed.
    fixture.run("ln -s /tmp link && ln -s to inner").await?;
    for query in ["path=link", "path=inner/x", "path=link/x"] {
        error_of(&upload(&fixture, query, &archive).await?, 409)?;
    }
    for query in ["path=link", "path=to/a/f"] {
        let answer = fixture.get(&fixture.path(&format!("files/archive?{query}"))).await?;
        error_of(&answer, 409)?;
    }
    let answer = fixture.get(&fixture.path("files/archive?path=none")).await?;
    error_of(&answer, 404)?;
    Ok(())
}

#[tokio::test]
async fn an_archive_that_does_not_fit_the_sessions_disk_is_refused() -> Result<()> {
    let fixture = with(&json!({"limits": {"disk_bytes": 4 << 20}})).await?;
    let mut tar = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(6 << 20);
    header.set_mode(0o644);
    tar.append_data(&mut header, "large", std::io::repeat(7).take(6 << 20))?;
    let answer = upload(&fixture, "", &tar.into_inner()?).await;
    // The server may close the connection before all is sent.
    if let Ok(answer) = answer {
        error_of(&answer, 413)?;
    }
    assert_eq!((fixture.run("ls -A").await?.as_str(), staged(&fixture)), ("", 0));
    Ok(())
}

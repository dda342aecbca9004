//! Packages made for the tests: as small as they can be, and real.

use std::fmt::Write as _;
use std::io::{Cursor, Write};

use anyhow::Result;
use base64::Engine;
use sha2::{Digest, Sha256, Sha512};

/// A wheel of one module that knows its version.
pub(crate) fn wheel(name: &str, version: &str) -> Result<Vec<u8>> {
    let info = format!("{name}-{version}.dist-info");
    let files = [
        (format!("{name}.py"), format!("version = '{version}'\n")),
        (format!("{info}/METADATA"), format!("Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")),
        (
            format!("{info}/WHEEL"),
            "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n".into(),
        ),
    ];
    let record: String = files.iter().map(|(path, _)| format!("{path},,\n")).collect();
    let record = (format!("{info}/RECORD"), format!("{record}{info}/RECORD,,\n"));
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (path, text) in files.iter().chain([&record]) {
        zip.start_file(path, zip::write::SimpleFileOptions::default())?;
        zip.write_all(text.as_bytes())?;
    }
    Ok(zip.finish()?.into_inner())
}

/// An npm package of one module that knows its version.
pub(crate) fn tarball(name: &str, version: &str) -> Result<Vec<u8>> {
    let mut tar =
        tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default()));
    let manifest = serde_json::json!({ "name": name, "version": version, "main": "index.js" }).to_string();
    for (path, text) in
        [("package/package.json", manifest), ("package/index.js", format!("module.exports = '{version}';\n"))]
    {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        tar.append_data(&mut header, path, text.as_bytes())?;
    }
    Ok(tar.into_inner()?.finish()?)
}

/// A crate of an empty library.
pub(crate) fn crate_file(name: &str, version: &str) -> Result<Vec<u8>> {
    let mut tar =
        tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default()));
    let manifest = format!("[package]\nname = \"{name}\"\nversion = \"{version}\"\nedition = \"2021\"\n");
    for (path, text) in [("Cargo.toml", manifest.as_str()), ("src/lib.rs", "")] {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        tar.append_data(&mut header, format!("{name}-{version}/{path}"), text.as_bytes())?;
    }
    Ok(tar.into_inner()?.finish()?)
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// npm's form of a checksum.
pub(crate) fn integrity(bytes: &[u8]) -> String {
    format!("sha512-{}", base64::engine::general_purpose::STANDARD.encode(Sha512::digest(bytes)))
}

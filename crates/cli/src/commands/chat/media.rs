//! The types of files that a person gives the agent: images are shown to the model, texts are read to it.

use std::io::Read;
use std::path::Path;

/// The bytes that decide whether a file is a text.
const SNIFFED: u64 = 8 << 10;

/// The type of a file, by its name or its beginning.
pub fn media_type(path: &Path) -> String {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default().to_ascii_lowercase();
    let known = match ending.as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "pdf" => "application/pdf",
        _ if is_text(path) => "text/plain",
        _ => "application/octet-stream",
    };
    known.to_owned()
}

fn is_text(path: &Path) -> bool {
    let mut bytes = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(SNIFFED).read_to_end(&mut bytes));
    // A character may be cut off at the end.
    let is_utf8 = std::str::from_utf8(&bytes).map_or_else(|error| error.error_len().is_none(), |_| true);
    read.is_ok() && is_utf8 && !bytes.contains(&0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_known_by_its_beginning_and_an_image_by_its_name() {
        let folder = tempfile::tempdir().unwrap();
        for (name, content, expected) in [
            ("a.PNG", &b"x"[..], "image/png"),
            ("main.rs", "fn größe() {}".as_bytes(), "text/plain"),
            ("cut", "ä".repeat(5000).as_bytes(), "text/plain"),
            ("program", b"\x7fELF\0", "application/octet-stream"),
        ] {
            let path = folder.path().join(name);
            std::fs::write(&path, content).unwrap();
            assert_eq!(media_type(&path), expected, "{name}");
        }
    }
}

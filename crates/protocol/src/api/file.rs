//! Files in the API.
//!
//! Names are bytes. A name that is not valid UTF-8 is percent-encoded (every byte except letters, digits and
//! `-._~/`), and then `encoding` says so; the same pair of `path` and `encoding` names the file in a request.

use serde::{Deserialize, Serialize};

use super::Timestamp;

/// The encoding of a path that is not valid UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum PathEncoding {
    /// Percent-encoding: `%` and two hexadecimal digits for each byte.
    Percent,
}

/// The type of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum FileType {
    /// An ordinary file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link. The API never follows links.
    Link,
    /// A FIFO, a socket or a device. The API never opens these.
    Other,
}

/// A file, a folder or a link in a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(examples(json!({"path": "src/main.py", "name": "main.py", "type": "file", "size": 15, "mode": "644",
    "modified_at": "2026-01-02T03:04:05.678Z", "etag": "\"1a2b3c\""}))))]
pub struct FileBody {
    /// The path below the workspace, without a leading slash; empty for the workspace itself.
    pub path: String,
    /// The last component of the path.
    pub name: String,
    /// The encoding of `path` and `name`; absent if they are plain text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<PathEncoding>,
    /// The type.
    #[serde(rename = "type")]
    pub kind: FileType,
    /// The size of a file, or the length of a link's target; 0 for other types.
    pub size: u64,
    /// The permissions in octal digits, such as `644`.
    pub mode: String,
    /// When the content was last modified.
    pub modified_at: Timestamp,
    /// A tag of this state of the file. It changes when the file changes.
    pub etag: String,
    /// The target of a link, if it is text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

/// The result of a copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = CopiedFile))]
pub struct CopyBody {
    /// The entry at the new path.
    pub file: FileBody,
    /// The total size of all files in it.
    pub bytes: u64,
    /// The number of files, folders and links.
    pub files: u64,
    /// The number of entries that were not copied: FIFOs, sockets, devices, and entries that vanished
    /// meanwhile.
    pub skipped: u64,
}

/// A request with one path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(examples(json!({"path": "src"}))))]
#[serde(deny_unknown_fields)]
pub struct PathRequest {
    /// A path in the workspace.
    pub path: String,
    /// The encoding of the path, if it is not plain text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<PathEncoding>,
}

/// A request with two paths.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(examples(json!({"from": "notes.txt", "to": "archive/notes.txt"}))))]
#[serde(deny_unknown_fields)]
pub struct MoveRequest {
    /// The file or folder to move or copy.
    pub from: String,
    /// The new path; missing parent folders are created.
    pub to: String,
    /// Whether to replace an existing file or empty folder.
    #[serde(default)]
    pub overwrite: bool,
    /// The encoding of both paths, if they are not plain text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<PathEncoding>,
}

/// A change of permissions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(examples(json!({"path": "run.sh", "mode": "755"}))))]
#[serde(deny_unknown_fields)]
pub struct ChmodRequest {
    /// A path in the workspace.
    pub path: String,
    /// The new permissions in octal digits, `000` to `777`.
    #[cfg_attr(feature = "openapi", schema(pattern = "^0?[0-7]{1,3}$"))]
    pub mode: String,
    /// The encoding of the path, if it is not plain text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<PathEncoding>,
}

/// A path as JSON: plain if it is text, otherwise percent-encoded.
pub fn path_text(bytes: &[u8]) -> (String, Option<PathEncoding>) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (text.to_owned(), None),
        Err(_) => (percent_encoded(bytes), Some(PathEncoding::Percent)),
    }
}

/// The bytes of a path in JSON; `None` if it is not encoded as `encoding` says.
pub fn path_bytes(text: &str, encoding: Option<PathEncoding>) -> Option<Vec<u8>> {
    match encoding {
        None => Some(text.as_bytes().to_vec()),
        Some(PathEncoding::Percent) => percent_decoded(text.as_bytes()),
    }
}

/// Percent-encodes bytes.
pub fn percent_encoded(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for byte in bytes {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(byte) {
            text.push(char::from(*byte));
        } else {
            let digit =
                |half: u8| char::from_digit(u32::from(half), 16).map(|digit| digit.to_ascii_uppercase());
            text.push('%');
            text.extend(digit(byte >> 4));
            text.extend(digit(byte & 15));
        }
    }
    text
}

/// Percent-decodes text; `None` if a `%` is not followed by two hexadecimal digits.
pub fn percent_decoded(text: &[u8]) -> Option<Vec<u8>> {
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text.iter());
    while let Some(byte) = rest.next() {
        if *byte == b'%' {
            let mut digit = || rest.next().and_then(|digit| char::from(*digit).to_digit(16));
            let value = digit()? * 16 + digit()?;
            bytes.push(u8::try_from(value).ok()?);
        } else {
            bytes.push(*byte);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_is_encoded_so_that_it_can_be_requested_again() {
        for bytes in [&b"plain/file"[..], "größe %41 +".as_bytes(), b"\xff\xfe/%\n", b"", b"a\x80"] {
            let (text, encoding) = path_text(bytes);
            assert_eq!(path_bytes(&text, encoding).as_deref(), Some(bytes), "{text}");
        }
        assert_eq!(path_text(b"a/\xff b"), ("a/%FF%20b".to_owned(), Some(PathEncoding::Percent)));
    }

    #[test]
    fn a_path_with_the_wrong_encoding_is_refused() {
        for text in ["%", "%4", "%zz", "a%+1"] {
            assert_eq!(path_bytes(text, Some(PathEncoding::Percent)), None, "{text}");
        }
    }
}

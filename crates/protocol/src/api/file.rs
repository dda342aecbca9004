//! Files as the API tells of them.
//!
//! Names are bytes. One that is no text travels percent-encoded (every byte but letters, digits and `-._~/`), and then
//! `encoding` says so; the same pair of `path` and `encoding` names it in a request.

use serde::{Deserialize, Serialize};

use super::Timestamp;

/// How a path that is no text is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum PathEncoding {
    /// Bytes as `%` and two hexadecimal digits.
    Percent,
}

/// What kind of thing lies at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum FileType {
    /// An ordinary file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link. Nothing here follows it.
    Link,
    /// A FIFO, a socket or a device. Nothing here opens it.
    Other,
}

/// A thing in a workspace, as it was at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FileBody {
    /// From the workspace on, without a slash before it; empty for the workspace itself.
    pub path: String,
    /// The last name of the path.
    pub name: String,
    /// How `path` and `name` are written; absent where they are text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<PathEncoding>,
    /// What it is.
    #[serde(rename = "type")]
    pub kind: FileType,
    /// Bytes of a file, or of what a link says; 0 for others.
    pub size: u64,
    /// Its rights in octal digits, such as `644`.
    pub mode: String,
    /// When its content changed last.
    pub modified_at: Timestamp,
    /// Names this state of it: another one has another tag.
    pub etag: String,
    /// What a link says, as far as that is text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

/// What was copied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CopyBody {
    /// The copy.
    pub file: FileBody,
    /// Bytes of all files in it.
    pub bytes: u64,
    /// Files, folders and links.
    pub files: u64,
    /// FIFOs, sockets and devices, which are not copied, and what vanished meanwhile.
    pub skipped: u64,
}

/// A request about one path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct PathRequest {
    /// In the workspace.
    pub path: String,
    /// How it is written, if not as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<PathEncoding>,
}

/// A request about two paths.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct MoveRequest {
    /// What is moved or copied.
    pub from: String,
    /// Where to; the folders above it are made.
    pub to: String,
    /// Replace the file, or the empty folder, that is there.
    #[serde(default)]
    pub overwrite: bool,
    /// How both are written, if not as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<PathEncoding>,
}

/// A change of rights.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ChmodRequest {
    /// In the workspace.
    pub path: String,
    /// The new rights in octal digits, `000` to `777`.
    #[cfg_attr(feature = "openapi", schema(pattern = "^0?[0-7]{1,3}$"))]
    pub mode: String,
    /// How the path is written, if not as text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<PathEncoding>,
}

/// A path as it is told: as text if it is that, else encoded.
pub fn path_text(bytes: &[u8]) -> (String, Option<PathEncoding>) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (text.to_owned(), None),
        Err(_) => (percent_encoded(bytes), Some(PathEncoding::Percent)),
    }
}

/// The bytes of a path that was told; `None` if it is not written as it says.
pub fn path_bytes(text: &str, encoding: Option<PathEncoding>) -> Option<Vec<u8>> {
    match encoding {
        None => Some(text.as_bytes().to_vec()),
        Some(PathEncoding::Percent) => percent_decoded(text.as_bytes()),
    }
}

/// Bytes as a URL can carry them.
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

/// The bytes that a URL carries; `None` where a `%` is not followed by two hexadecimal digits.
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

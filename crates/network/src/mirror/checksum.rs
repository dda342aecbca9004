//! The checksums by which an index identifies files.

use std::fmt;
use std::fmt::Write;

use base64::Engine;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256, Sha512};

/// A checksum: its algorithm and its bytes in hexadecimal. Files are cached under this name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) enum Checksum {
    /// As Python's indexes give it.
    Sha256(String),
    /// As npm's registries give it.
    Sha512(String),
    /// No checksum: the hash of the URL of a file whose registry gives none. The URL's content never changes, and the
    /// program that asks checks it.
    Url(String),
}

impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sha256(hex) => write!(f, "sha256-{hex}"),
            Self::Sha512(hex) => write!(f, "sha512-{hex}"),
            Self::Url(hex) => write!(f, "url-{hex}"),
        }
    }
}

impl Checksum {
    /// Parses the hexadecimal form, in either case.
    pub(super) fn sha256(hex: &str) -> Option<Self> {
        let valid = hex.len() == 64 && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
        valid.then(|| Self::Sha256(hex.to_ascii_lowercase()))
    }

    /// Parses npm's form, `sha512-BASE64 sha256-BASE64`, and returns the strongest checksum in it.
    pub(super) fn integrity(text: &str) -> Option<Self> {
        let find = |kind: &str, length: usize| {
            let of_kind = |word: &str| Some(word.strip_prefix(kind)?.split('?').next()?.to_owned());
            let base64 = text.split_ascii_whitespace().find_map(of_kind)?;
            let bytes = base64::engine::general_purpose::STANDARD.decode(base64).ok()?;
            (bytes.len() == length).then(|| hex(&bytes))
        };
        find("sha512-", 64).map(Self::Sha512).or_else(|| find("sha256-", 32).map(Self::Sha256))
    }

    /// A hasher of the same algorithm.
    pub(super) fn hasher(&self) -> Hasher {
        match self {
            Self::Sha256(_) => Hasher::Sha256(Sha256::new()),
            Self::Sha512(_) => Hasher::Sha512(Sha512::new()),
            Self::Url(text) => Hasher::Url(text.clone()),
        }
    }

    /// The name of a file that only its URL identifies.
    pub(super) fn url(url: &str) -> Self {
        Self::Url(blake3::hash(url.as_bytes()).to_hex().to_string())
    }
}

/// A hasher of one of the algorithms.
#[derive(Debug)]
pub(super) enum Hasher {
    Sha256(Sha256),
    Sha512(Sha512),
    /// Any bytes are right.
    Url(String),
}

impl Hasher {
    /// Adds bytes.
    pub(super) fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Sha256(state) => state.update(bytes),
            Self::Sha512(state) => state.update(bytes),
            Self::Url(_) => {}
        }
    }

    /// The checksum of all bytes.
    pub(super) fn finish(self) -> Checksum {
        match self {
            Self::Sha256(state) => Checksum::Sha256(hex(&state.finalize())),
            Self::Sha512(state) => Checksum::Sha512(hex(&state.finalize())),
            Self::Url(text) => Checksum::Url(text),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}"); // writing to a string does not fail
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_match_a_checksum_or_do_not() {
        let expected =
            Checksum::sha256("BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD").unwrap();
        let mut hasher = expected.hasher();
        hasher.update(b"a");
        hasher.update(b"bc");
        assert_eq!(hasher.finish(), expected);
        let mut hasher = expected.hasher();
        hasher.update(b"abd");
        assert_ne!(hasher.finish(), expected);
        assert_eq!(Checksum::sha256("../../etc/passwd"), None);
    }

    #[test]
    fn the_strongest_of_npms_forms_counts() {
        let sha512 =
            "sha512-3a81oZNherrMQXNJriBBMRLm+k6JqX6iCp7u5ktV05ohkpkqJ0/BqDa6PCOj/uu9RU1EI2Q86A4qmslPpUyknw==";
        let expected = Checksum::integrity(&format!("sha1-AAAA sha256-AAAA {sha512}?opt")).unwrap();
        let mut hasher = expected.hasher();
        hasher.update(b"abc");
        assert_eq!(hasher.finish(), expected);
        for text in ["", "sha1-AAAA", "sha512-AAAA", "sha512-!!"] {
            assert_eq!(Checksum::integrity(text), None, "{text}");
        }
    }
}

//! What a file must be: a checksum that an index tells.

use std::fmt;
use std::fmt::Write;

use base64::Engine;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256, Sha512};

/// A checksum: its kind and its bytes in hexadecimal, which is also the name that a file is kept under.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) enum Checksum {
    /// Of Python's indexes.
    Sha256(String),
    /// Of npm's registries.
    Sha512(String),
}

impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sha256(hex) => write!(f, "sha256-{hex}"),
            Self::Sha512(hex) => write!(f, "sha512-{hex}"),
        }
    }
}

impl Checksum {
    /// From its hexadecimal form, in whatever case.
    pub(super) fn sha256(hex: &str) -> Option<Self> {
        let good = hex.len() == 64 && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
        good.then(|| Self::Sha256(hex.to_ascii_lowercase()))
    }

    /// The strongest that we know of those in npm's form: `sha512-BASE64 sha256-BASE64`.
    pub(super) fn integrity(text: &str) -> Option<Self> {
        let find = |kind: &str, length: usize| {
            let of_kind = |word: &str| Some(word.strip_prefix(kind)?.split('?').next()?.to_owned());
            let base64 = text.split_ascii_whitespace().find_map(of_kind)?;
            let bytes = base64::engine::general_purpose::STANDARD.decode(base64).ok()?;
            (bytes.len() == length).then(|| hex(&bytes))
        };
        find("sha512-", 64).map(Self::Sha512).or_else(|| find("sha256-", 32).map(Self::Sha256))
    }

    /// What to put the bytes through.
    pub(super) fn begin(&self) -> Check {
        match self {
            Self::Sha256(_) => Check::Sha256(Sha256::new()),
            Self::Sha512(_) => Check::Sha512(Sha512::new()),
        }
    }
}

/// A checksum in the making.
#[derive(Debug)]
pub(super) enum Check {
    Sha256(Sha256),
    Sha512(Sha512),
}

impl Check {
    /// More bytes.
    pub(super) fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Sha256(state) => state.update(bytes),
            Self::Sha512(state) => state.update(bytes),
        }
    }

    /// Of all bytes.
    pub(super) fn finish(self) -> Checksum {
        match self {
            Self::Sha256(state) => Checksum::Sha256(hex(&state.finalize())),
            Self::Sha512(state) => Checksum::Sha512(hex(&state.finalize())),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}"); // a string takes everything
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_match_a_checksum_or_do_not() {
        let told =
            Checksum::sha256("BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD").unwrap();
        let mut check = told.begin();
        check.update(b"a");
        check.update(b"bc");
        assert_eq!(check.finish(), told);
        let mut check = told.begin();
        check.update(b"abd");
        assert_ne!(check.finish(), told);
        assert_eq!(Checksum::sha256("../../etc/passwd"), None);
    }

    #[test]
    fn the_strongest_of_npms_forms_counts() {
        let sha512 =
            "sha512-3a81oZNherrMQXNJriBBMRLm+k6JqX6iCp7u5ktV05ohkpkqJ0/BqDa6PCOj/uu9RU1EI2Q86A4qmslPpUyknw==";
        let told = Checksum::integrity(&format!("sha1-AAAA sha256-AAAA {sha512}?opt")).unwrap();
        let mut check = told.begin();
        check.update(b"abc");
        assert_eq!(check.finish(), told);
        for text in ["", "sha1-AAAA", "sha512-AAAA", "sha512-!!"] {
            assert_eq!(Checksum::integrity(text), None, "{text}");
        }
    }
}

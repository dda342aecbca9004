//! Keys of cache entries: a hash over everything that the entry depends on.

use std::fmt;

use serde::{Deserialize, Serialize};

/// To be changed whenever the content of entries, or the way to compile them, changes.
const VERSION: &str = "headwater build cache 2";

/// A hash of content.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct Key([u8; 32]);

impl Key {
    /// The hash of one file.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// The hash of a file that is read in chunks.
    pub(crate) fn read(source: impl std::io::Read) -> std::io::Result<Self> {
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(source)?;
        Ok(Self(*hasher.finalize().as_bytes()))
    }

    pub(crate) const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl TryFrom<String> for Key {
    type Error = blake3::HexError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        blake3::Hash::from_hex(text).map(|hash| Self(*hash.as_bytes()))
    }
}

impl From<Key> for String {
    fn from(key: Key) -> Self {
        key.to_string()
    }
}

/// Builds a key from parts. Each part includes its length, so that different lists have different keys.
#[derive(Clone)]
pub(crate) struct KeyBuilder(blake3::Hasher);

impl KeyBuilder {
    /// A builder for one kind of entries.
    pub(crate) fn new(kind: &str) -> Self {
        let mut builder = Self(blake3::Hasher::new());
        builder.part(VERSION.as_bytes()).part(kind.as_bytes());
        builder
    }

    pub(crate) fn part(&mut self, part: &[u8]) -> &mut Self {
        self.0.update(&(part.len() as u64).to_le_bytes());
        self.0.update(part);
        self
    }

    pub(crate) fn parts<'a>(&mut self, parts: impl ExactSizeIterator<Item = &'a [u8]>) -> &mut Self {
        self.0.update(&(parts.len() as u64).to_le_bytes());
        for part in parts {
            self.part(part);
        }
        self
    }

    pub(crate) fn key(&self) -> Key {
        Key(*self.0.finalize().as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_lists_of_parts_make_the_same_key() {
        let key = |kind: &str, lists: &[&[&str]]| {
            let mut builder = KeyBuilder::new(kind);
            for list in lists {
                builder.parts(list.iter().map(|part| part.as_bytes()));
            }
            builder.key()
        };
        let one = key("a", &[&["x", "y"], &["z"]]);
        assert_eq!(one, key("a", &[&["x", "y"], &["z"]]));
        for other in [
            key("b", &[&["x", "y"], &["z"]]),
            key("a", &[&["x"], &["y", "z"]]),
            key("a", &[&["xy"], &["z"]]),
            key("a", &[&["y", "x"], &["z"]]),
        ] {
            assert_ne!(one, other);
        }
    }

    #[test]
    fn a_key_survives_its_text() {
        let key = Key::of(b"x");
        assert_eq!(Key::try_from(key.to_string()).ok(), Some(key));
        assert!(Key::try_from("xyz".to_owned()).is_err());
    }
}

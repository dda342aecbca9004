//! Ids in conversations. Clients may choose them, so they are text with a few rules.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The longest id.
const MAX_LEN: usize = 128;

/// Why a text is not an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is not a valid {what} id: use 1 to {MAX_LEN} of the characters A-Z, a-z, 0-9, `-`, `_`, `.` and `:`, not only dots"
)]
pub struct TextIdError {
    what: &'static str,
    text: String,
}

/// Whether a text can stand in a URL, a file name and a log without a change.
fn is_id(text: &str) -> bool {
    let plain = |ch: u8| ch.is_ascii_alphanumeric() || b"-_.:".contains(&ch);
    !text.is_empty() && text.len() <= MAX_LEN && text.bytes().all(plain) && text.bytes().any(|ch| ch != b'.')
}

/// `prefix` and 128 random bits.
#[allow(clippy::expect_used)] // a guessable id would be worse than none
fn random(prefix: &str) -> String {
    let mut bits = [0; 16];
    getrandom::fill(&mut bits).expect("the kernel returns random bytes");
    format!("{prefix}{:032x}", u128::from_le_bytes(bits))
}

macro_rules! text_id {
    ($(#[doc = $doc:literal])+ $name:ident, $what:literal, $prefix:literal) => {
        $(#[doc = $doc])+
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// A new id from the kernel's random source.
            ///
            /// # Panics
            /// If the kernel returns no random bytes, which no supported kernel does after boot.
            pub fn random() -> Self {
                Self(random($prefix))
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl FromStr for $name {
            type Err = TextIdError;

            fn from_str(text: &str) -> Result<Self, TextIdError> {
                let wrong = || TextIdError { what: $what, text: text.chars().take(64).collect() };
                is_id(text).then(|| Self(text.to_owned())).ok_or_else(wrong)
            }
        }

        impl TryFrom<String> for $name {
            type Error = TextIdError;

            fn try_from(text: String) -> Result<Self, TextIdError> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0
            }
        }

        #[cfg(feature = "openapi")]
        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                let schema = utoipa::openapi::ObjectBuilder::new()
                    .schema_type(utoipa::openapi::Type::String)
                    .description(Some(concat!($($doc),+).trim_ascii()))
                    .pattern(Some("^[A-Za-z0-9._:-]{1,128}$"))
                    .examples([concat!($prefix, "0123456789abcdef0123456789abcdef")]);
                schema.into()
            }
        }

        #[cfg(feature = "openapi")]
        impl utoipa::ToSchema for $name {}
    };
}

text_id!(
    /// The id of a conversation: `cnv_` and 32 hexadecimal digits, or what its creator chose.
    ConversationId, "conversation", "cnv_"
);
text_id!(
    /// The id of a message, unique in its conversation: `msg_` and 32 hexadecimal digits, or what its sender chose.
    MessageId, "message", "msg_"
);

//! Ids: opaque strings with a prefix and 128 random bits, so that they can be neither guessed nor confused.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Why a string is not an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a valid {what} id: expected `{prefix}` and 32 hexadecimal digits")]
pub struct IdError {
    what: &'static str,
    prefix: &'static str,
    text: String,
}

macro_rules! id {
    ($(#[doc = $doc:literal])+ $name:ident, $what:literal, $prefix:literal) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(u128);

        impl $name {
            /// A new id from the kernel's random source.
            ///
            /// # Panics
            /// If the kernel returns no random bytes, which no supported kernel does after boot.
            #[allow(clippy::expect_used)] // a guessable id would be worse than none
            pub fn random() -> Self {
                let mut bits = [0; 16];
                getrandom::fill(&mut bits).expect("the kernel returns random bytes");
                Self(u128::from_le_bytes(bits))
            }
        }

        impl $name {
            /// The random bits of the id.
            pub const fn bits(self) -> u128 {
                self.0
            }
        }

        #[cfg(feature = "openapi")]
        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                let schema = utoipa::openapi::ObjectBuilder::new()
                    .schema_type(utoipa::openapi::Type::String)
                    .description(Some(concat!($($doc),+).trim_ascii()))
                    .pattern(Some(concat!("^", $prefix, "[0-9a-f]{32}$")))
                    .examples([concat!($prefix, "0123456789abcdef0123456789abcdef")]);
                schema.into()
            }
        }

        #[cfg(feature = "openapi")]
        impl utoipa::ToSchema for $name {}

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{:032x}"), self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                let wrong = || IdError { what: $what, prefix: $prefix, text: text.chars().take(64).collect() };
                let digits = text.strip_prefix($prefix).ok_or_else(wrong)?;
                let plain = digits.len() == 32
                    && digits.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
                if !plain {
                    return Err(wrong());
                }
                u128::from_str_radix(digits, 16).map(Self).map_err(|_| wrong())
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdError;

            fn try_from(text: String) -> Result<Self, IdError> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.to_string()
            }
        }
    };
}

id!(
    /// The id of a session: `ses_` and 32 hexadecimal digits.
    SessionId, "session", "ses_"
);
id!(
    /// The id of an execution: `exe_` and 32 hexadecimal digits.
    ExecutionId, "execution", "exe_"
);
id!(
    /// The id of a snapshot of a workspace: `snp_` and 32 hexadecimal digits.
    SnapshotId, "snapshot", "snp_"
);
id!(
    /// The id of a build: `bld_` and 32 hexadecimal digits.
    BuildId, "build", "bld_"
);

impl BuildId {
    /// The execution of this build. Its id has the same digits, so that a repeated request finds the same
    /// one.
    pub const fn execution(self) -> ExecutionId {
        ExecutionId(self.0)
    }

    /// The session of this build, with the same digits.
    pub const fn build_session(self) -> SessionId {
        SessionId(self.0)
    }
}

impl From<ExecutionId> for BuildId {
    fn from(id: ExecutionId) -> Self {
        Self(id.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_survives_its_text_form() {
        let id = ExecutionId::random();
        assert_eq!(id.to_string().parse(), Ok(id));
    }

    #[test]
    fn two_ids_differ() {
        assert_ne!(SessionId::random(), SessionId::random());
    }

    #[test]
    fn the_wrong_prefix_length_or_alphabet_is_refused_with_a_reason() {
        let good = SessionId::random().to_string();
        for bad in [
            "",
            "ses_",
            "exe_0",
            &good[..35],
            &good.to_uppercase(),
            &format!("{good}0"),
            "ses_../../etc/passwd",
            "ses_+0000000000000000000000000000000",
        ] {
            let error = bad.parse::<SessionId>().unwrap_err();
            assert!(error.to_string().contains("is not a valid session id"), "{error}");
        }
    }
}

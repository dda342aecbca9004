//! Lists that appear both in the code and in the documentation.

/// Defines an enum whose variants each have a value (their name or number on the wire) and a text for the
/// documentation, which is the variant's doc comment. `docs/api.md` is generated from these.
#[macro_export]
macro_rules! documented {
    ($(#[$meta:meta])* $vis:vis enum $name:ident: $type:ty {
        $($(#[doc = $doc:literal])+ $variant:ident = $value:expr,)+
    }) => {
        $(#[$meta])*
        $vis enum $name {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl $name {
            /// All variants, in the order of the documentation.
            $vis const ALL: [Self; [$(stringify!($variant)),+].len()] = [$(Self::$variant),+];

            /// The value on the wire.
            $vis const fn value(self) -> $type {
                match self {
                    $(Self::$variant => $value,)+
                }
            }

            /// The description for the documentation.
            $vis const fn about(self) -> &'static str {
                match self {
                    $(Self::$variant => concat!($($doc),+).trim_ascii(),)+
                }
            }
        }
    };
}

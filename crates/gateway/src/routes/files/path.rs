//! Paths in a request: as text, as text with an encoding, or as the bytes of a query string.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use bytes::Bytes;
use headwater_protocol::api::{PathEncoding, path_bytes, percent_decoded};
use serde::Deserialize;
use serde::de::value::StrDeserializer;

use crate::error::ApiError;

/// The path in a query string, `path=`, as bytes: a percent-encoded value need not be valid UTF-8.
pub(crate) struct QueryPath(pub(in crate::routes) Option<Bytes>);

impl<S: Send + Sync> FromRequestParts<S> for QueryPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let query = parts.uri.query().unwrap_or_default();
        let Some(text) = value(query, "path") else {
            return Ok(Self(None));
        };
        let spaced: Vec<u8> = text.bytes().map(|byte| if byte == b'+' { b' ' } else { byte }).collect();
        let bytes = percent_decoded(&spaced).ok_or_else(badly_written)?;
        if value(query, "encoding").is_none() {
            return Ok(Self(Some(bytes.into())));
        }
        // A client that encodes every value encodes an already encoded path a second time.
        let text = String::from_utf8(bytes).map_err(|_| badly_written())?;
        Ok(Self(Some(given(&text, Some(PathEncoding::Percent))?)))
    }
}

impl QueryPath {
    /// The path, which is required.
    pub(crate) fn needed(self) -> Result<Bytes, ApiError> {
        self.0.ok_or_else(|| {
            ApiError::invalid("the query string: `path` is missing")
                .hint("name a file, for example `path=src/main.py`")
        })
    }
}

fn value<'a>(query: &'a str, name: &str) -> Option<&'a str> {
    query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
}

/// The bytes of a path in a body.
pub(crate) fn given(text: &str, encoding: Option<PathEncoding>) -> Result<Bytes, ApiError> {
    path_bytes(text, encoding).map(Bytes::from).ok_or_else(badly_written)
}

fn badly_written() -> ApiError {
    ApiError::invalid("the path is not valid percent-encoding")
        .hint("a byte is `%` and two hexadecimal digits; `%` itself is `%25`")
}

/// Permissions in octal digits.
pub(crate) fn mode(text: &str) -> Result<u32, ApiError> {
    let is_octal =
        !text.is_empty() && text.len() <= 4 && text.bytes().all(|byte| (b'0'..=b'7').contains(&byte));
    let mode = u32::from_str_radix(text, 8).ok().filter(|mode| is_octal && *mode <= 0o777);
    mode.ok_or_else(|| {
        let shown: String = text.chars().take(16).collect();
        ApiError::invalid(format!("`{shown}` is not a file mode"))
            .hint("use octal digits from `000` to `777`, such as `644`")
    })
}

/// Deserialises the encoding of a path in a query string.
pub(crate) fn encoding<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<PathEncoding>, D::Error> {
    let word = String::deserialize(deserializer)?;
    PathEncoding::deserialize(StrDeserializer::new(&word)).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(uri: &str) -> Result<Option<Bytes>, ApiError> {
        let (mut parts, ()) = axum::http::Request::builder().uri(uri).body(()).unwrap().into_parts();
        QueryPath::from_request_parts(&mut parts, &()).await.map(|path| path.0)
    }

    #[tokio::test]
    async fn a_path_in_a_query_string_is_its_bytes() {
        for (query, path) in [
            ("/?path=a/b", &b"a/b"[..]),
            ("/?limit=1&path=a%20b+c%2Bd", b"a b c+d"),
            ("/?path=%FF%0a", b"\xff\n"),
            ("/?path=%25FF&encoding=percent", b"\xff"),
            ("/?path=", b""),
        ] {
            assert_eq!(read(query).await.unwrap().as_deref(), Some(path), "{query}");
        }
        assert!(read("/?apath=x").await.unwrap().is_none());
        for bad in ["/?path=%", "/?path=%f", "/?path=%FF&encoding=percent", "/?path=%25x&encoding=percent"] {
            assert_eq!(read(bad).await.unwrap_err().status, 400, "{bad}");
        }
    }

    #[test]
    fn rights_are_octal() {
        assert_eq!((mode("644").unwrap(), mode("0755").unwrap(), mode("0").unwrap()), (0o644, 0o755, 0));
        for bad in ["", "888", "1777", "+44", "0o644", "00644", "rwx"] {
            assert_eq!(mode(bad).unwrap_err().status, 400, "{bad}");
        }
    }
}

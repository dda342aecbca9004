//! Parameters of OAuth: of a query, or of a form.

use std::collections::BTreeMap;

use super::error::OAuthError;

/// The longest set of parameters, in bytes.
const MAX_BYTES: usize = 16 << 10;

/// The parameters of a request, each once.
#[derive(Debug, Default)]
pub(super) struct Form(BTreeMap<String, String>);

impl Form {
    /// Parses a query or the body of a form. A parameter that occurs twice is an error (RFC 6749, 3.1).
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, OAuthError> {
        if bytes.len() > MAX_BYTES {
            return Err(OAuthError::invalid_request("the parameters are too long"));
        }
        let mut all = BTreeMap::new();
        for (name, value) in form_urlencoded::parse(bytes) {
            // Parameters without a value are treated as absent.
            if !value.is_empty() && all.insert(name.to_string(), value.into_owned()).is_some() {
                return Err(OAuthError::invalid_request(format!("`{name}` occurs twice")));
            }
        }
        Ok(Self(all))
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    pub(super) fn need(&self, name: &'static str) -> Result<&str, OAuthError> {
        self.get(name).ok_or_else(|| OAuthError::invalid_request(format!("`{name}` is missing")))
    }
}

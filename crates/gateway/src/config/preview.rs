//! `[server] preview_url`: the names under which ports of sessions are shown.

use std::fmt;
use std::str::FromStr;

/// An address with a wildcard: `https://*.preview.example.org`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreviewUrl {
    is_secure: bool,
    /// The name below which each preview has its own.
    pub domain: String,
    port: Option<u16>,
}

impl PreviewUrl {
    /// The address of the preview with this label.
    #[must_use]
    pub fn with_label(&self, label: &str) -> String {
        let scheme = if self.is_secure { "https" } else { "http" };
        let port = self.port.map(|port| format!(":{port}")).unwrap_or_default();
        format!("{scheme}://{label}.{}{port}/", self.domain)
    }
}

impl fmt::Display for PreviewUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.with_label("*").trim_end_matches('/'))
    }
}

impl FromStr for PreviewUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` must have the form `https://*.preview.example.org`");
        let (is_secure, rest) = match (text.strip_prefix("https://*."), text.strip_prefix("http://*.")) {
            (Some(rest), _) => (true, rest),
            (None, Some(rest)) => (false, rest),
            (None, None) => return Err(wrong()),
        };
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let (domain, port) = match rest.split_once(':') {
            Some((domain, port)) => (domain, Some(port.parse().map_err(|_| wrong())?)),
            None => (rest, None),
        };
        let is_label = |label: &str| {
            !label.is_empty()
                && label.len() <= 63
                && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        };
        if !domain.split('.').all(is_label) {
            return Err(wrong());
        }
        Ok(Self { is_secure, domain: domain.to_ascii_lowercase(), port })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_with_a_wildcard_is_read_and_others_are_refused() {
        for text in ["https://*.preview.example.org", "http://*.localhost:8080"] {
            assert_eq!(text.parse::<PreviewUrl>().unwrap().to_string(), text);
        }
        assert_eq!(
            "https://*.Preview.Example/".parse::<PreviewUrl>().unwrap().to_string(),
            "https://*.preview.example"
        );
        for text in [
            "",
            "https://preview.example",
            "*.preview.example",
            "https://*.",
            "https://*.a/b",
            "https://*.a:x",
            "ftp://*.a",
        ] {
            assert!(text.parse::<PreviewUrl>().unwrap_err().contains("https://*."), "{text}");
        }
    }
}

//! Addresses that a browser is sent to with a code.

use reqwest::Url;

/// The longest address, in bytes.
const MAX_BYTES: usize = 1024;

/// Why an address is not accepted; `None` if it is.
///
/// A code must not be readable on its way: the address is `https`, or a program on the person's machine, by a loopback
/// address or by a scheme of its own.
pub(super) fn problem(text: &str) -> Option<&'static str> {
    if text.len() > MAX_BYTES {
        return Some("it is too long");
    }
    let Ok(url) = Url::parse(text) else { return Some("it is not an absolute address") };
    if url.fragment().is_some() {
        return Some("it has a fragment");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Some("it has a user name or a password");
    }
    match url.scheme() {
        "http" if !is_loopback(&url) => Some("it is `http` and not a loopback address"),
        // Schemes that run or show what follows.
        "javascript" | "data" | "file" | "blob" | "about" | "vbscript" | "view-source" | "ftp" | "ws"
        | "wss" => Some("its scheme is not accepted"),
        _ => None,
    }
}

fn is_loopback(url: &Url) -> bool {
    matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"))
}

/// Whether a request's address is one that was registered. The port of a loopback address may differ: programs take one
/// that is free (RFC 8252, 7.3).
pub(super) fn is_registered(asked: &str, registered: &[String]) -> bool {
    registered.iter().any(|one| one == asked || is_same_but_for_the_port(asked, one))
}

fn is_same_but_for_the_port(asked: &str, registered: &str) -> bool {
    let (Ok(mut asked), Ok(mut registered)) = (Url::parse(asked), Url::parse(registered)) else {
        return false;
    };
    if asked.scheme() != "http" || !is_loopback(&asked) || problem(asked.as_str()).is_some() {
        return false;
    }
    asked.set_port(None).is_ok() && registered.set_port(None).is_ok() && asked == registered
}

/// An address with further parameters.
pub(super) fn with_parameters(address: &str, parameters: &[(&str, &str)]) -> String {
    match Url::parse(address) {
        Ok(mut url) => {
            url.query_pairs_mut().extend_pairs(parameters);
            url.into()
        }
        Err(_) => address.to_owned(), // it was parsed before
    }
}

/// What a person recognises in an address: the host, or the scheme of a program.
pub(super) fn recognisable(address: &str) -> String {
    let Ok(url) = Url::parse(address) else { return String::new() };
    match url.host_str().filter(|_| matches!(url.scheme(), "http" | "https")) {
        Some(_) if is_loopback(&url) => "a program on this machine".to_owned(),
        Some(host) => host.to_owned(),
        None => format!("the program for {}: addresses", url.scheme()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_sent_only_where_others_cannot_read_it() {
        for good in [
            "https://example.com/callback",
            "http://127.0.0.1:7777/cb",
            "http://localhost/cb",
            "http://[::1]:1/",
            "cursor://anysphere.cursor-mcp/oauth/callback",
            "com.example.app:/cb",
            "vscode://vscode.github-authentication",
        ] {
            assert_eq!(problem(good), None, "{good}");
        }
        for bad in [
            "",
            "/callback",
            "http://example.com/",
            "http://127.0.0.1.example.com/",
            "javascript:alert(1)",
            "data:text/html,x",
            "https://example.com/#f",
            "https://a:b@example.com/",
            "file:///etc/passwd",
            "http://localhost@evil.example/",
        ] {
            assert!(problem(bad).is_some(), "{bad}");
        }
        assert!(problem(&format!("https://e.com/{}", "x".repeat(MAX_BYTES))).is_some());
    }

    #[test]
    fn only_the_port_of_a_loopback_address_may_differ() {
        let registered = ["http://127.0.0.1/cb".to_owned(), "https://example.com/cb".to_owned()];
        for good in ["http://127.0.0.1/cb", "http://127.0.0.1:4711/cb", "https://example.com/cb"] {
            assert!(is_registered(good, &registered), "{good}");
        }
        for bad in [
            "http://127.0.0.1:4711/other",
            "http://localhost:4711/cb",
            "https://example.com:444/cb",
            "https://example.com/cb/",
            "https://example.com/cb?x=1",
            "http://127.0.0.1:1/cb?x=1",
            "http://user@127.0.0.1:1/cb",
        ] {
            assert!(!is_registered(bad, &registered), "{bad}");
        }
        let sent = with_parameters("http://127.0.0.1/cb?a=b", &[("code", "x y"), ("state", "&=")]);
        assert_eq!(sent, "http://127.0.0.1/cb?a=b&code=x+y&state=%26%3D");
        assert_eq!(recognisable("http://localhost:1/x"), "a program on this machine");
        assert_eq!(recognisable("https://example.com/x"), "example.com");
        assert_eq!(recognisable("cursor://host/x"), "the program for cursor: addresses");
    }
}

//! npm's registry: the metadata of a package, with the URLs of its files rewritten to the mirror.

use reqwest::Url;
use serde_json::Value;

use super::super::PORT;
use super::checksum::Checksum;
use super::pages::{Entries, Entry, ParsedPage, Source};

/// The abbreviated form, enough to install; the full form also has readmes and descriptions.
pub(super) const SHORT: &str = "application/vnd.npm.install-v1+json";
const WHOLE: &str = "application/json";
/// The longest name of a package.
const MAX_NAME_BYTES: usize = 214;

/// A registry of npm packages.
#[derive(Debug)]
pub(super) struct Npm {
    registry: Url,
}

impl Npm {
    pub(super) const fn new(registry: Url) -> Self {
        Self { registry }
    }

    /// Where the metadata of a package is, in the form that the client accepts.
    pub(super) fn source(&self, name: &str, accept: &str) -> Source {
        let mut url = self.registry.clone();
        // A name with a slash is one part of the path.
        let path = format!("{}/{}", url.path().trim_end_matches('/'), name.replace('/', "%2f"));
        url.set_path(&path);
        Source {
            url,
            accept: content_type(accept),
            parse,
            name: name.to_owned(),
            setting: "packages.npm_registry",
        }
    }
}

/// The form that the client accepts.
pub(super) fn content_type(accept: &str) -> &'static str {
    if accept.contains(SHORT) { SHORT } else { WHOLE }
}

/// Parses the name of a package in a path: `name`, `@scope/name` or `@scope%2fname`.
pub(super) fn name(path: &str) -> Option<String> {
    let name = path.replace("%2f", "/").replace("%2F", "/").replace("%40", "@");
    let part = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '~' | '_'))
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte))
    };
    let valid = match name.strip_prefix('@') {
        Some(scoped) => scoped.split_once('/').is_some_and(|(scope, name)| part(scope) && part(name)),
        None => part(&name) && name != "-",
    };
    (valid && name.len() <= MAX_NAME_BYTES).then_some(name)
}

/// Rewrites the URLs of all versions to the mirror. Versions without a checksum cannot be verified and are left out.
fn parse(url: &Url, _: &str, bytes: &[u8], name: &str) -> Result<ParsedPage, String> {
    let mut page: Value = serde_json::from_slice(bytes)
        .map_err(|error| format!("the registry's answer is not valid: {error}"))?;
    let versions = page.get_mut("versions").and_then(Value::as_object_mut);
    let versions = versions.ok_or("the registry's answer has no versions")?;
    let mut entries = Entries::new();
    versions.retain(|_, version| redirect_to_mirror(version, url, name, &mut entries).is_some());
    let json = serde_json::to_vec(&page).map_err(|error| error.to_string())?;
    Ok(ParsedPage { json, html: Vec::new(), entries })
}

fn redirect_to_mirror(version: &mut Value, page: &Url, name: &str, entries: &mut Entries) -> Option<()> {
    let dist = version.get_mut("dist")?.as_object_mut()?;
    let checksum = Checksum::integrity(dist.get("integrity")?.as_str()?)?;
    let url = page.join(dist.get("tarball")?.as_str()?).ok()?;
    let file = url.path_segments()?.next_back()?.to_owned();
    if file.is_empty() || file.contains('%') {
        return None;
    }
    dist.insert("tarball".into(), format!("http://127.0.0.1:{PORT}/npm/{name}/-/{file}").into());
    entries.insert(file, Entry { url: url.into(), checksum });
    Some(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const SUM: &str =
        "sha512-3a81oZNherrMQXNJriBBMRLm+k6JqX6iCp7u5ktV05ohkpkqJ0/BqDa6PCOj/uu9RU1EI2Q86A4qmslPpUyknw==";

    #[test]
    fn names_are_plain_or_scoped_and_never_paths() {
        assert_eq!(name("left-pad").as_deref(), Some("left-pad"));
        assert_eq!(name("@a%2fb").as_deref(), Some("@a/b"));
        for path in ["", "-", ".", "..", "a/b", "@a", "@a/", "@a/b/c", "@../b", "a%2e", "a?b", "a b"] {
            assert_eq!(name(path), None, "{path}");
        }
        let npm = Npm::new("https://registry.example/npm/".parse().unwrap());
        assert_eq!(npm.source("@a/b", "").url.as_str(), "https://registry.example/npm/@a%2fb");
    }

    #[test]
    fn versions_lead_to_the_mirror_and_those_that_nobody_can_check_are_left_out() {
        let url = "https://registry.example/a".parse().unwrap();
        let page = json!({ "name": "a", "versions": {
            "1.0.0": { "dist": { "tarball": "https://files.example/a/-/a-1.0.0.tgz", "integrity": SUM } },
            "0.1.0": { "dist": { "tarball": "https://files.example/a/-/a-0.1.0.tgz", "shasum": "00" } },
        }});
        let ParsedPage { json: body, entries, .. } =
            parse(&url, "", page.to_string().as_bytes(), "a").unwrap();
        let shown: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(
            shown["versions"]["1.0.0"]["dist"]["tarball"],
            format!("http://127.0.0.1:{PORT}/npm/a/-/a-1.0.0.tgz")
        );
        assert!(shown["versions"].get("0.1.0").is_none());
        assert_eq!(entries["a-1.0.0.tgz"].url, "https://files.example/a/-/a-1.0.0.tgz");
        assert!(parse(&url, "", b"{}", "a").is_err() && parse(&url, "", b"<", "a").is_err());
    }

    proptest! {
        #[test]
        fn no_path_breaks_it(path in "[ -~]{0,40}") {
            if let Some(name) = name(&path) {
                prop_assert!(!name.contains(".."), "{}", name);
            }
        }
    }
}

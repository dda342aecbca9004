//! Registries whose files are passed on as they are: Go modules, Maven, Debian. Their indexes are signed or have
//! checksums that the package manager itself checks, in forms that this mirror does not read.
//!
//! What a path names either never changes, such as the archive of a version, and is cached under the hash of its URL; or
//! it is an index, which is cached as a page and asked for again.

use reqwest::Url;

use super::checksum::Checksum;
use super::pages::{Entry, ParsedPage, Source};

/// The longest path of a file.
const MAX_PATH_BYTES: usize = 1024;

/// A kind of registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A module proxy of Go.
    Go,
    /// A Maven repository.
    Maven,
    /// A mirror of Debian.
    Debian,
}

impl Kind {
    /// All kinds.
    pub(super) const ALL: [Self; 3] = [Self::Go, Self::Maven, Self::Debian];

    /// The first part of its paths.
    pub(super) const fn prefix(self) -> &'static str {
        match self {
            Self::Go => "/go/",
            Self::Maven => "/maven/",
            Self::Debian => "/debian/",
        }
    }

    /// The setting that names the registry.
    pub(super) const fn setting(self) -> &'static str {
        match self {
            Self::Go => "packages.go_proxy",
            Self::Maven => "packages.maven_repository",
            Self::Debian => "packages.debian_mirror",
        }
    }

    /// Whether what this path names never changes.
    fn is_immutable(self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or_default();
        let ends = |suffixes: &[&str]| suffixes.iter().any(|suffix| name.ends_with(suffix));
        match self {
            // `@v/list`, `@latest`, branches (`@v/main.info`) and the checksum database change.
            Self::Go => path.contains("/@v/v") && ends(&[".mod", ".zip"]),
            Self::Maven => !path.contains("-SNAPSHOT") && !name.starts_with("maven-metadata"),
            Self::Debian => path.starts_with("pool/") || path.contains("/by-hash/"),
        }
    }
}

/// A file of a registry.
pub(super) enum Wanted {
    /// It never changes.
    File(Entry),
    /// It is asked for again.
    Page(Source),
}

/// What a path of the registry names; `None` if the path is not valid.
pub(super) fn wanted(kind: Kind, registry: &Url, path: &str) -> Option<Wanted> {
    let is_part = |part: &str| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~!+@$%:,=".contains(&byte);
        !part.is_empty() && part != "." && part != ".." && part.bytes().all(plain)
    };
    // An encoded dot or slash could leave the registry's folder.
    let lower = path.to_ascii_lowercase();
    let hidden = ["%2e", "%2f", "%5c", "%00"].iter().any(|code| lower.contains(code));
    if path.len() > MAX_PATH_BYTES || hidden || !path.split('/').all(is_part) {
        return None;
    }
    let mut url = registry.clone();
    url.set_path(&format!("{}/{path}", registry.path().trim_end_matches('/')));
    if kind.is_immutable(path) {
        let checksum = Checksum::url(url.as_str());
        return Some(Wanted::File(Entry { url: url.into(), checksum }));
    }
    Some(Wanted::Page(Source { url, accept: "*/*", parse, name: path.to_owned(), setting: kind.setting() }))
}

/// Keeps a page as it is.
#[allow(clippy::unnecessary_wraps)] // the signature of all parsers
fn parse(_: &Url, _: &str, bytes: &[u8], _: &str) -> Result<ParsedPage, String> {
    Ok(ParsedPage { json: bytes.to_vec(), ..ParsedPage::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url_of(kind: Kind, path: &str) -> Option<(String, bool)> {
        let registry = "https://user:secret@r.example/root/".parse().unwrap();
        wanted(kind, &registry, path).map(|wanted| match wanted {
            Wanted::File(entry) => (entry.url, true),
            Wanted::Page(source) => (source.url.into(), false),
        })
    }

    #[test]
    fn versions_are_kept_for_good_and_indexes_are_asked_for_again() {
        for (kind, path, immutable) in [
            (Kind::Go, "github.com/!burnt!sushi/toml/@v/v1.0.0.zip", true),
            (Kind::Go, "github.com/a/b/@v/v1.0.0.mod", true),
            (Kind::Go, "github.com/a/b/@v/v1.0.0.info", false),
            (Kind::Go, "github.com/a/b/@v/list", false),
            (Kind::Go, "github.com/a/b/@v/main.info", false),
            (Kind::Go, "sumdb/sum.golang.org/latest", false),
            (Kind::Maven, "org/a/b/1.0/b-1.0.jar", true),
            (Kind::Maven, "org/a/b/maven-metadata.xml", false),
            (Kind::Maven, "org/a/b/1.0-SNAPSHOT/b-1.0-2024.jar", false),
            (Kind::Debian, "pool/main/j/jq/jq_1.6-2.1_amd64.deb", true),
            (Kind::Debian, "dists/bookworm/InRelease", false),
            (Kind::Debian, "dists/bookworm/main/binary-amd64/by-hash/SHA256/00", true),
        ] {
            let expected = format!("https://user:secret@r.example/root/{path}");
            assert_eq!(url_of(kind, path), Some((expected, immutable)), "{path}");
        }
    }

    #[test]
    fn no_path_leaves_the_registry() {
        for path in [
            "",
            "/",
            "a//b",
            "../x",
            "a/../x",
            "a/./b",
            "a/%2e%2e/x",
            "a%2Fb",
            "a%5cb",
            "a b",
            "a?b",
            "a#b",
            "ä",
        ] {
            assert_eq!(url_of(Kind::Maven, path), None, "{path}");
        }
        assert_eq!(url_of(Kind::Go, &"a/".repeat(600)), None);
    }
}

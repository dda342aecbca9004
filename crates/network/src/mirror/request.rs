//! Requests to the mirror: each path names a package and a file of it, and nothing else.

use super::passthrough::Kind;
use super::{cargo, npm};

/// A request to the mirror, parsed from its path.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum MirrorRequest<'a> {
    PypiPage(&'a str),
    PypiFile(&'a str, &'a str),
    NpmPage(String),
    NpmFile(String, &'a str),
    NpmPing,
    CargoConfig,
    CargoPage(&'a str),
    CargoFile(&'a str, &'a str),
    Passed(Kind, &'a str),
}

/// The request that a path stands for, if it is valid.
pub(super) fn parse_path(path: &str) -> Option<MirrorRequest<'_>> {
    if let Some(rest) = path.strip_prefix("/pypi/") {
        let parts: Vec<_> = rest.split('/').collect();
        return match parts[..] {
            ["simple", name, ""] | ["simple", name] if !name.is_empty() => {
                Some(MirrorRequest::PypiPage(name))
            }
            ["files", name, file] => Some(MirrorRequest::PypiFile(name, file)),
            _ => None,
        };
    }
    if let Some(rest) = path.strip_prefix("/cargo/") {
        let parts: Vec<_> = rest.split('/').collect();
        return match parts[..] {
            ["config.json"] => Some(MirrorRequest::CargoConfig),
            ["crates", name, version, "download"] => Some(MirrorRequest::CargoFile(name, version)),
            [.., name] if cargo::index_path(name).as_deref() == Some(rest) => {
                Some(MirrorRequest::CargoPage(name))
            }
            _ => None,
        };
    }
    for kind in Kind::ALL {
        if let Some(rest) = path.strip_prefix(kind.prefix()) {
            return Some(MirrorRequest::Passed(kind, rest));
        }
    }
    let rest = path.strip_prefix("/npm/")?;
    if rest == "-/ping" {
        return Some(MirrorRequest::NpmPing);
    }
    match rest.split_once("/-/") {
        Some((name, file)) => Some(MirrorRequest::NpmFile(npm::name(name)?, file.rsplit('/').next()?)),
        None => Some(MirrorRequest::NpmPage(npm::name(rest)?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_names_a_package_and_a_file_of_it_and_nothing_else() {
        assert_eq!(parse_path("/pypi/simple/six/"), Some(MirrorRequest::PypiPage("six")));
        assert_eq!(
            parse_path("/pypi/files/six/six-1.tar.gz"),
            Some(MirrorRequest::PypiFile("six", "six-1.tar.gz"))
        );
        assert_eq!(parse_path("/npm/@a%2fb"), Some(MirrorRequest::NpmPage("@a/b".into())));
        assert_eq!(parse_path("/npm/@a/b/-/b-1.tgz"), Some(MirrorRequest::NpmFile("@a/b".into(), "b-1.tgz")));
        assert_eq!(parse_path("/npm/-/ping"), Some(MirrorRequest::NpmPing));
        assert_eq!(parse_path("/cargo/config.json"), Some(MirrorRequest::CargoConfig));
        assert_eq!(parse_path("/cargo/se/rd/serde"), Some(MirrorRequest::CargoPage("serde")));
        assert_eq!(
            parse_path("/cargo/crates/a/1.0.0/download"),
            Some(MirrorRequest::CargoFile("a", "1.0.0"))
        );
        assert_eq!(
            parse_path("/go/a.test/b/@v/list"),
            Some(MirrorRequest::Passed(Kind::Go, "a.test/b/@v/list"))
        );
        for path in ["/cargo/", "/cargo/se/rd/other", "/cargo/../x", "/cargo/crates/a", "/gopher/x"] {
            assert_eq!(parse_path(path), None, "{path}");
        }
        for path in ["/", "/pypi/", "/pypi/simple/", "/pypi/simple/a/b/", "/npm/", "/npm/../x", "/npm/a/b/c"]
        {
            assert_eq!(parse_path(path), None, "{path}");
        }
    }
}

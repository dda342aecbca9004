//! Rust's registry: the sparse index, which has the checksum of every crate file.
//!
//! cargo reads `config.json`, which leads downloads to the mirror, and one file of lines for each crate. The real address
//! of a crate file comes from the registry's own `config.json`.

use reqwest::Url;
use serde_json::Value;

use super::super::PORT;
use super::super::response::Refusal;
use super::checksum::Checksum;
use super::pages::{Entries, Entry, ParsedPage, Source};

/// The longest name of a crate.
const MAX_NAME_BYTES: usize = 64;
const SETTING: &str = "packages.cargo_index";

/// A sparse index of Rust crates.
#[derive(Debug)]
pub(super) struct Cargo {
    index: Url,
}

impl Cargo {
    pub(super) const fn new(index: Url) -> Self {
        Self { index }
    }

    /// Where the registry says how crate files are downloaded.
    pub(super) fn config_source(&self) -> Source {
        let url = below(&self.index, "config.json");
        Source {
            url,
            accept: "application/json",
            parse: parse_config,
            name: "config.json".into(),
            setting: SETTING,
        }
    }

    /// Where the versions of a crate are.
    pub(super) fn source(&self, name: &str) -> Result<Source, Refusal> {
        let path = index_path(name).ok_or_else(|| Refusal::missing("this is not a valid name of a crate"))?;
        let (url, name) = (below(&self.index, &path), name.to_owned());
        Ok(Source { url, accept: "text/plain", parse, name, setting: SETTING })
    }
}

/// The mirror's `config.json`.
pub(super) fn own_config() -> String {
    serde_json::json!({ "dl": format!("http://127.0.0.1:{PORT}/cargo/crates/{{crate}}/{{version}}/download") }).to_string()
}

fn below(index: &Url, path: &str) -> Url {
    let mut url = index.clone();
    url.set_path(&format!("{}/{path}", index.path().trim_end_matches('/')));
    url
}

/// The path of a crate in an index: `1/a`, `2/ab`, `3/a/abc`, `ab/cd/abcdef`. `None` if the name is not valid.
pub(super) fn index_path(name: &str) -> Option<String> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    if name.is_empty() || name.len() > MAX_NAME_BYTES || !name.bytes().all(plain) {
        return None;
    }
    let name = name.to_ascii_lowercase();
    Some(format!("{}/{name}", prefix(&name)))
}

fn prefix(name: &str) -> String {
    let part = |from: usize, to: usize| name.get(from..to).unwrap_or_default();
    match name.len() {
        1 => "1".to_owned(),
        2 => "2".to_owned(),
        3 => format!("3/{}", part(0, 1)),
        _ => format!("{}/{}", part(0, 2), part(2, 4)),
    }
}

/// The file of a version: its checksum from the index, its address from the registry's configuration.
pub(super) fn file(config: &[u8], entries: &Entries, name: &str, version: &str) -> Option<Entry> {
    let checksum = entries.get(version)?.checksum.clone();
    let Checksum::Sha256(hex) = &checksum else { return None };
    let config: Value = serde_json::from_slice(config).ok()?;
    let template = config.get("dl")?.as_str()?;
    let lower = name.to_ascii_lowercase();
    let url = if template.contains('{') {
        template
            .replace("{crate}", name)
            .replace("{version}", version)
            .replace("{prefix}", &prefix(name))
            .replace("{lowerprefix}", &prefix(&lower))
            .replace("{sha256-checksum}", hex)
    } else {
        format!("{}/{name}/{version}/download", template.trim_end_matches('/'))
    };
    Some(Entry { url, checksum })
}

fn parse_config(_: &Url, _: &str, bytes: &[u8], _: &str) -> Result<ParsedPage, String> {
    let config: Value = serde_json::from_slice(bytes)
        .map_err(|error| format!("the registry's answer is not valid: {error}"))?;
    config.get("dl").and_then(Value::as_str).ok_or("the registry's configuration has no `dl`")?;
    Ok(ParsedPage { json: bytes.to_vec(), ..ParsedPage::default() })
}

/// Parses the lines of a crate. Versions without a checksum cannot be verified and are left out.
fn parse(_: &Url, _: &str, bytes: &[u8], _: &str) -> Result<ParsedPage, String> {
    let (mut kept, mut entries) = (Vec::new(), Entries::new());
    for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let release: Value = serde_json::from_slice(line)
            .map_err(|error| format!("the registry's answer is not valid: {error}"))?;
        let text = |field: &str| release.get(field).and_then(Value::as_str);
        let (Some(version), Some(checksum)) = (text("vers"), text("cksum").and_then(Checksum::sha256)) else {
            continue;
        };
        entries.insert(version.to_owned(), Entry { url: String::new(), checksum });
        kept.extend_from_slice(line);
        kept.push(b'\n');
    }
    Ok(ParsedPage { json: kept, html: Vec::new(), entries })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUM: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn a_crate_has_one_place_in_an_index_and_other_names_have_none() {
        for (name, path) in [
            ("a", "1/a"),
            ("ab", "2/ab"),
            ("aBc", "3/a/abc"),
            ("Serde", "se/rd/serde"),
            ("a-b_c", "a-/b_/a-b_c"),
        ] {
            assert_eq!(index_path(name).as_deref(), Some(path));
        }
        for name in ["", "..", "a/b", "a%2f", "ä", "a b", &"a".repeat(65)] {
            assert_eq!(index_path(name), None, "{name}");
        }
        let cargo = Cargo::new("https://index.example/crates/".parse().unwrap());
        assert_eq!(cargo.source("serde").unwrap().url.as_str(), "https://index.example/crates/se/rd/serde");
        assert_eq!(cargo.config_source().url.as_str(), "https://index.example/crates/config.json");
    }

    #[test]
    fn a_file_has_the_address_of_the_registry_and_the_checksum_of_the_index() {
        let url = "https://index.example/".parse().unwrap();
        let lines =
            format!("{{\"name\":\"a\",\"vers\":\"1.0.0\",\"cksum\":\"{SUM}\"}}\n{{\"vers\":\"2.0.0\"}}\n");
        let page = parse(&url, "", lines.as_bytes(), "a").unwrap();
        assert_eq!(page.json.split(|byte| *byte == b'\n').count() - 1, 1, "the other has no checksum");
        for (dl, expected) in [
            (
                "https://f.example/api/v1/crates",
                "https://f.example/api/v1/crates/Abcd/1.0.0/download".to_owned(),
            ),
            (
                "https://f.example/{crate}/{crate}-{version}.crate",
                "https://f.example/Abcd/Abcd-1.0.0.crate".into(),
            ),
            ("https://f.example/{lowerprefix}/{sha256-checksum}", format!("https://f.example/ab/cd/{SUM}")),
        ] {
            let config = serde_json::json!({ "dl": dl }).to_string();
            let file = file(config.as_bytes(), &page.entries, "Abcd", "1.0.0").unwrap();
            assert_eq!((file.url, file.checksum), (expected, Checksum::sha256(SUM).unwrap()));
        }
        assert_eq!(file(b"{}", &page.entries, "a", "1.0.0"), None);
        assert_eq!(file(b"{\"dl\":\"x\"}", &page.entries, "a", "2.0.0"), None);
        assert!(parse(&url, "", b"<html>", "a").is_err() && parse_config(&url, "", b"{}", "").is_err());
    }
}

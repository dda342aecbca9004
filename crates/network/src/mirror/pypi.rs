//! Python's index: reads pages in HTML (PEP 503) or JSON (PEP 691), and serves both forms.

use reqwest::Url;
use serde_json::{Map, Value, json};

use super::super::PORT;
use super::super::response::Refusal;
use super::checksum::Checksum;
use super::html;
use super::pages::{Entries, Entry, ParsedPage, Source};

pub(super) const JSON: &str = "application/vnd.pypi.simple.v1+json";
pub(super) const HTML: &str = "text/html; charset=utf-8";
const ACCEPT: &str = "application/vnd.pypi.simple.v1+json, text/html;q=0.5";
/// The suffix of a file's metadata (PEP 658).
const METADATA: &str = ".metadata";
/// Keys under which a page has the checksum of a file's metadata.
const METADATA_KEYS: [&str; 3] = ["core-metadata", "data-dist-info-metadata", "dist-info-metadata"];

/// An index of Python packages.
#[derive(Debug)]
pub(super) struct Pypi {
    index: Url,
}

impl Pypi {
    pub(super) const fn new(index: Url) -> Self {
        Self { index }
    }

    /// Where the page of a package is.
    pub(super) fn source(&self, name: &str) -> Result<Source, Refusal> {
        let name = normalise(name)
            .ok_or_else(|| Refusal::missing("this is not a valid name of a Python package"))?;
        let mut url = self.index.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().push(&name).push("");
        }
        Ok(Source { url, accept: ACCEPT, parse, name, setting: "packages.python_index" })
    }
}

/// The normalised name of a package (PEP 503), if it is valid.
fn normalise(name: &str) -> Option<String> {
    let edge = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = name.as_bytes();
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    if bytes.len() > 200 || !edge(bytes.first()) || !edge(bytes.last()) || !bytes.iter().all(plain) {
        return None;
    }
    let parts = name.split(['-', '_', '.']).filter(|part| !part.is_empty());
    Some(parts.collect::<Vec<_>>().join("-").to_ascii_lowercase())
}

/// Parses a page in either form.
fn parse(url: &Url, kind: &str, bytes: &[u8], name: &str) -> Result<ParsedPage, String> {
    let mut page = if kind.contains("json") {
        serde_json::from_slice(bytes).map_err(|error| format!("the index's answer is not valid: {error}"))?
    } else {
        from_html(&String::from_utf8_lossy(bytes), name)
    };
    let files =
        page.get_mut("files").and_then(Value::as_array_mut).ok_or("the index's answer has no files")?;
    let mut entries = Entries::new();
    files.retain_mut(|file| {
        file.as_object_mut().is_some_and(|file| redirect_to_mirror(file, url, name, &mut entries))
    });
    let json = serde_json::to_vec(&page).map_err(|error| error.to_string())?;
    Ok(ParsedPage { json, html: to_html(&page).into_bytes(), entries })
}

/// Rewrites a file's URL to the mirror. A file without a checksum cannot be verified and is left out.
fn redirect_to_mirror(file: &mut Map<String, Value>, page: &Url, name: &str, entries: &mut Entries) -> bool {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    let checksum_in = |value: Option<&Value>| Checksum::sha256(value?.get("sha256")?.as_str()?);
    let (Some(filename), Some(url)) = (text(file.get("filename")), text(file.get("url"))) else {
        return false;
    };
    let Some(checksum) = checksum_in(file.get("hashes")) else { return false };
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.+!".contains(&byte);
    let Ok(mut url) = page.join(&url) else { return false };
    if filename.is_empty() || !filename.bytes().all(plain) {
        return false;
    }
    url.set_fragment(None);
    let metadata = METADATA_KEYS.iter().find_map(|key| checksum_in(file.get(*key)));
    for key in METADATA_KEYS {
        file.remove(key);
    }
    if let Some(checksum) = metadata {
        file.insert("core-metadata".into(), json!({ "sha256": hex(&checksum) }));
        let mut beside = url.clone();
        beside.set_path(&format!("{}{METADATA}", url.path()));
        entries.insert(format!("{filename}{METADATA}"), Entry { url: beside.into(), checksum });
    }
    file.remove("gpg-sig"); // signatures are not mirrored
    file.insert("url".into(), format!("http://127.0.0.1:{PORT}/pypi/files/{name}/{filename}").into());
    entries.insert(filename, Entry { url: url.into(), checksum });
    true
}

fn hex(checksum: &Checksum) -> String {
    match checksum {
        Checksum::Sha256(text) | Checksum::Sha512(text) | Checksum::Url(text) => text.clone(),
    }
}

/// The JSON form of a page in HTML.
fn from_html(page: &str, name: &str) -> Value {
    let file = |link: html::Link| {
        let (url, fragment) = link.attributes.get("href")?.split_once('#')?;
        let mut file = json!({
            "filename": link.text,
            "url": url,
            "hashes": { "sha256": fragment.strip_prefix("sha256=")? },
        });
        let object = file.as_object_mut()?;
        for (attribute, key) in [("data-requires-python", "requires-python"), ("data-yanked", "yanked")] {
            if let Some(value) = link.attributes.get(attribute) {
                let flag = key == "yanked" && value.is_empty();
                object.insert(key.into(), if flag { true.into() } else { value.as_str().into() });
            }
        }
        let metadata = ["data-core-metadata", "data-dist-info-metadata"];
        let metadata = metadata.iter().find_map(|name| link.attributes.get(*name)?.strip_prefix("sha256="));
        if let Some(sha256) = metadata {
            object.insert("core-metadata".into(), json!({ "sha256": sha256 }));
        }
        Some(file)
    };
    let files: Vec<_> = html::links(page).into_iter().filter_map(file).collect();
    json!({ "meta": { "api-version": "1.0" }, "name": name, "files": files })
}

/// Whether a client accepts the JSON form.
pub(super) fn wants_json(accept: &str) -> bool {
    accept.contains(JSON)
}

fn to_html(page: &Value) -> String {
    let text = |value: &Value| html::escape(value.as_str().unwrap_or_default());
    let mut out =
        "<!DOCTYPE html>\n<html><head><meta name=\"pypi:repository-version\" content=\"1.0\"></head><body>\n"
            .to_owned();
    for file in page["files"].as_array().into_iter().flatten() {
        let mut line =
            format!("<a href=\"{}#sha256={}\"", text(&file["url"]), text(&file["hashes"]["sha256"]));
        if file["requires-python"].is_string() {
            line = format!("{line} data-requires-python=\"{}\"", text(&file["requires-python"]));
        }
        if file["yanked"].is_string() || file["yanked"] == Value::Bool(true) {
            line = format!("{line} data-yanked=\"{}\"", text(&file["yanked"]));
        }
        if let Some(sha256) = file["core-metadata"]["sha256"].as_str() {
            line = format!("{line} data-core-metadata=\"sha256={}\"", html::escape(sha256));
        }
        out = format!("{out}{line}>{}</a><br>\n", text(&file["filename"]));
    }
    format!("{out}</body></html>\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUM: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    fn page() -> Url {
        "https://index.example/simple/a/".parse().unwrap()
    }

    #[test]
    fn names_are_normalised_and_never_paths() {
        assert_eq!(normalise("Ruamel.YAML__x").as_deref(), Some("ruamel-yaml-x"));
        for name in ["", "..", ".", "-a", "a/", "a/b", "a%2f", "ä"] {
            assert_eq!(normalise(name), None, "{name}");
        }
        let url = Pypi::new("https://index.example/simple".parse().unwrap()).source("A_b").unwrap().url;
        assert_eq!(url.as_str(), "https://index.example/simple/a-b/");
    }

    #[test]
    fn both_forms_of_a_page_have_the_same_content_and_both_can_be_requested() {
        let json = format!(
            "{{\"meta\":{{}},\"name\":\"a\",\"files\":[{{\"filename\":\"a-1.whl\",\"url\":\"../../f/a-1.whl\",\
             \"hashes\":{{\"sha256\":\"{SUM}\"}},\"requires-python\":\">=3\",\"yanked\":true,\
             \"core-metadata\":{{\"sha256\":\"{SUM}\"}}}},\
             {{\"filename\":\"no-sum.whl\",\"url\":\"x\",\"hashes\":{{}}}}]}}"
        );
        let html = format!(
            "<a href=\"../../f/a-1.whl#sha256={SUM}\" data-requires-python=\"&gt;=3\" data-yanked=\"\" \
             data-core-metadata=\"sha256={SUM}\">a-1.whl</a><a href=no-sum.whl>no-sum.whl</a>"
        );
        let ParsedPage { json, html: written, entries } = parse(&page(), JSON, json.as_bytes(), "a").unwrap();
        let ParsedPage { json: other, entries: same, .. } =
            parse(&page(), "text/html", html.as_bytes(), "a").unwrap();
        assert_eq!(entries, same);
        assert_eq!(entries["a-1.whl"].url, "https://index.example/f/a-1.whl");
        assert_eq!(entries["a-1.whl.metadata"].url, "https://index.example/f/a-1.whl.metadata");
        assert_eq!(entries.len(), 2);
        let files = |body: &[u8]| serde_json::from_slice::<Value>(body).unwrap()["files"].clone();
        assert_eq!(files(&json), files(&other));
        assert_eq!(files(&json)[0]["url"], format!("http://127.0.0.1:{PORT}/pypi/files/a/a-1.whl"));
        // What is written in HTML is read again as the same.
        let written = String::from_utf8(written).unwrap();
        assert_eq!(from_html(&written, "a")["files"], files(&json));
    }

    #[test]
    fn an_invalid_page_is_refused() {
        for (kind, text) in [(JSON, "{"), (JSON, "[]"), (JSON, "{\"files\":1}")] {
            assert!(parse(&page(), kind, text.as_bytes(), "a").is_err(), "{text}");
        }
        let odd = format!("<a href=\"x#sha256={SUM}\">../../a</a>");
        assert!(parse(&page(), "text/html", odd.as_bytes(), "a").unwrap().entries.is_empty());
    }
}

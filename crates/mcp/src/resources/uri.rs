//! The addresses of resources.
//!
//! `exec://{execution}/output` is the output of an execution, `file:///path` a file of the workspace. A query
//! selects a part: `from` and `to` count bytes from 0 (`to` is exclusive), `lines=10-20` counts lines from 1
//! (inclusive), `stream=stderr` selects one stream of an output.

use headwater_protocol::{ExecutionId, Stream};
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, percent_encode};
use rmcp::ErrorData;

use crate::agents::Access;

/// Characters of a path that would end it or be changed by clients.
const ESCAPED: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'`')
    .add(b'{')
    .add(b'}')
    .add(b'%');

/// The part of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// As much as one answer may have.
    All,
    /// Bytes from this position to that one, or to the end.
    Bytes(u64, Option<u64>),
    /// Lines from this number, from 1, to that one, or to the end.
    Lines(u64, Option<u64>),
}

/// What an address names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// The output of an execution, or one stream of it.
    Output(ExecutionId, Option<Stream>),
    /// A file or a folder, relative to the workspace.
    File(Vec<u8>),
}

/// A parsed address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ResourceUri {
    pub(crate) target: Target,
    pub(crate) part: Part,
}

fn invalid(message: impl Into<String>) -> ErrorData {
    ErrorData::invalid_params(message.into(), None)
}

impl ResourceUri {
    /// The rights that reading it needs.
    pub(crate) const fn access(&self) -> Access {
        match self.target {
            Target::Output(..) => Access::Output,
            Target::File(_) => Access::Files,
        }
    }

    /// Reads an address. `workspace` is the path of the workspace inside the session.
    pub(crate) fn parse(text: &str, workspace: &str) -> Result<Self, ErrorData> {
        let (address, query) = text.split_once('?').unwrap_or((text, ""));
        let mut parsed = Self { target: target(address, workspace)?, part: Part::All };
        let (mut from, mut to) = (None, None);
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            match (key, &mut parsed.target) {
                ("from", _) => from = Some(number(key, value)?),
                ("to", _) => to = Some(number(key, value)?),
                ("lines", _) => parsed.part = lines(value)?,
                ("stream", Target::Output(_, stream)) => *stream = Some(stream_named(value)?),
                _ => {
                    return Err(invalid(format!(
                        "unknown parameter {key:?}: use from, to, lines or, for an output, stream"
                    )));
                }
            }
        }
        if from.is_none() && to.is_none() {
            return Ok(parsed);
        }
        if parsed.part != Part::All {
            return Err(invalid("use either lines or from and to"));
        }
        let from = from.unwrap_or(0);
        if to.is_some_and(|to| to < from) {
            return Err(invalid("`to` is before `from`"));
        }
        parsed.part = Part::Bytes(from, to);
        Ok(parsed)
    }
}

/// The address of an execution's output.
pub(crate) fn of_output(id: ExecutionId) -> String {
    format!("exec://{id}/output")
}

/// The address of a file, whose path is relative to the workspace.
pub(crate) fn of_file(workspace: &str, path: &[u8]) -> String {
    let root = percent_encode(workspace.trim_end_matches('/').as_bytes(), ESCAPED);
    format!("file://{root}/{}", percent_encode(path, ESCAPED))
}

fn target(address: &str, workspace: &str) -> Result<Target, ErrorData> {
    if let Some(rest) = address.strip_prefix("exec://") {
        let id = rest
            .strip_suffix("/output")
            .ok_or_else(|| invalid("the address of an output is exec://{execution}/output"))?;
        return Ok(Target::Output(id.parse().map_err(|error| invalid(format!("{error}")))?, None));
    }
    let Some(rest) = address.strip_prefix("file://") else {
        return Err(invalid("a resource is exec://{execution}/output or file:///path of the workspace"));
    };
    let path: Vec<u8> = percent_decode_str(rest.strip_prefix("localhost").unwrap_or(rest)).collect();
    let root = workspace.trim_end_matches('/').as_bytes();
    let below = path.strip_prefix(root).filter(|rest| rest.is_empty() || rest.starts_with(b"/"));
    let Some(below) = below else {
        return Err(ErrorData::resource_not_found(
            format!("only files below {workspace} are resources"),
            None,
        ));
    };
    if below.split(|byte| *byte == b'/').any(|name| name == b"..") {
        return Err(invalid("a path must not contain `..`"));
    }
    Ok(Target::File(below.strip_prefix(b"/").unwrap_or(below).to_vec()))
}

fn number(key: &str, value: &str) -> Result<u64, ErrorData> {
    value.parse().map_err(|_| invalid(format!("`{key}` must be a number of bytes, not {value:?}")))
}

fn stream_named(value: &str) -> Result<Stream, ErrorData> {
    match value {
        "stdout" => Ok(Stream::Stdout),
        "stderr" => Ok(Stream::Stderr),
        "output" => Ok(Stream::Output),
        _ => Err(invalid(format!("`stream` must be stdout, stderr or output, not {value:?}"))),
    }
}

/// `10-20`, `10-` or `10`.
fn lines(value: &str) -> Result<Part, ErrorData> {
    let wrong = || invalid(format!("`lines` must be like 10-20, 10- or 10, not {value:?}"));
    let parse = |text: &str| text.parse::<u64>().ok().filter(|line| *line > 0).ok_or_else(wrong);
    let (first, last) = match value.split_once('-') {
        Some((first, "")) => (parse(first)?, None),
        Some((first, last)) => (parse(first)?, Some(parse(last)?)),
        None => (parse(value)?, Some(parse(value)?)),
    };
    if last.is_some_and(|last| last < first) {
        return Err(wrong());
    }
    Ok(Part::Lines(first, last))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<ResourceUri, String> {
        ResourceUri::parse(text, "/workspace").map_err(|error| error.message.into_owned())
    }

    #[test]
    fn an_address_names_an_output_or_a_file_and_a_part_of_it() {
        let id = ExecutionId::random();
        let whole = parse(&of_output(id)).unwrap();
        assert_eq!(whole, ResourceUri { target: Target::Output(id, None), part: Part::All });
        let part = parse(&format!("exec://{id}/output?stream=stderr&from=10&to=20")).unwrap();
        assert_eq!(part.target, Target::Output(id, Some(Stream::Stderr)));
        assert_eq!(part.part, Part::Bytes(10, Some(20)));
        for (query, wanted) in [
            ("?lines=3-9", Part::Lines(3, Some(9))),
            ("?lines=3-", Part::Lines(3, None)),
            ("?lines=3", Part::Lines(3, Some(3))),
            ("?to=5", Part::Bytes(0, Some(5))),
        ] {
            let parsed = parse(&format!("file:///workspace/src/a.rs{query}")).unwrap();
            assert_eq!(parsed, ResourceUri { target: Target::File(b"src/a.rs".to_vec()), part: wanted });
        }
    }

    #[test]
    fn every_name_of_a_file_can_be_written_and_read() {
        for name in [&b"a b"[..], b"100%?#", b"\xff\xfe", "\u{e9}".as_bytes(), b"{x}"] {
            let parsed = parse(&of_file("/workspace/", name)).unwrap();
            assert_eq!(parsed.target, Target::File(name.to_vec()));
        }
        assert_eq!(parse("file:///workspace").unwrap().target, Target::File(Vec::new()));
    }

    #[test]
    fn addresses_outside_of_the_workspace_are_refused() {
        for bad in [
            "file:///etc/passwd",
            "file:///workspaces/x",
            "file:///workspace/../etc/passwd",
            "file:///workspace/%2e%2e/x",
            "file://other/workspace/x",
            "http://x",
            "exec://1/output",
            "",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn bad_parts_are_refused() {
        for bad in [
            "from=x",
            "from=5&to=4",
            "lines=0",
            "lines=9-3",
            "lines=1&from=2",
            "what=1",
            "stream=stderr",
            "lines=",
        ] {
            assert!(parse(&format!("file:///workspace/a?{bad}")).is_err(), "{bad}");
        }
    }
}

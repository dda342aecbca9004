//! `read_file`: lines of a file, or the block of code around a line.

use std::fmt::Write as _;

use headwater_contract::{ContractError, Fault, FaultKind, FileReader, v1};

use super::indentation::block;
use super::slice::{NOT_TEXT, Slice, line_text};
use super::{Files, paths};
use crate::error::ToolError;
use crate::outcome::Outcome;
use crate::patch::FilePath;
use crate::schema::{ReadFile, ReadMode};

/// A file with a zero byte among its first bytes is binary.
const MAX_SNIFFED_BYTES: usize = 8 << 10;
/// After the last wanted line, the rest of a file is read up to this length to count its lines.
const MAX_COUNTED_BYTES: u64 = 8 << 20;
/// The longest file that is read for its indentation: it is held in memory.
const MAX_BLOCK_FILE_BYTES: u64 = 16 << 20;
/// Files of the same name in the error for a missing one.
const MAX_SUGGESTED: u64 = 3;
/// How long these are searched for, in milliseconds.
const SUGGEST_MS: u64 = 1000;

pub(super) async fn read_file(files: &Files<'_>, args: &ReadFile) -> Result<Outcome, ToolError> {
    let path = files.file(&args.file_path).await?;
    let request = v1::ReadFileRequest {
        session_id: files.session.to_string(),
        path: path.as_str().to_owned().into(),
        ..v1::ReadFileRequest::default()
    };
    let reader = match files.streams.retry(|client| client.read_file(request.clone())).await {
        Ok(reader) => reader,
        Err(error) => return Err(unreadable(files, &path, error).await),
    };
    let text = match args.mode {
        ReadMode::Slice => slice(&path, reader, args).await?,
        ReadMode::Indentation => indented(&path, reader, args).await?,
    };
    Ok(Outcome::text(text))
}

async fn slice(path: &FilePath, mut reader: FileReader, args: &ReadFile) -> Result<String, ToolError> {
    let (first, limit) = (u64::from(args.offset.get()), u64::from(args.limit.get()));
    let size = reader.entry().size;
    let mut slice = Slice::new(first, limit);
    let (mut at, mut is_whole) = (0, true);
    while let Some(piece) = reader.next().await? {
        if at == 0 {
            refuse_binary(path, &piece, size)?;
        }
        at += piece.len() as u64;
        slice.push(&piece);
        if slice.is_complete() && size - at > MAX_COUNTED_BYTES {
            is_whole = false;
            break;
        }
    }
    let total = is_whole.then(|| slice.finish());
    match total {
        Some(0) => Ok("[The file is empty.]".to_owned()),
        Some(total) if total < first => Err(beyond_the_end("offset", first, total)),
        total => Ok(slice.into_text(total)),
    }
}

async fn indented(path: &FilePath, mut reader: FileReader, args: &ReadFile) -> Result<String, ToolError> {
    let size = reader.entry().size;
    if size > MAX_BLOCK_FILE_BYTES {
        let message = format!("`{path}` has {size} bytes, which is too long for the mode indentation");
        return Err(ToolError::new(message).hint("Use the mode slice"));
    }
    let mut bytes = Vec::new();
    while let Some(piece) = reader.next().await? {
        bytes.extend_from_slice(&piece);
    }
    refuse_binary(path, &bytes, size)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    if lines.is_empty() {
        return Ok("[The file is empty.]".to_owned());
    }
    let options = args.indentation.clone().unwrap_or_default();
    let anchor = options.anchor_line.unwrap_or(args.offset).get();
    let total = lines.len() as u64;
    if u64::from(anchor) > total {
        return Err(beyond_the_end("anchor_line", u64::from(anchor), total));
    }
    let limit = options.max_lines.map_or(args.limit, |lines| lines.min(args.limit)).get();
    let found = block(&lines, anchor as usize - 1, &options, limit as usize);
    let mut shown = String::new();
    for (at, line) in lines.iter().enumerate().take(found.last + 1).skip(found.first) {
        let (line, _) = line_text(line.as_bytes(), line.len() as u64);
        let _ = writeln!(shown, "L{}: {line}", at + 1); // writing to a string cannot fail
    }
    shown.pop();
    let _ = write!(shown, "\n[Lines {} to {} of {total}.]", found.first + 1, found.last + 1);
    if text.contains('\u{fffd}') {
        shown.push_str(NOT_TEXT);
    }
    Ok(shown)
}

fn beyond_the_end(field: &str, line: u64, total: u64) -> ToolError {
    ToolError::new(format!("{field} {line} is beyond the end of the file, which has {total} lines"))
        .hint(format!("Use a line from 1 to {total}"))
}

fn refuse_binary(path: &FilePath, start: &[u8], size: u64) -> Result<(), ToolError> {
    let start = &start[..start.len().min(MAX_SNIFFED_BYTES)];
    if !start.contains(&0) {
        return Ok(());
    }
    let path = paths::shown(path.as_str());
    let error = ToolError::new(format!("`{path}` is a binary file of {size} bytes"));
    Err(match super::image::media_type(start) {
        Some(media_type) => error.hint(format!("It is an image ({media_type}): call view_image")),
        None => error.hint("Examine it with a program, for example: xxd FILE | head"),
    })
}

/// The error for a file that cannot be opened.
async fn unreadable(files: &Files<'_>, path: &FilePath, error: ContractError) -> ToolError {
    let ContractError::Fault(Fault { kind, .. }) = &error else { return error.into() };
    match kind {
        FaultKind::NotFound => files.missing(path.as_str(), "list_dir lists a directory").await,
        FaultKind::Conflict => {
            let entry = files.calls.stat_file(files.session, path.as_str().to_owned().into()).await;
            let kind = entry.map(|entry| entry.kind());
            let shown = paths::shown(path.as_str());
            match kind {
                Ok(v1::FileKind::Folder) => {
                    ToolError::new(format!("`{shown}` is a directory")).hint("Call list_dir to list it")
                }
                Ok(v1::FileKind::Link) => ToolError::new(format!("`{shown}` is a symbolic link")).hint(
                    "Links are not followed: name the file that it leads to, by a path in the workspace",
                ),
                _ => error.into(),
            }
        }
        _ => error.into(),
    }
}

impl Files<'_> {
    /// The error for a file that does not exist, with files of the same name elsewhere.
    pub(super) async fn missing(&self, path: &str, next: &str) -> ToolError {
        let error =
            ToolError::new(format!("the file `{}` does not exist in the workspace", paths::shown(path)));
        let name = path.rsplit('/').next().unwrap_or(path);
        let others = self.named(name).await.unwrap_or_default();
        if others.is_empty() {
            return error.hint(next);
        }
        error.hint(format!("{next}. Files of that name: {}", others.join(", ")))
    }

    async fn named(&self, name: &str) -> Result<Vec<String>, ContractError> {
        let mut found = self
            .streams
            .search_tree(v1::SearchRequest {
                session_id: self.session.to_string(),
                name: Some(literal_glob(name)),
                gitignore: true,
                limit: MAX_SUGGESTED,
                timeout_ms: SUGGEST_MS,
                ..v1::SearchRequest::default()
            })
            .await?;
        let mut names = Vec::new();
        while let Some(message) = found.next().await? {
            if let Some(v1::search_response::Item::Match(found)) = message.item {
                names.push(paths::listed(&found.path));
            }
        }
        Ok(names)
    }
}

/// A glob that matches only this text.
fn literal_glob(text: &str) -> String {
    let mut glob = String::new();
    for letter in text.chars() {
        if matches!(letter, '*' | '?' | '[' | ']' | '{' | '}' | '\\' | '!') {
            glob.push('\\');
        }
        glob.push(letter);
    }
    glob
}

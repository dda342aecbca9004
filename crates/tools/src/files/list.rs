//! `list_dir`: a directory with its subdirectories.

use bytes::Bytes;
use headwater_contract::v1;

use super::{Files, paths};
use crate::error::ToolError;
use crate::outcome::Outcome;
use crate::schema::ListDir;

/// Entries of one call to the worker: its maximum.
const PAGE: u32 = 1000;
/// Entries after the last shown one are counted up to this number.
const MAX_COUNTED: u64 = 10_000;
/// Spaces for each level.
const INDENT: usize = 2;

pub(super) async fn list_dir(files: &Files<'_>, args: &ListDir) -> Result<Outcome, ToolError> {
    let path = files.folder(&args.dir_path).await?;
    let first = u64::from(args.offset.get()) - 1;
    let mut listing = Listing {
        folder: path.clone(),
        first,
        end: first + u64::from(args.limit.get()),
        seen: 0,
        lines: Vec::new(),
    };
    let mut request = v1::ListFilesRequest {
        session_id: files.session.to_string(),
        path: path.clone().into(),
        depth: args.depth.get(),
        limit: PAGE,
        after: None,
    };
    let (mut home, mut is_counted) = (String::new(), true);
    loop {
        let page = match files.calls.retry(|client| client.list_files(request.clone())).await {
            Ok(page) => page,
            Err(error) => return Err(not_listed(files, &path, error).await),
        };
        home = if page.home.is_empty() { home } else { page.home };
        page.entries.iter().for_each(|entry| listing.push(entry));
        let Some(next) = page.next else { break };
        if listing.seen >= listing.end.saturating_add(MAX_COUNTED) {
            is_counted = false;
            break;
        }
        request.after = Some(next);
    }
    let absolute = if path.is_empty() { home } else { format!("{home}/{path}") };
    listing.into_text(&paths::shown(&absolute), is_counted).map(Outcome::text)
}

async fn not_listed(files: &Files<'_>, path: &str, error: headwater_contract::ContractError) -> ToolError {
    let entry = files.calls.stat_file(files.session, Bytes::from(path.to_owned())).await;
    let shown = paths::shown(path);
    match entry.map(|entry| entry.kind()) {
        Ok(v1::FileKind::File) => {
            ToolError::new(format!("`{shown}` is a file")).hint("Call read_file to read it")
        }
        Ok(v1::FileKind::Link) => ToolError::new(format!("`{shown}` is a symbolic link"))
            .hint("Links are not followed: name the directory that it leads to, by a path in the workspace"),
        _ => {
            let ToolError { message, .. } = error.into();
            ToolError::new(message).hint("Call list_dir with dir_path \".\" to see the workspace")
        }
    }
}

/// The lines of a listing.
struct Listing {
    folder: String,
    /// The first entry that is shown, from 0, and the one after the last.
    first: u64,
    end: u64,
    seen: u64,
    lines: Vec<String>,
}

impl Listing {
    fn push(&mut self, entry: &v1::FileEntry) {
        let at = self.seen;
        self.seen += 1;
        if at < self.first || at >= self.end {
            return;
        }
        let path = paths::listed(&entry.path);
        let folder = paths::listed(self.folder.as_bytes());
        let inner = path.strip_prefix(&folder).unwrap_or(&path).trim_start_matches('/');
        let names: Vec<&str> = inner.split('/').collect();
        if at == self.first {
            // The page begins inside directories that an earlier page showed.
            for (level, name) in names.iter().take(names.len() - 1).enumerate() {
                self.lines.push(format!("{}{name}/ (continued)", " ".repeat(INDENT * level)));
            }
        }
        let mark = match entry.kind() {
            v1::FileKind::Folder => "/".to_owned(),
            v1::FileKind::Link => {
                format!("@ -> {}", paths::listed(entry.target.as_deref().unwrap_or_default()))
            }
            v1::FileKind::Other => "?".to_owned(),
            _ => String::new(),
        };
        let indent = " ".repeat(INDENT * (names.len() - 1));
        self.lines.push(format!("{indent}{}{mark}", names.last().unwrap_or(&"")));
    }

    fn into_text(self, absolute: &str, is_counted: bool) -> Result<String, ToolError> {
        if self.seen <= self.first && self.first > 0 {
            let message = format!("offset {} is beyond the end of the list", self.first + 1);
            return Err(ToolError::new(message).hint(format!("There are {} entries", self.seen)));
        }
        let mut lines = vec![format!("Absolute path: {absolute}")];
        lines.extend(self.lines);
        if self.seen == 0 {
            lines.push("[The directory is empty.]".to_owned());
        }
        if self.seen > self.end {
            let more = self.seen - self.end;
            let count = if is_counted { more.to_string() } else { format!("More than {more}") };
            lines.push(format!("[{count} more entries. Continue with offset {}.]", self.end + 1));
        }
        Ok(lines.join("\n"))
    }
}

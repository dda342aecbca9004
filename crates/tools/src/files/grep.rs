//! `grep_files`: the files whose content matches, newest first.

use headwater_contract::v1::{self, search_response::Item};
use headwater_contract::{Client, ContractError};

use super::{Files, paths};
use crate::error::ToolError;
use crate::outcome::Outcome;
use crate::schema::GrepFiles;

/// The longest search, in milliseconds.
const TIMEOUT_MS: u64 = 30_000;

pub(super) async fn grep_files(files: &Files<'_>, args: &GrepFiles) -> Result<Outcome, ToolError> {
    let path = files.folder(args.path.as_deref().unwrap_or("")).await?;
    let request = v1::SearchRequest {
        session_id: files.session.to_string(),
        path: path.into(),
        name: args.include.clone().filter(|glob| !glob.trim().is_empty()),
        content: Some(args.pattern.clone()),
        gitignore: true,
        // Hidden files are left out, as ripgrep does, unless they are asked for.
        hidden: [args.path.as_deref(), args.include.as_deref()].into_iter().flatten().any(names_hidden),
        limit: u64::from(args.most()),
        timeout_ms: TIMEOUT_MS,
        newest_first: true,
        first_match_only: true,
        ..v1::SearchRequest::default()
    };
    let (mut lines, summary) = files.streams.retry(|client| search(client, request.clone())).await?;
    if lines.is_empty() {
        lines.push("No matches found.".to_owned());
    }
    match summary.stopped.as_str() {
        "" => {}
        "limit" => lines.push(format!(
            "[More files match than the limit of {}. Use a narrower pattern, include or path.]",
            args.most()
        )),
        "time" => lines.push(format!(
            "[The search stopped after {} s: other files may match. Use a narrower include or path.]",
            TIMEOUT_MS / 1000
        )),
        _ => lines
            .push("[There are too many files: others may match. Use a narrower include or path.]".to_owned()),
    }
    Ok(Outcome::text(lines.join("\n")))
}

/// Whether a path or a glob names something hidden.
fn names_hidden(text: &str) -> bool {
    text.split('/').any(|name| name.starts_with('.') && name != "." && name != "..")
}

/// The paths of the files, and how the search ended.
async fn search(
    client: &Client,
    request: v1::SearchRequest,
) -> Result<(Vec<String>, v1::SearchSummary), ContractError> {
    let mut found = client.search_tree(request).await?;
    let mut paths = Vec::new();
    while let Some(message) = found.next().await? {
        match message.item {
            Some(Item::Match(found)) => paths.push(paths::listed(&found.path)),
            Some(Item::Summary(summary)) => return Ok((paths, summary)),
            None => {}
        }
    }
    Err(ContractError::Malformed("the search has no summary".into()))
}

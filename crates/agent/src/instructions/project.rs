//! What a project asks of agents: the files AGENTS.md, from the root of the workspace down.

use std::fmt::Write as _;

use headwater_contract::v1;
use headwater_tools::Agent;

use crate::prompt::read_text;

const NAME: &str = "AGENTS.md";
/// The longest text of all files together, in bytes.
const MAX_BYTES: usize = 32 << 10;
/// The files that are read, those near the root first.
const MAX_FILES: u64 = 16;
/// How long they are searched for, in milliseconds.
const SEARCH_MS: u64 = 2000;

/// The text of the files, each with the folder that it is about.
pub(super) async fn instructions(agent: &Agent) -> Option<String> {
    let (mut text, mut left) = (String::new(), MAX_BYTES);
    for path in files(agent).await {
        let Some(found) = read_text(agent, &path, left).await.filter(|found| !found.trim().is_empty()) else {
            continue;
        };
        left = left.saturating_sub(found.len());
        let _ = write!(text, "\n\n## {path}\n\n{found}");
        if left == 0 {
            break;
        }
    }
    let intro = "What this project asks of agents. A file is about its folder and everything below it; the nearest one holds.";
    (!text.is_empty()).then(|| format!("{intro}{text}"))
}

async fn files(agent: &Agent) -> Vec<String> {
    let request = v1::SearchRequest {
        session_id: agent.session().to_string(),
        name: Some(NAME.to_owned()),
        gitignore: true,
        limit: MAX_FILES,
        timeout_ms: SEARCH_MS,
        ..v1::SearchRequest::default()
    };
    let mut paths = Vec::new();
    // Without them the agent works as in a project that has none.
    let Ok(mut found) = agent.host().streams().search_tree(request).await else { return paths };
    while let Ok(Some(message)) = found.next().await {
        if let Some(v1::search_response::Item::Match(found)) = message.item {
            paths.extend(String::from_utf8(found.path.to_vec()));
        }
    }
    paths.sort_by_key(|path| (path.matches('/').count(), path.clone()));
    paths
}

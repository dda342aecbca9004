//! Paths in the arguments of tools.

use headwater_contract::v1;

use super::Files;
use crate::error::ToolError;
use crate::patch::{FilePath, PathError};

/// The path of the workspace in a sandbox, which is accepted everywhere.
const WORKSPACE: &str = "/workspace";
/// The longest part of a path in a message, in characters.
const MAX_SHOWN_CHARS: usize = 200;

impl Files<'_> {
    /// The absolute path of the workspace for programs.
    pub(super) async fn home(&self) -> Result<&str, ToolError> {
        let ask = || async {
            let request = v1::ReadManyRequest {
                session_id: self.session.to_string(),
                ..v1::ReadManyRequest::default()
            };
            let home = self
                .calls
                .retry(|client| {
                    let request = request.clone();
                    async move { client.read_many(request).await?.next().await }
                })
                .await?;
            Ok::<_, ToolError>(home.unwrap_or_default().home)
        };
        Ok(self.home.get_or_try_init(ask).await?)
    }

    /// The home to resolve these paths with. The worker is asked only if one of them needs it.
    pub(super) async fn home_for(&self, mut paths: impl Iterator<Item = &str>) -> Result<&str, ToolError> {
        let is_outside = |path: &str| FilePath::parse(path, WORKSPACE) == Err(PathError::Outside);
        if paths.any(is_outside) { self.home().await } else { Ok(WORKSPACE) }
    }

    /// The path of a file.
    pub(super) async fn file(&self, text: &str) -> Result<FilePath, ToolError> {
        let home = self.home_for([text].into_iter()).await?;
        match FilePath::parse(text, home) {
            Ok(path) => Ok(path),
            Err(problem) => Err(self.refused(text, problem).await),
        }
    }

    /// The path of a file that is to be written. Line breaks in a name would forge lines of later results.
    pub(super) async fn new_file(&self, text: &str) -> Result<FilePath, ToolError> {
        if has_control_character(text) {
            return Err(control_character(text));
        }
        self.file(text).await
    }

    /// The path of a folder or a file; empty for the workspace.
    pub(super) async fn folder(&self, text: &str) -> Result<String, ToolError> {
        // A folder is the parent of any file in it.
        let text = if text.is_empty() { "." } else { text };
        let inside = format!("{}/x", text.trim_end_matches('/'));
        let home = self.home_for([inside.as_str()].into_iter()).await?;
        match FilePath::parse(&inside, home) {
            Ok(path) => Ok(path.as_str().rsplit_once('/').map_or("", |(folder, _)| folder).to_owned()),
            Err(problem) => Err(self.refused(text, problem).await),
        }
    }

    async fn refused(&self, text: &str, problem: PathError) -> ToolError {
        let home = self.home().await.unwrap_or(WORKSPACE);
        let hint = match problem {
            PathError::ZeroByte => "Leave out the zero byte".to_owned(),
            PathError::TooLong => "Choose a shorter path".to_owned(),
            PathError::Folder => "Name a file, for example src/main.py".to_owned(),
            PathError::Upwards | PathError::Outside | PathError::Home => format!(
                "Use a path relative to the workspace, for example src/main.py, or below {home}; exec_command can \
                 read other files, or copy them into the workspace"
            ),
        };
        ToolError::new(format!("the path `{}` is not valid: {problem}", shown(text))).hint(hint)
    }
}

pub(super) fn has_control_character(path: &str) -> bool {
    path.chars().any(char::is_control)
}

pub(super) fn control_character(path: &str) -> ToolError {
    let shown = shown(path);
    ToolError::new(format!(
        "the path `{shown}` is not valid: it contains a line break or a control character"
    ))
    .hint("Leave it out")
}

/// A path for a message or a list: control characters are escaped, and long paths are cut.
pub(super) fn shown(path: &str) -> String {
    let mut text = String::new();
    for (at, letter) in path.chars().enumerate() {
        if at == MAX_SHOWN_CHARS {
            text.push_str("...");
            break;
        }
        if letter.is_control() {
            text.extend(letter.escape_default());
        } else {
            text.push(letter);
        }
    }
    text
}

/// A path that the worker sent. It is not cut.
pub(super) fn listed(path: &[u8]) -> String {
    let mut text = String::new();
    for letter in String::from_utf8_lossy(path).chars() {
        if letter.is_control() {
            text.extend(letter.escape_default());
        } else {
            text.push(letter);
        }
    }
    text
}

//! The arguments of tools that read files.
#![allow(
    clippy::doc_markdown,
    clippy::doc_link_with_quotes,
    reason = "a model reads these comments, and pays for backticks"
)]

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bounds;

/// The arguments of `read_file`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadFile {
    /// Path of the file.
    pub file_path: String,
    /// First line, from 1.
    #[serde(default = "bounds::count::<1>")]
    pub offset: NonZeroU32,
    /// Most lines.
    #[serde(default = "bounds::count::<2000>")]
    pub limit: NonZeroU32,
    /// slice: lines from offset on; indentation: the block around a line.
    #[serde(default)]
    pub mode: ReadMode,
    /// For mode indentation.
    #[serde(default)]
    pub indentation: Option<Indentation>,
}

/// How `read_file` selects lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReadMode {
    /// Lines from an offset on.
    #[default]
    Slice,
    /// The block of code around a line, by its indentation.
    Indentation,
}

/// The block that `read_file` selects by indentation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Indentation {
    /// Line in the block; default: offset.
    #[serde(default)]
    pub anchor_line: Option<NonZeroU32>,
    /// Enclosing levels; 0: all.
    #[serde(default)]
    pub max_levels: u32,
    /// Include sibling blocks.
    #[serde(default)]
    pub include_siblings: bool,
    /// Include comments above the block.
    #[serde(default = "bounds::yes")]
    pub include_header: bool,
    /// Most lines; default: limit.
    #[serde(default)]
    pub max_lines: Option<NonZeroU32>,
}

/// The same values as those of an empty object.
impl Default for Indentation {
    fn default() -> Self {
        Self {
            anchor_line: None,
            max_levels: 0,
            include_siblings: false,
            include_header: bounds::yes(),
            max_lines: None,
        }
    }
}

/// The arguments of `list_dir`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListDir {
    /// Path of the directory.
    pub dir_path: String,
    /// First entry, from 1.
    #[serde(default = "bounds::count::<1>")]
    pub offset: NonZeroU32,
    /// Most entries.
    #[serde(default = "bounds::count::<25>")]
    pub limit: NonZeroU32,
    /// Levels below the directory.
    #[serde(default = "bounds::count::<2>")]
    pub depth: NonZeroU32,
}

/// The arguments of `grep_files`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GrepFiles {
    /// Regular expression.
    pub pattern: String,
    /// Glob of file names, e.g. "*.{ts,tsx}".
    #[serde(default)]
    pub include: Option<String>,
    /// Directory or file to search; default: the workspace.
    #[serde(default)]
    pub path: Option<String>,
    /// Most files.
    #[serde(default = "bounds::count::<100>")]
    #[schemars(range(min = 1, max = 2000))]
    pub limit: NonZeroU32,
}

impl GrepFiles {
    /// The most files of the result, within its bounds.
    pub fn most(&self) -> u32 {
        self.limit.get().min(bounds::MAX_MATCHES)
    }
}

/// The arguments of `view_image`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ViewImage {
    /// Path of the image.
    pub path: String,
}

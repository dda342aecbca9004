//! Whole trees of a workspace as the API tells of them. Names that are no text are written as those of files are.

use serde::{Deserialize, Serialize};

use super::{FileType, PathEncoding, Timestamp};
use crate::SnapshotId;

/// What happened, as a watch tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ChangeName {
    /// The watch stands: from here on every change is told.
    Ready,
    /// It was made.
    Created,
    /// Its content or its rights changed.
    Modified,
    /// It is gone.
    Removed,
    /// It has another path.
    Moved,
    /// More happened than could be kept: some of it is not told.
    Overflow,
    /// There are too many folders: what happens in this one and in others like it is not told.
    Limit,
    /// Look at everything again.
    Rescan,
    /// The session has ended.
    Ended,
}

impl ChangeName {
    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Created => "created",
            Self::Modified => "modified",
            Self::Removed => "removed",
            Self::Moved => "moved",
            Self::Overflow => "overflow",
            Self::Limit => "limit",
            Self::Rescan => "rescan",
            Self::Ended => "ended",
        }
    }
}

/// One event of a watch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChangeBody {
    /// What happened.
    #[serde(rename = "type")]
    pub change: ChangeName,
    /// To what, from the workspace on.
    pub path: String,
    /// How `path` is written; absent where it is text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<PathEncoding>,
    /// What it is.
    pub kind: FileType,
    /// Where it was before, if it moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// How `from` is written; absent where it is text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_encoding: Option<PathEncoding>,
}

/// Something that a search found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MatchBody {
    /// Where, from the workspace on.
    pub path: String,
    /// How `path` is written; absent where it is text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<PathEncoding>,
    /// What it is.
    pub kind: FileType,
    /// The line, from 1, where content was looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// Where in the line, from 1, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u64>,
    /// The line, or 400 bytes of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Where in the line those begin, if not at its beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text_offset: Option<u64>,
    /// Whether `text` is not the whole line.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub text_truncated: bool,
}

/// How a search went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SearchSummaryBody {
    /// What was found.
    pub matches: u64,
    /// Files whose content was looked at.
    pub files: u64,
    /// Files that were passed over: binary, not readable, or with a line that is too long.
    pub skipped: u64,
    /// Why it ended before everything was looked at: `limit`, `time` or `entries`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
}

/// What a search found, all of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SearchBody {
    /// What was found.
    pub items: Vec<MatchBody>,
    /// How it went.
    pub summary: SearchSummaryBody,
}

/// What an archive held.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct UnpackedBody {
    /// Ordinary files.
    pub files: u64,
    /// Folders.
    pub folders: u64,
    /// Symbolic links.
    pub links: u64,
    /// The bytes of the files.
    pub bytes: u64,
}

/// How something is different.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum DifferenceName {
    /// It was not there.
    Added,
    /// Its content or its rights were others.
    Modified,
    /// It is there no more.
    Removed,
}

/// One thing that is different.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DifferenceBody {
    /// How.
    #[serde(rename = "type")]
    pub difference: DifferenceName,
    /// Where, from the workspace on.
    pub path: String,
    /// How `path` is written; absent where it is text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<PathEncoding>,
    /// What it is, or was.
    pub kind: FileType,
    /// Its size now, or when it was there.
    pub size: u64,
    /// A unified diff, if it was asked for and both texts are there and short enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patch: Option<String>,
    /// There is no `patch` because the texts are too long, or the patches of all are.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub patch_too_long: bool,
}

/// What is different.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DiffBody {
    /// All that is, or the first of it.
    pub items: Vec<DifferenceBody>,
    /// There is more.
    pub truncated: bool,
}

/// A request for a snapshot.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
pub struct SnapshotRequest {
    /// For people; need not be unique.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_length = 200))]
    pub name: Option<String>,
}

/// A copy of a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SnapshotBody {
    /// Its id: `snp_` and 32 hexadecimal digits.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub id: SnapshotId,
    /// For people.
    pub name: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// What it uses of the disk, as if it shared nothing with the workspace.
    pub bytes: u64,
    /// Files, folders and links in it.
    pub files: u64,
}

/// The snapshots of a session, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SnapshotsBody {
    /// All of them.
    pub items: Vec<SnapshotBody>,
}

/// A request for a session like another.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
pub struct ForkRequest {
    /// The name of the new one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The snapshot that it begins with; as the workspace is now if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub snapshot: Option<SnapshotId>,
}

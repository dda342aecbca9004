//! Whole trees of a workspace in the API. Names that are not text are encoded like those of files.

use serde::{Deserialize, Serialize};

use super::{FileType, PathEncoding, Timestamp};
use crate::SnapshotId;

/// The type of a change that a watch reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = FileChangeType))]
#[serde(rename_all = "snake_case")]
pub enum ChangeName {
    /// The watch is active: every change from now on is reported.
    Ready,
    /// The entry did not exist before.
    Created,
    /// Its content or its permissions changed.
    Modified,
    /// An entry no longer exists.
    Removed,
    /// It was moved to another path.
    Moved,
    /// Some changes were lost, because too many happened at once.
    Overflow,
    /// Too many folders: changes in this one and in others are not reported.
    Limit,
    /// The client has to read everything again.
    Rescan,
    /// The session has ended.
    Ended,
}

impl ChangeName {
    /// The name in JSON.
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

/// A change that a watch reports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = FileChange))]
pub struct ChangeBody {
    /// The type of the change.
    #[serde(rename = "type")]
    pub change: ChangeName,
    /// The path below the workspace.
    pub path: String,
    /// The encoding of `path`; absent if it is plain text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<PathEncoding>,
    /// The type of the file.
    pub kind: FileType,
    /// The previous path, if it was moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The encoding of `from`; absent if it is plain text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_encoding: Option<PathEncoding>,
}

/// A match of a search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = SearchMatch))]
pub struct MatchBody {
    /// The path below the workspace.
    pub path: String,
    /// The encoding of `path`; absent if it is plain text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<PathEncoding>,
    /// The type of the file.
    pub kind: FileType,
    /// The line number, from 1, for a match in the content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The column, from 1, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u64>,
    /// The line, or 400 bytes of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The position in the line where `text` begins, if not at its beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text_offset: Option<u64>,
    /// Whether `text` is only a part of the line.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub text_truncated: bool,
}

/// The summary of a search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = SearchSummary))]
pub struct SearchSummaryBody {
    /// The number of matches.
    pub matches: u64,
    /// The number of files whose content was searched.
    pub files: u64,
    /// The number of files that were skipped: binary, not readable, or with a line that is too long.
    pub skipped: u64,
    /// Why the search ended early: `limit`, `time` or `entries`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
}

/// All results of a search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = SearchResult))]
pub struct SearchBody {
    /// The matches.
    pub items: Vec<MatchBody>,
    /// How the search ended, and what it covered.
    pub summary: SearchSummaryBody,
}

/// The contents of an unpacked archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = UnpackedArchive))]
pub struct UnpackedBody {
    /// The number of files.
    pub files: u64,
    /// The number of folders.
    pub folders: u64,
    /// The number of symbolic links.
    pub links: u64,
    /// The total size of the files.
    pub bytes: u64,
}

/// The type of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = FileDifferenceType))]
#[serde(rename_all = "snake_case")]
pub enum DifferenceName {
    /// It did not exist before.
    Added,
    /// Its content or its permissions changed.
    Modified,
    /// It no longer exists.
    Removed,
}

/// An entry that differs between two states of a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = FileDifference))]
pub struct DifferenceBody {
    /// The type of the difference.
    #[serde(rename = "type")]
    pub difference: DifferenceName,
    /// The path below the workspace.
    pub path: String,
    /// The encoding of `path`; absent if it is plain text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<PathEncoding>,
    /// The type of the file, now or before.
    pub kind: FileType,
    /// The size of the file, now or before.
    pub size: u64,
    /// A unified diff, if it was requested and both texts are available and short enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patch: Option<String>,
    /// Whether `patch` is missing because the text, or all patches together, are too long.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub patch_too_long: bool,
}

/// What differs between two states of a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = FileDiff))]
pub struct DiffBody {
    /// All differences, or the first of them.
    pub items: Vec<DifferenceBody>,
    /// Whether there are more.
    pub truncated: bool,
}

/// A request for a snapshot.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(examples(json!({"name": "before the upgrade"}))))]
#[serde(deny_unknown_fields, default)]
pub struct SnapshotRequest {
    /// A name for people; it need not be unique.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_length = 200))]
    pub name: Option<String>,
}

/// A snapshot of a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(examples(json!({"id": "snp_0123456789abcdef0123456789abcdef", "name": "before the upgrade", "created_at": "2026-01-02T03:04:05.678Z", "bytes": 40960, "files": 10}))))]
pub struct SnapshotBody {
    /// The id: `snp_` and 32 hexadecimal digits.
    pub id: SnapshotId,
    /// A name for people.
    pub name: Option<String>,
    /// When it was created.
    pub created_at: Timestamp,
    /// Its size on disk, as if it shared nothing with the workspace.
    pub bytes: u64,
    /// The number of files, folders and links in it.
    pub files: u64,
}

/// The snapshots of a session, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = SnapshotList))]
pub struct SnapshotsBody {
    /// The oldest first.
    pub items: Vec<SnapshotBody>,
}

/// A request to fork a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(examples(json!({"name": "a copy", "snapshot": "snp_0123456789abcdef0123456789abcdef"}))))]
#[serde(deny_unknown_fields, default)]
pub struct ForkRequest {
    /// The name of the new session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The snapshot to begin with; the current workspace if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<SnapshotId>,
}

//! Converts the worker's messages about workspaces to bodies of the API.

use headwater_contract::v1;
use headwater_protocol::api::{
    ChangeBody, ChangeName, DifferenceBody, DifferenceName, FileType, MatchBody, SearchSummaryBody,
    SnapshotBody, Timestamp, UnpackedBody, path_text,
};

use crate::error::ApiError;
use crate::routes::files::file_type;

/// One event of a watch.
pub(crate) fn change(change: &v1::Change) -> ChangeBody {
    let (text, encoding) = path_text(&change.path);
    let (from, from_encoding) = path_text(&change.from);
    let has_from = !change.from.is_empty();
    ChangeBody {
        change: match change.r#type() {
            v1::ChangeType::Ready => ChangeName::Ready,
            v1::ChangeType::Created => ChangeName::Created,
            v1::ChangeType::Modified | v1::ChangeType::Unspecified => ChangeName::Modified,
            v1::ChangeType::Removed => ChangeName::Removed,
            v1::ChangeType::Moved => ChangeName::Moved,
            v1::ChangeType::Overflow => ChangeName::Overflow,
            v1::ChangeType::Limit => ChangeName::Limit,
            v1::ChangeType::Rescan => ChangeName::Rescan,
        },
        path: text,
        encoding,
        kind: file_type(change.kind()),
        from: has_from.then_some(from),
        from_encoding,
    }
}

/// An event of the watch itself.
pub(crate) fn about_all(change: ChangeName) -> ChangeBody {
    let (path, kind) = (String::new(), FileType::Folder);
    ChangeBody { change, path, encoding: None, kind, from: None, from_encoding: None }
}

/// A match of a search.
pub(crate) fn found(found: &v1::SearchMatch) -> MatchBody {
    let (text, encoding) = path_text(&found.path);
    let has_line = found.line > 0;
    MatchBody {
        path: text,
        encoding,
        kind: file_type(found.kind()),
        line: has_line.then_some(found.line),
        column: has_line.then_some(found.column),
        text: has_line.then(|| String::from_utf8_lossy(&found.text).into_owned()),
        text_offset: (found.text_offset > 0).then_some(found.text_offset),
        text_truncated: found.text_truncated,
    }
}

/// The summary of a search.
pub(crate) fn summary(summary: v1::SearchSummary) -> SearchSummaryBody {
    SearchSummaryBody {
        matches: summary.matches,
        files: summary.files,
        skipped: summary.skipped,
        stopped: Some(summary.stopped).filter(|stopped| !stopped.is_empty()),
    }
}

/// The content of an unpacked archive.
pub(crate) const fn unpacked(response: &v1::UnpackResponse) -> UnpackedBody {
    UnpackedBody {
        files: response.files,
        folders: response.folders,
        links: response.links,
        bytes: response.bytes,
    }
}

pub(crate) fn difference(difference: &v1::Difference) -> DifferenceBody {
    let (text, encoding) = path_text(&difference.path);
    DifferenceBody {
        difference: match difference.r#type() {
            v1::ChangeType::Created => DifferenceName::Added,
            v1::ChangeType::Removed => DifferenceName::Removed,
            _ => DifferenceName::Modified,
        },
        path: text,
        encoding,
        kind: file_type(difference.kind()),
        size: difference.size,
        patch: difference.patch.as_ref().map(|patch| String::from_utf8_lossy(patch).into_owned()),
        patch_too_long: difference.patch_too_long,
    }
}

pub(crate) fn snapshot(snapshot: v1::Snapshot) -> Result<SnapshotBody, ApiError> {
    Ok(SnapshotBody {
        id: snapshot.id.parse().map_err(|error: headwater_protocol::IdError| ApiError::internal(&error))?,
        name: Some(snapshot.name).filter(|name| !name.is_empty()),
        created_at: Timestamp(snapshot.created_at_ms),
        bytes: snapshot.bytes,
        files: snapshot.files,
    })
}

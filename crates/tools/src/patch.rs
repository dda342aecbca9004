//! `apply_patch`: reads a patch, finds its place in the files, and plans the changes. No I/O.
//!
//! ```text
//! *** Begin Patch
//! *** Update File: src/main.py
//! @@ def main():
//! -    print("hello")
//! +    print("hello, world")
//! *** End Patch
//! ```
//!
//! [`Patch::parse`] reads the text, and [`plan`] turns it into a [`Plan`]: every change, or one error. Neither
//! writes anything, so a patch that fails changes nothing. The caller carries the plan out:
//!
//! 1. Read each of [`Patch::paths`] and their parents into a [`Snapshot`] (or implement [`Workspace`]), with the
//!    entity tag of each file as its version.
//! 2. Call [`plan`].
//! 3. Stage the bytes of all changes, check all versions, then rename, in the order of [`Plan::changes`].
//!
//! The worker's file service replaces one file atomically and can require an entity tag. Atomicity over several
//! files needs more, and the contract does not have it yet:
//!
//! - One call that receives all changes, stages them beside the workspace and holds the workspace's lock from the
//!   check of the versions to the last rename.
//! - A journal of the renames in the staging folder, which a new worker completes after a crash. A restore of a
//!   snapshot already works this way.
//! - A version to expect in `Move` and `Remove`: only `Write` has one.
//! - The mode of a moved file whose content changes: `Write` keeps the mode of the file that it replaces, so the
//!   move must come first.

mod apply;
mod error;
mod find;
mod key;
mod lines;
mod overlay;
mod parse;
mod path;
mod place;
mod plan;
mod snapshot;
mod syntax;
mod unwrap;

pub use self::error::{Clue, PatchError};
pub use self::path::{FilePath, PathError};
pub use self::plan::{Change, Plan, plan};
pub use self::snapshot::{Kind, Snapshot, Workspace};
pub use self::syntax::{Action, Hunk, HunkLine, LineKind, NewLine, Patch, Section};

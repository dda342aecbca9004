//! The messages of the last release's contract, for tests of version skew: what a worker of that release sends, and how
//! it reads what it is sent.
//!
//! `proto/` is a copy of the repository's `proto/` at commit 4fd4b52. At a release, replace it by the files of the
//! release before, and adapt the tests that use it.

/// The generated messages.
#[allow(missing_docs, clippy::all, clippy::pedantic, unreachable_pub, unused_qualifications)] // generated
pub mod v1 {
    include!(concat!(env!("OUT_DIR"), "/headwater.worker.v1.rs"));
}

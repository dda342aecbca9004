//! The doors: one file for each group of routes. A door takes a request apart, asks [`crate::auth`] whether it may be,
//! and shapes the answer; what it does is done elsewhere.

#![allow(unused_qualifications)] // utoipa's macro names the type of a query string in full

pub(crate) mod attach;
pub(crate) mod events;
pub(crate) mod executions;
pub(crate) mod feed;
pub(crate) mod health;
pub(crate) mod ide;
pub(crate) mod info;
pub(crate) mod login;
pub(crate) mod output;
pub(crate) mod sessions;
pub(crate) mod tool_progress;
pub(crate) mod tools;

//! The handlers, one file for each group of routes. A handler reads the request, asks [`crate::auth`] whether
//! it is allowed, and writes the response; the work is done by the other modules.

#![allow(unused_qualifications)] // utoipa's macro spells out the type of a query string

pub(crate) mod attach;
pub(crate) mod audit;
pub(crate) mod builds;
pub(crate) mod chat;
pub(crate) mod conversations;
pub(crate) mod editor;
pub(crate) mod events;
pub(crate) mod executions;
pub(crate) mod feeds;
pub(crate) mod files;
pub(crate) mod health;
pub(crate) mod home;
pub(crate) mod info;
pub(crate) mod login;
pub(crate) mod mcp;
pub(crate) mod oauth;
pub(crate) mod output;
pub(crate) mod packages;
pub(crate) mod ports;
pub(crate) mod prune;
pub(crate) mod recordings;
#[cfg(test)]
mod reference;
pub(crate) mod reports;
pub(crate) mod router;
pub(crate) mod rules;
pub(crate) mod sessions;
pub(crate) mod shares;
pub(crate) mod terminals;
pub(crate) mod tokens;
pub(crate) mod tool_progress;
pub(crate) mod tools;
pub(crate) mod usage;
pub(crate) mod users;
pub(crate) mod web_app;
pub(crate) mod workspace;

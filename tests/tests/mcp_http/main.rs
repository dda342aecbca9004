//! `/mcp`: the Model Context Protocol over HTTP, against a real server.

mod access;
mod attacks;
mod client;
mod consent;
mod rules;
mod sessions;
mod tasks;

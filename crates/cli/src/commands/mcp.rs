//! `headwater mcp`: the tools of an agent over the Model Context Protocol, and the configuration of clients.

pub mod install;
#[cfg(target_os = "linux")]
pub mod rules;
#[cfg(target_os = "linux")]
pub mod serve;
#[cfg(target_os = "linux")]
mod spec;

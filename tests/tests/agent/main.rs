//! The agent: turns with a model that follows a script, and real tools on a real worker.

mod agents;
mod approvals;
mod code;
mod context;
mod harness;
mod mcp;
mod notebook;
mod people;
mod restart;
mod server;
mod stops;
mod turns;
mod wakes;

//! Conversations with an agent whose model follows a script, on a real server: `/v1/conversations`.

mod access;
mod agents;
mod approvals;
mod attachments;
mod branches;
mod chat;
mod hostile;
mod input;
mod killed;
mod lifecycle;
mod log;
mod memory;
mod queue;
mod readers;
mod secrets;
mod sessions;
mod sharing;
mod wakes;

//! The API end to end: a real server, real clients.
mod table;
mod calls;
mod feed;
mod tool_progress;
mod tools;
mod attach;
mod events;
mod output;
mod scene;

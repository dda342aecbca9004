//! The API end to end: a real server, real clients.
mod table;

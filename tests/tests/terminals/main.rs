//! Terminals end to end: a real server, real shells, viewers that connect and disconnect.

mod by_name;
mod recordings;
mod screen;
mod screen_idle;
mod screen_programs;
mod screen_queries;
mod screen_restart;
mod screen_shell;
mod screen_sizes;
mod secret;
mod socket_editor;
mod socket_flood;
mod socket_json;
mod socket_reattach;
mod socket_viewers;
mod viewer;

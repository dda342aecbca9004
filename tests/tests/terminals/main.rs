//! Terminals end to end: a real server, real shells, viewers that come and go.

mod door_json;
mod door_scene;
mod screen_idle;
mod screen_programs;
mod screen_queries;
mod screen_restart;
mod screen_scene;
mod screen_shell;
mod screen_sizes;

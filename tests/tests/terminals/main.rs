//! Terminals end to end: a real server, real shells, viewers that come and go.

mod door_flood;
mod door_json;
mod door_reattach;
mod door_recording;
mod door_rest;
mod door_scene;
mod door_viewers;
mod screen_idle;
mod screen_programs;
mod screen_queries;
mod screen_restart;
mod screen_scene;
mod screen_shell;
mod screen_sizes;

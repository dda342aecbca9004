//! Terminals end to end: a real server, real shells, viewers that come and go.
mod door_json;
mod door_scene;

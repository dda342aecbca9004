//! Tools over HTTP, end to end: a real server, real programs.
mod access;
mod arguments;
mod calls;
mod examples;
mod history;
mod model;
mod parallel;
mod secrets;
mod streams;

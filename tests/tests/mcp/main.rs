//! `headwater mcp`, as clients of every version of the protocol use it: the real binary over standard input and output.

mod approvals;
mod bad_input;
mod calls;
mod client;
mod ending;
mod eras;
mod grants;
mod in_place;
mod install;
mod person;
mod resources;
mod secrets;
mod tasks;

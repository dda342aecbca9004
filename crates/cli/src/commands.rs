//! The subcommands, one file each.

pub mod attach;
pub mod config;
pub mod doctor;
pub mod forget;
pub mod kill;
pub mod logs;
pub mod prune;
pub mod ps;
pub mod run;
pub mod serve;
pub mod sessions;
pub mod stop;
pub mod token;
pub mod user;
pub mod worker;

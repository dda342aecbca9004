//! Init as it is: a real process, without walls, driven over its link.

mod adoption;
mod ending;
mod failures;
mod harness;
mod output;
mod terminal;

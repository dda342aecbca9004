//! Attacks, one file for each class of wall. Probes run as root's sessions and as an ordinary user's; what they
//! achieved is decided on the host, and each is first shown to succeed where there is no wall.

mod attack;
mod target;

mod descriptors;
mod disk;
mod exhaustion;
mod identity;
mod kernel;
mod lifetime;
mod logs;
mod mounts;
mod network;
mod output;
mod place;
mod processes;
mod procfs;
mod residue;
mod syscalls;
mod workspace;

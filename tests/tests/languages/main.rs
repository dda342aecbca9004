//! Languages end to end: what runs, what is compiled, what is missing; the editor's commands; packages.
mod binary;
mod calls;
mod compiled;
mod configured;
mod curl;
mod every;
mod packages;

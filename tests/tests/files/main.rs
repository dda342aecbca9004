//! The files API over HTTP: every verb, and everything that can lie in its way.

mod attacks;
mod calls;
mod client;
mod conditions;
mod editor;
mod ending;
mod large;
mod names;
mod verbs;

//! The doors: one file for each group of routes. A door takes a request apart, asks [`crate::auth`] whether it may be,
//! and shapes the answer; what it does is done elsewhere.

pub(crate) mod events;
pub(crate) mod health;
pub(crate) mod info;
pub(crate) mod login;

//! Starts, the recorder and reconciling, against the real store and a scripted worker.

mod reconcile;
mod recorder;
mod starts;

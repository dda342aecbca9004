//! The contract between the gateway (or another client) and a worker: the code generated from `proto/`,
//! conversions to and from the types of the protocol crate, and a client for the worker's socket.

mod access_log;
mod backoff;
mod builds;
mod cache_counter;
mod client;
mod codec;
mod convert;
mod error;
mod files;
mod follower;
mod keyed_lock;
mod languages;
mod output;
pub mod panics;
mod ports;
#[cfg(target_os = "linux")]
mod process_usage;
mod request_id;
mod resume;
mod retry;
mod stdin;
mod terminals;
mod transport;
mod trees;
mod write_timeout;

pub use access_log::{ACCESS_LOG, access_ms};
pub use backoff::Backoff;
pub use builds::{BuildInfo, BuildSpec};
pub use cache_counter::CacheCounter;
pub use client::{Client, MAX_MESSAGE_BYTES, Transport, connect, connect_with};
pub use convert::stream;
pub use error::{ContractError, Fault, FaultKind};
pub use files::{FileReader, FileWriter};
pub use follower::{FollowOptions, Follower};
pub use keyed_lock::KeyedLock;
pub use output::{KeptOutput, OutputReader, OutputSelector};
pub use ports::{ListeningPorts, PortConnection};
#[cfg(target_os = "linux")]
pub use process_usage::process_usage;
pub use request_id::{REQUEST_ID, SendRequestId, request_id, with_request_id};
pub use retry::{WorkerRestart, WorkerRestarter, reconnect_backoff};
pub use stdin::StdinWriter;
pub use terminals::{Mark, MarkFollower, MarkKind, SizeChange, Snapshot};
pub use trees::Messages;
pub use write_timeout::{WritePolicy, WriteTimeout};

/// The code generated from `proto/`.
#[allow(missing_docs, clippy::all, clippy::pedantic, unreachable_pub, unused_qualifications)] // generated
pub mod v1 {
    tonic::include_proto!("headwater.worker.v1");
}

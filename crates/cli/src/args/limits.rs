//! The flags for limits, shared by `run` and `sessions create`.

use std::time::Duration;

use clap::Args;
use headwater_protocol::Limits;
use headwater_protocol::units::{parse_bytes, parse_duration};

/// Limits of a session or an execution.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Limits")]
pub struct LimitArgs {
    /// Memory, such as `512Mi` or `2Gi`
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub memory: Option<u64>,
    /// CPUs; `0.5` is half of one
    #[arg(long, value_name = "N")]
    pub cpus: Option<f64>,
    /// Processes and threads
    #[arg(long, value_name = "N")]
    pub pids: Option<u64>,
    /// Open file descriptors of each process
    #[arg(long, value_name = "N")]
    pub open_files: Option<u64>,
    /// Size of a single file
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub file_size: Option<u64>,
    /// Size of the workspace
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub disk: Option<u64>,
    /// Files and folders in the workspace
    #[arg(long, value_name = "N")]
    pub inodes: Option<u64>,
    /// Output kept of each execution
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub output_limit: Option<u64>,
    /// CPU time of each process
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub cpu_time: Option<Duration>,
}

impl LimitArgs {
    /// The limits as the protocol has them.
    pub fn limits(&self) -> Limits {
        Limits {
            memory_bytes: self.memory,
            cpus: self.cpus,
            pids: self.pids,
            open_files: self.open_files,
            file_bytes: self.file_size,
            disk_bytes: self.disk,
            inodes: self.inodes,
            output_bytes: self.output_limit,
            wall_ms: None,
            cpu_ms: self.cpu_time.map(millis),
        }
    }
}

/// A duration in whole milliseconds.
pub fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

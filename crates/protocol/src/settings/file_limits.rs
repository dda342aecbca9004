//! Limits in the configuration file.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Limits;
use crate::units::{format_bytes, format_duration, parse_bytes, parse_duration};

/// Limits in the form of the file, with units: `512Mi`, `300s`.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct FileLimits {
    memory: Option<String>,
    cpus: Option<f64>,
    pids: Option<u64>,
    open_files: Option<u64>,
    file: Option<String>,
    disk: Option<String>,
    inodes: Option<u64>,
    output: Option<String>,
    wall: Option<String>,
    cpu: Option<String>,
}

impl From<&Limits> for FileLimits {
    fn from(limits: &Limits) -> Self {
        let time = |ms: Option<u64>| ms.map(|ms| format_duration(Duration::from_millis(ms)));
        Self {
            memory: limits.memory_bytes.map(format_bytes),
            cpus: limits.cpus,
            pids: limits.pids,
            open_files: limits.open_files,
            file: limits.file_bytes.map(format_bytes),
            disk: limits.disk_bytes.map(format_bytes),
            inodes: limits.inodes,
            output: limits.output_bytes.map(format_bytes),
            wall: time(limits.wall_ms),
            cpu: time(limits.cpu_ms),
        }
    }
}

impl FileLimits {
    /// The limits, or which field is not valid.
    pub fn parse(self) -> Result<Limits, String> {
        let bytes = |name: &str, text: Option<String>| {
            text.map(|text| parse_bytes(&text)).transpose().map_err(|e| format!("limits.{name}: {e}"))
        };
        let ms = |name: &str, text: Option<String>| {
            let time = text.map(|text| parse_duration(&text)).transpose();
            let time = time.map_err(|e| format!("limits.{name}: {e}"))?;
            Ok::<_, String>(time.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX)))
        };
        Ok(Limits {
            memory_bytes: bytes("memory", self.memory)?,
            cpus: self.cpus,
            pids: self.pids,
            open_files: self.open_files,
            file_bytes: bytes("file", self.file)?,
            disk_bytes: bytes("disk", self.disk)?,
            inodes: self.inodes,
            output_bytes: bytes("output", self.output)?,
            wall_ms: ms("wall", self.wall)?,
            cpu_ms: ms("cpu", self.cpu)?,
        })
    }
}

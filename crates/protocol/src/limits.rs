//! Limits of a session, or of one execution in it. An absent limit means that of the level above.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The maximum number of processes of Linux.
const MAX_PIDS: u64 = 4_194_304;
/// The longest time that a limit may have: a hundred years. Everything else is bounded by `max_limits`.
const MAX_TIME_MS: u64 = 100 * 366 * 24 * 60 * 60 * 1000;

/// Upper bounds; each is optional.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Resident memory, including page cache if the kernel counts it.
    #[cfg_attr(feature = "openapi", schema(minimum = 4_194_304))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Processors; `0.5` is half of one.
    #[cfg_attr(feature = "openapi", schema(minimum = 0.01, maximum = 1024))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<f64>,
    /// The number of processes and threads.
    #[cfg_attr(feature = "openapi", schema(minimum = 2, maximum = 4_194_304))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pids: Option<u64>,
    /// Open files of each process.
    #[cfg_attr(feature = "openapi", schema(minimum = 8))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_files: Option<u64>,
    /// The size of each file.
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_bytes: Option<u64>,
    /// The size of the workspace.
    #[cfg_attr(feature = "openapi", schema(minimum = 4096))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_bytes: Option<u64>,
    /// The number of files and folders in the workspace.
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inodes: Option<u64>,
    /// The output that is kept of each execution.
    #[cfg_attr(feature = "openapi", schema(minimum = 4096))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_bytes: Option<u64>,
    /// The wall-clock time of each execution.
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall_ms: Option<u64>,
    /// The processor time of each process.
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_ms: Option<u64>,
}

impl Limits {
    /// These limits; absent ones are taken from `other`.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        Self {
            memory_bytes: self.memory_bytes.or(other.memory_bytes),
            cpus: self.cpus.or(other.cpus),
            pids: self.pids.or(other.pids),
            open_files: self.open_files.or(other.open_files),
            file_bytes: self.file_bytes.or(other.file_bytes),
            disk_bytes: self.disk_bytes.or(other.disk_bytes),
            inodes: self.inodes.or(other.inodes),
            output_bytes: self.output_bytes.or(other.output_bytes),
            wall_ms: self.wall_ms.or(other.wall_ms),
            cpu_ms: self.cpu_ms.or(other.cpu_ms),
        }
    }

    /// The lower of the two, limit by limit: an execution can lower a limit of its session, never raise it.
    #[must_use]
    pub fn tightest(&self, other: &Self) -> Self {
        fn low<T: PartialOrd>(a: Option<T>, b: Option<T>) -> Option<T> {
            match (a, b) {
                (Some(a), Some(b)) => Some(if b < a { b } else { a }),
                (a, b) => a.or(b),
            }
        }
        Self {
            memory_bytes: low(self.memory_bytes, other.memory_bytes),
            cpus: low(self.cpus, other.cpus),
            pids: low(self.pids, other.pids),
            open_files: low(self.open_files, other.open_files),
            file_bytes: low(self.file_bytes, other.file_bytes),
            disk_bytes: low(self.disk_bytes, other.disk_bytes),
            inodes: low(self.inodes, other.inodes),
            output_bytes: low(self.output_bytes, other.output_bytes),
            wall_ms: low(self.wall_ms, other.wall_ms),
            cpu_ms: low(self.cpu_ms, other.cpu_ms),
        }
    }

    /// These limits, each lowered to `most` if that is lower. Absent limits stay absent.
    #[must_use]
    pub fn at_most(&self, most: &Self) -> Self {
        self.each(most, u64::min, f64::min)
    }

    /// These limits, each raised to `least` if that is higher. Absent limits stay absent.
    #[must_use]
    pub fn at_least(&self, least: &Self) -> Self {
        self.each(least, u64::max, f64::max)
    }

    /// Combines limits that are present in both; the others of `self` stay.
    fn each(&self, other: &Self, number: fn(u64, u64) -> u64, cpus: fn(f64, f64) -> f64) -> Self {
        let one = |ours: Option<u64>, other: Option<u64>| {
            ours.map(|ours| other.map_or(ours, |other| number(ours, other)))
        };
        Self {
            memory_bytes: one(self.memory_bytes, other.memory_bytes),
            cpus: self.cpus.map(|ours| other.cpus.map_or(ours, |other| cpus(ours, other))),
            pids: one(self.pids, other.pids),
            open_files: one(self.open_files, other.open_files),
            file_bytes: one(self.file_bytes, other.file_bytes),
            disk_bytes: one(self.disk_bytes, other.disk_bytes),
            inodes: one(self.inodes, other.inodes),
            output_bytes: one(self.output_bytes, other.output_bytes),
            wall_ms: one(self.wall_ms, other.wall_ms),
            cpu_ms: one(self.cpu_ms, other.cpu_ms),
        }
    }

    /// A message about the first limit that is higher than `most`.
    pub fn above(&self, most: &Self) -> Option<String> {
        if let (Some(cpus), Some(most)) = (self.cpus, most.cpus)
            && cpus > most
        {
            return Some(format!("limits.cpus is `{cpus}`: it may be at most `{most}` here"));
        }
        let pairs = [
            ("memory_bytes", self.memory_bytes, most.memory_bytes),
            ("pids", self.pids, most.pids),
            ("open_files", self.open_files, most.open_files),
            ("file_bytes", self.file_bytes, most.file_bytes),
            ("disk_bytes", self.disk_bytes, most.disk_bytes),
            ("inodes", self.inodes, most.inodes),
            ("output_bytes", self.output_bytes, most.output_bytes),
            ("wall_ms", self.wall_ms, most.wall_ms),
            ("cpu_ms", self.cpu_ms, most.cpu_ms),
        ];
        pairs.into_iter().find_map(|(name, value, most)| {
            let (value, most) = (value?, most?);
            (value > most).then(|| format!("limits.{name} is `{value}`: it may be at most `{most}` here"))
        })
    }

    /// The first limit with an invalid value.
    pub fn first_invalid(&self) -> Option<LimitError> {
        let wrong = |name, value: &dyn fmt::Display, must: String| {
            Some(LimitError { name, value: value.to_string(), must })
        };
        if let Some(cpus) = self.cpus.filter(|cpus| !(0.01..=1024.0).contains(cpus)) {
            return wrong("cpus", &cpus, "between 0.01 and 1024".into());
        }
        if let Some(pids) = self.pids.filter(|pids| *pids > MAX_PIDS) {
            return wrong("pids", &pids, format!("at most {MAX_PIDS}"));
        }
        for (name, value) in [("wall_ms", self.wall_ms), ("cpu_ms", self.cpu_ms)] {
            if let Some(value) = value.filter(|value| *value > MAX_TIME_MS) {
                return wrong(name, &value, format!("at most {MAX_TIME_MS}"));
            }
        }
        let least = [
            ("memory_bytes", self.memory_bytes, 4 << 20),
            ("pids", self.pids, 2),
            ("open_files", self.open_files, 8),
            ("file_bytes", self.file_bytes, 1),
            ("disk_bytes", self.disk_bytes, 4096),
            ("inodes", self.inodes, 1),
            ("output_bytes", self.output_bytes, 4096),
            ("wall_ms", self.wall_ms, 1),
            ("cpu_ms", self.cpu_ms, 1),
        ];
        least.into_iter().find_map(|(name, value, least)| {
            let value = value.filter(|value| *value < least)?;
            wrong(name, &value, format!("at least {least}"))
        })
    }
}

/// A limit with an invalid value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("limits.{name} is `{value}`: it must be {must}")]
pub struct LimitError {
    name: &'static str,
    value: String,
    must: String,
}

impl LimitError {
    /// Whether the limit is in bytes.
    pub fn is_in_bytes(&self) -> bool {
        matches!(self.name, "memory_bytes" | "file_bytes" | "disk_bytes" | "output_bytes")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_above_the_maximum_is_named_and_one_without_a_maximum_is_allowed() {
        let most = Limits { memory_bytes: Some(8 << 20), cpus: Some(2.0), ..Limits::default() };
        let asked =
            Limits { memory_bytes: Some(8 << 20), pids: Some(9), cpus: Some(2.0), ..Limits::default() };
        assert_eq!(asked.above(&most), None);
        let much = Limits { memory_bytes: Some(9 << 20), ..asked.clone() };
        assert!(much.above(&most).unwrap().contains("limits.memory_bytes"));
        assert!(Limits { cpus: Some(2.5), ..asked }.above(&most).unwrap().contains("limits.cpus"));
    }

    #[test]
    fn limits_are_lowered_and_raised_only_where_they_are() {
        let ours = Limits { pids: Some(10), cpus: Some(2.0), wall_ms: Some(5), ..Limits::default() };
        let other = Limits { pids: Some(7), cpus: Some(3.0), memory_bytes: Some(1), ..Limits::default() };
        let (low, high) = (ours.at_most(&other), ours.at_least(&other));
        assert_eq!((low.pids, low.cpus, low.wall_ms, low.memory_bytes), (Some(7), Some(2.0), Some(5), None));
        assert_eq!(
            (high.pids, high.cpus, high.wall_ms, high.memory_bytes),
            (Some(10), Some(3.0), Some(5), None)
        );
    }

    #[test]
    fn an_execution_can_lower_a_limit_of_its_session_but_never_raise_it() {
        let session = Limits { pids: Some(64), memory_bytes: Some(1 << 30), ..Limits::default() };
        let asked =
            Limits { pids: Some(1000), memory_bytes: Some(1 << 20), cpus: Some(0.5), ..Limits::default() };
        let got = session.tightest(&asked);
        assert_eq!((got.pids, got.memory_bytes, got.cpus), (Some(64), Some(1 << 20), Some(0.5)));
    }

    #[test]
    fn an_invalid_limit_is_named() {
        let limits = Limits { cpus: Some(f64::NAN), ..Limits::default() };
        assert!(limits.first_invalid().unwrap().to_string().contains("limits.cpus"));
        let limits = Limits { pids: Some(MAX_PIDS + 1), ..Limits::default() };
        assert!(limits.first_invalid().unwrap().to_string().contains("at most"));
        let limits = Limits { wall_ms: Some(u64::MAX), ..Limits::default() };
        assert!(limits.first_invalid().unwrap().to_string().contains("limits.wall_ms"));
        let limits = Limits { memory_bytes: Some(1), ..Limits::default() };
        assert!(limits.first_invalid().unwrap().to_string().contains("limits.memory_bytes"));
        assert_eq!(Limits::default().first_invalid(), None);
    }
}

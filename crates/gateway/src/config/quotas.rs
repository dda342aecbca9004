//! `[quotas]` and `[watchdog]`: what an owner may use at once and in a day, and what looks like abuse.

use std::collections::BTreeMap;
use std::time::Duration;

use headwater_protocol::units::{format_bytes, format_duration, parse_bytes, parse_duration};
use serde::{Deserialize, Serialize};

/// What one owner may use. Absent: any amount.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Quota {
    /// Sessions that have not ended.
    pub sessions: Option<u64>,
    /// Executions at once; more wait in the queue.
    pub executions: Option<u64>,
    /// Processor time a day (UTC).
    pub cpu_per_day: Option<Duration>,
    /// Bytes of all workspaces together.
    pub disk_bytes: Option<u64>,
}

/// The quotas of all owners, and the queue of those who have to wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quotas {
    /// Of everybody who has none of their own.
    pub everybody: Quota,
    /// Of these owners; what is absent is as everybody's.
    pub owners: BTreeMap<String, Quota>,
    /// Executions of all owners at once; 0 means any number.
    pub executions_of_all: u64,
    /// How many starts of one owner may wait.
    pub queue_length: usize,
    /// How long one waits.
    pub queue_wait: Duration,
}

impl Default for Quotas {
    fn default() -> Self {
        Self {
            everybody: Quota::default(),
            owners: BTreeMap::new(),
            executions_of_all: 0,
            queue_length: 100,
            queue_wait: Duration::from_secs(30),
        }
    }
}

impl Quotas {
    /// What this owner may use.
    pub fn of(&self, owner: &str) -> Quota {
        let Some(own) = self.owners.get(owner) else {
            return self.everybody.clone();
        };
        own.or(&self.everybody)
    }
}

impl Quota {
    /// This quota, with the other's where something is absent here.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        Self {
            sessions: self.sessions.or(other.sessions),
            executions: self.executions.or(other.executions),
            cpu_per_day: self.cpu_per_day.or(other.cpu_per_day),
            disk_bytes: self.disk_bytes.or(other.disk_bytes),
        }
    }
}

/// What is done with what looks like abuse.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// It is written into the audit log and counted.
    #[default]
    Flag,
    /// Its sessions are put to sleep as well.
    Stop,
}

impl Action {
    /// As written in the configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Flag => "flag",
            Self::Stop => "stop",
        }
    }
}

/// When something looks like abuse.
#[derive(Debug, Clone, PartialEq)]
pub struct Watchdog {
    /// How often usage is looked at.
    pub interval: Duration,
    /// Full load without output for so long; `None` switches that look off.
    pub after: Option<Duration>,
    /// So many processors in full use, over all sessions of an owner, are full load.
    pub cpus: f64,
    /// Programs of these names (lower case) are miners.
    pub names: Vec<String>,
    /// What is done.
    pub action: Action,
}

/// Names under which well-known miners run unless they hide.
const MINERS: [&str; 14] = [
    "xmrig",
    "xmr-stak",
    "minerd",
    "cpuminer",
    "ccminer",
    "ethminer",
    "nbminer",
    "lolminer",
    "t-rex",
    "gminer",
    "teamredminer",
    "phoenixminer",
    "bfgminer",
    "cgminer",
];

impl Default for Watchdog {
    fn default() -> Self {
        Self {
            interval: Duration::from_secs(10),
            after: Some(Duration::from_mins(30)),
            cpus: 0.9,
            names: MINERS.map(str::to_owned).into(),
            action: Action::Flag,
        }
    }
}

/// A quota as it is written.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
struct FileQuota {
    sessions: Option<u64>,
    executions: Option<u64>,
    cpu_per_day: Option<String>,
    disk: Option<String>,
}

impl From<&Quota> for FileQuota {
    fn from(quota: &Quota) -> Self {
        Self {
            sessions: quota.sessions,
            executions: quota.executions,
            cpu_per_day: quota.cpu_per_day.map(format_duration),
            disk: quota.disk_bytes.map(format_bytes),
        }
    }
}

impl From<&Quotas> for FileQuotas {
    fn from(quotas: &Quotas) -> Self {
        let FileQuota { sessions, executions, cpu_per_day, disk } = (&quotas.everybody).into();
        Self {
            sessions,
            executions,
            cpu_per_day,
            disk,
            executions_of_all: Some(quotas.executions_of_all),
            queue_length: Some(quotas.queue_length),
            queue_wait: Some(format_duration(quotas.queue_wait)),
            owners: quotas.owners.iter().map(|(owner, quota)| (owner.clone(), quota.into())).collect(),
        }
    }
}

impl From<&Watchdog> for FileWatchdog {
    fn from(watchdog: &Watchdog) -> Self {
        let after = watchdog.after.map_or_else(|| "never".to_owned(), format_duration);
        Self {
            interval: Some(format_duration(watchdog.interval)),
            after: Some(after),
            cpus: Some(watchdog.cpus),
            names: Some(watchdog.names.clone()),
            action: Some(watchdog.action),
        }
    }
}

impl FileQuota {
    fn parse(self, name: &str) -> Result<Quota, String> {
        let time = self.cpu_per_day.map(|text| parse_duration(&text)).transpose();
        let bytes = self.disk.map(|text| parse_bytes(&text)).transpose();
        Ok(Quota {
            sessions: self.sessions,
            executions: self.executions,
            cpu_per_day: time.map_err(|error| format!("{name}.cpu_per_day: {error}"))?,
            disk_bytes: bytes.map_err(|error| format!("{name}.disk: {error}"))?,
        })
    }
}

/// `[quotas]` as it is written.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct FileQuotas {
    sessions: Option<u64>,
    executions: Option<u64>,
    cpu_per_day: Option<String>,
    disk: Option<String>,
    executions_of_all: Option<u64>,
    queue_length: Option<usize>,
    queue_wait: Option<String>,
    owners: BTreeMap<String, FileQuota>,
}

impl FileQuotas {
    pub(super) fn parse(self) -> Result<Quotas, String> {
        let defaults = Quotas::default();
        let Self { sessions, executions, cpu_per_day, disk, .. } = self;
        let everybody = FileQuota { sessions, executions, cpu_per_day, disk }.parse("quotas")?;
        let owners = self.owners.into_iter().map(|(owner, quota)| {
            let quota = quota.parse(&format!("quotas.owners.{owner}"))?;
            Ok::<_, String>((owner, quota))
        });
        let wait = self.queue_wait.map(|text| parse_duration(&text)).transpose();
        Ok(Quotas {
            everybody,
            owners: owners.collect::<Result<_, _>>()?,
            executions_of_all: self.executions_of_all.unwrap_or(defaults.executions_of_all),
            queue_length: self.queue_length.unwrap_or(defaults.queue_length),
            queue_wait: wait
                .map_err(|error| format!("quotas.queue_wait: {error}"))?
                .unwrap_or(defaults.queue_wait),
        })
    }
}

/// `[watchdog]` as it is written.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct FileWatchdog {
    interval: Option<String>,
    after: Option<String>,
    cpus: Option<f64>,
    names: Option<Vec<String>>,
    action: Option<Action>,
}

impl FileWatchdog {
    pub(super) fn parse(self) -> Result<Watchdog, String> {
        let defaults = Watchdog::default();
        let time = |name: &str, text: &str| match parse_duration(text) {
            Ok(time) if time.is_zero() => Err(format!("watchdog.{name}: must be more than 0")),
            other => other.map_err(|error| format!("watchdog.{name}: {error}")),
        };
        let cpus = self.cpus.unwrap_or(defaults.cpus);
        if !(cpus.is_finite() && cpus > 0.0) {
            return Err("watchdog.cpus: must be more than 0".into());
        }
        Ok(Watchdog {
            interval: self.interval.map_or(Ok(defaults.interval), |text| time("interval", &text))?,
            after: match self.after.as_deref() {
                None => defaults.after,
                Some("never") => None,
                Some(text) => Some(time("after", text)?),
            },
            cpus,
            names: self
                .names
                .map_or(defaults.names, |names| names.into_iter().map(|name| name.to_lowercase()).collect()),
            action: self.action.unwrap_or_default(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_s_quota_is_its_own_where_it_says_so_and_everybody_s_elsewhere() {
        let text = "sessions = 3\ndisk = \"1Gi\"\n[owners.ann]\nsessions = 7\ncpu_per_day = \"2h\"";
        let quotas = toml::from_str::<FileQuotas>(text).unwrap().parse().unwrap();
        let (ann, bob) = (quotas.of("ann"), quotas.of("bob"));
        assert_eq!((ann.sessions, ann.disk_bytes), (Some(7), Some(1 << 30)));
        assert_eq!(ann.cpu_per_day, Some(Duration::from_hours(2)));
        assert_eq!((bob.sessions, bob.cpu_per_day), (Some(3), None));
    }

    #[test]
    fn invalid_settings_are_named() {
        let quotas = |text: &str| toml::from_str::<FileQuotas>(text).unwrap().parse().unwrap_err();
        assert!(quotas("disk = \"much\"").contains("quotas.disk"));
        assert!(quotas("[owners.ann]\ncpu_per_day = \"long\"").contains("quotas.owners.ann.cpu_per_day"));
        let dog = |text: &str| toml::from_str::<FileWatchdog>(text).unwrap().parse().unwrap_err();
        assert!(dog("interval = \"0s\"").contains("watchdog.interval"));
        assert!(dog("cpus = 0.0").contains("watchdog.cpus"));
    }
}

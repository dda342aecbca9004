//! `[quotas]` and `[watchdog]`: the quotas of owners, and the detection of abuse.

use std::collections::BTreeMap;
use std::time::Duration;

use headwater_protocol::units::{format_bytes, format_duration, parse_bytes, parse_duration};
use serde::{Deserialize, Serialize};

/// The quota of one owner. An absent value means no limit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Quota {
    /// Sessions that have not ended.
    pub sessions: Option<u64>,
    /// Concurrent executions; others wait in the queue.
    pub executions: Option<u64>,
    /// CPU time per day (UTC).
    pub cpu_per_day: Option<Duration>,
    /// The total size of all workspaces, in bytes.
    pub disk_bytes: Option<u64>,
}

/// The quotas of all owners, and the limits of the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quotas {
    /// The default quota.
    pub everybody: Quota,
    /// The quotas of single owners; the default applies to absent values.
    pub owners: BTreeMap<String, Quota>,
    /// Concurrent executions of all owners; 0 means no limit.
    pub executions_of_all: u64,
    /// The maximum number of starts of one owner in the queue.
    pub queue_length: usize,
    /// How long a start waits in the queue before it is refused.
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
    /// The quota of this owner.
    pub fn of(&self, owner: &str) -> Quota {
        let Some(own) = self.owners.get(owner) else {
            return self.everybody.clone();
        };
        own.or(&self.everybody)
    }
}

impl Quota {
    /// This quota, with absent values taken from `other`.
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

/// The reaction to suspected abuse.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Record it in the audit log and count it.
    #[default]
    Flag,
    /// Also hibernate the sessions.
    Stop,
}

impl Action {
    /// The name in the configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Flag => "flag",
            Self::Stop => "stop",
        }
    }
}

/// The settings of the watchdog, which detects abuse.
#[derive(Debug, Clone, PartialEq)]
pub struct Watchdog {
    /// How often usage is checked.
    pub interval: Duration,
    /// How long full load without output is allowed; `None` disables this check.
    pub after: Option<Duration>,
    /// The number of fully used CPUs, over all sessions of an owner, that counts as full load.
    pub cpus: f64,
    /// Names of programs (in lower case) that count as miners.
    pub names: Vec<String>,
    /// The reaction to suspected abuse.
    pub action: Action,
}

/// The names of well-known miners.
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

/// A quota in the form of the file.
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

/// `[quotas]` in the form of the file.
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

/// `[watchdog]` in the form of the file.
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

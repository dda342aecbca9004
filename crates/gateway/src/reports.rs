//! What only the command line can find out: the doctor's checks of the host, and where each setting comes from.

use std::fmt;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Makes the reports. An error is a text for the operator.
#[async_trait]
pub trait Reports: fmt::Debug + Send + Sync {
    /// Checks the host. Takes seconds.
    async fn doctor(&self) -> Result<DoctorReport, String>;
    /// All settings, as they are in force.
    async fn settings(&self) -> Result<Vec<Setting>, String>;
}

/// What the host can isolate and limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DoctorReport {
    /// Whether code can be run safely: no check failed.
    pub ok: bool,
    /// The checks, the most basic ones first.
    pub checks: Vec<DoctorCheck>,
}

/// The result of one check of the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DoctorCheck {
    /// The name of the check.
    pub name: String,
    /// Whether code can be run safely as far as this check goes.
    pub ok: bool,
    /// `ok`, `warning` (there is a substitute for what is missing) or `failed`.
    pub status: String,
    /// What was found, and what is used instead if something is missing.
    pub detail: String,
    /// The command or setting that fixes it, if there is something to fix.
    pub fix: Option<String>,
}

/// A setting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Setting {
    /// Its path in the configuration file, such as `server.listen`.
    pub key: String,
    /// The value that is in force. Secrets are not shown.
    pub value: serde_json::Value,
    /// The value without any configuration.
    pub default: serde_json::Value,
    /// Where the value comes from: `default`, the file, a variable or a flag.
    pub source: String,
    /// The value of the running worker, if that was started with another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running: Option<serde_json::Value>,
}

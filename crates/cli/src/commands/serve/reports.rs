//! Reports for the operator's page. Another process of this binary makes them: the doctor's checks fork, and the
//! configuration is read as it would be by a new server.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use headwater_gateway::reports::{DoctorReport, Reports, Setting};

/// The longest time for a report.
const TIMEOUT: Duration = Duration::from_mins(1);

/// Runs `headwater doctor` and `headwater config` for this server.
#[derive(Debug)]
pub struct OwnReports {
    /// The data folder.
    pub data: PathBuf,
    /// The configuration file, if one was named.
    pub config: Option<PathBuf>,
}

impl OwnReports {
    async fn run(&self, arguments: Vec<OsString>) -> Result<Vec<u8>, String> {
        let binary = std::env::current_exe().map_err(|error| format!("cannot find the binary: {error}"))?;
        let mut command = tokio::process::Command::new(binary);
        command.args(arguments).arg("--json").arg("--data").arg(&self.data).kill_on_drop(true);
        let output = tokio::time::timeout(TIMEOUT, command.stdin(std::process::Stdio::null()).output()).await;
        let output = output.map_err(|_| "it takes too long".to_owned())?;
        let output = output.map_err(|error| format!("cannot run the binary: {error}"))?;
        // The doctor exits with 1 if a check fails.
        if output.stdout.is_empty() {
            return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
        }
        Ok(output.stdout)
    }
}

/// The arguments of this server without those of its supervisor: those of `config`.
fn server_arguments(all: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments = vec![OsString::from("config")];
    let mut all = all.skip_while(|argument| argument != "serve").skip(1);
    while let Some(argument) = all.next() {
        if argument == "--supervisor" || argument == "--data" {
            all.next(); // its value
            continue;
        }
        if !argument.to_string_lossy().starts_with("--data=") {
            arguments.push(argument);
        }
    }
    arguments
}

fn malformed(error: &serde_json::Error) -> String {
    format!("the report cannot be read: {error}")
}

#[async_trait]
impl Reports for OwnReports {
    async fn doctor(&self) -> Result<DoctorReport, String> {
        let mut arguments = vec![OsString::from("doctor")];
        if let Some(config) = &self.config {
            arguments.extend(["--config".into(), config.clone().into_os_string()]);
        }
        serde_json::from_slice(&self.run(arguments).await?).map_err(|error| malformed(&error))
    }

    async fn settings(&self) -> Result<Vec<Setting>, String> {
        let lines = self.run(server_arguments(std::env::args_os())).await?;
        let settings = serde_json::Deserializer::from_slice(&lines).into_iter();
        settings.collect::<Result<_, _>>().map_err(|error| malformed(&error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_are_read_with_the_arguments_of_the_server() {
        let words = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
        let given = "headwater serve --listen 127.0.0.1:0 --data /d --data=/e --supervisor 7 --sandbox none";
        let expected = words("config --listen 127.0.0.1:0 --sandbox none");
        assert_eq!(server_arguments(words(given).into_iter()), expected);
    }
}

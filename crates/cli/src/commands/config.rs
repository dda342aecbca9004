//! `headwater config`: every setting with its value, its default and where the value comes from.
//!
//! The settings come from the types that the file is parsed into, so that none can be missing here.

pub mod running;
mod secrets;
mod settings;
#[cfg(test)]
mod tests;
mod text;

use std::path::Path;

use clap::parser::ValueSource;
use clap::{ArgMatches, Args};
use headwater_gateway::config::{Config, ConfigError, LogFormat, Overrides};
use headwater_worker::config::Config as WorkerConfig;
use serde_json::Value;

use self::running::Outdated;
use self::settings::{Origin, Origins};
use crate::args::{ConfigArgs, LogFormatArg, ShowConfigArgs};
use crate::connect::Place;
use crate::error::CommandError;
use crate::output::{print_list, print_note};

const SEE_DOCUMENTATION: &str = "see docs/configuration.md for all settings";

/// Reads and validates the server's configuration.
pub fn load(data: &Path, args: &ConfigArgs) -> Result<Config, CommandError> {
    Config::load(data, args.config.as_deref(), overrides(args)).map_err(|error| {
        let hint = match error {
            ConfigError::NotLoopback(_) => "docs/configuration.md explains what else is needed",
            _ => SEE_DOCUMENTATION,
        };
        CommandError::usage(error.to_string()).hint(hint)
    })
}

/// The values of flags and variables, which take precedence over the file.
fn overrides(args: &ConfigArgs) -> Overrides {
    Overrides {
        listen: args.listen,
        allow_remote: args.allow_remote.then_some(true),
        hosts: args.host.clone(),
        origins: args.origin.clone(),
        log_format: args.log_format.map(Into::into),
        requests_per_second: args.requests_per_second,
    }
}

impl From<LogFormatArg> for LogFormat {
    fn from(arg: LogFormatArg) -> Self {
        match arg {
            LogFormatArg::Text => Self::Text,
            LogFormatArg::Json => Self::Json,
        }
    }
}

/// Reads and validates the configuration of the server's worker.
pub fn load_worker(data: &Path, args: &ConfigArgs) -> Result<WorkerConfig, CommandError> {
    let mut config = WorkerConfig::load(data, args.config.as_deref())
        .map_err(|error| CommandError::usage(error.to_string()).hint(SEE_DOCUMENTATION))?;
    config.sandbox = args.sandbox.map_or(config.sandbox, Into::into);
    Ok(config)
}

/// Prints the configuration. `matches` are those of this command, which tell flags from variables.
pub async fn config(data: &Path, args: &ShowConfigArgs, matches: &ArgMatches) -> Result<u8, CommandError> {
    let worker = load_worker(data, &args.config)?;
    let server = load(data, &args.config)?;
    let values = settings::values(&server, &worker);
    let defaults = settings::values(&Config::defaults(data), &WorkerConfig::defaults(data));
    let path = args.config.config.clone().unwrap_or_else(|| data.join("headwater.toml"));
    let origins = Origins {
        file: file(&path)?,
        flags: flags(&args.config, matches),
        env: &|name| std::env::var(name).ok(),
    };
    let mut settings = settings::all(values, defaults, &origins);
    let outdated = running::outdated(&Place::new(data.to_owned()), &worker, server.log_format).await?;
    for difference in outdated.iter().flat_map(|worker| &worker.differences) {
        if let Some(setting) = settings.iter_mut().find(|setting| setting.path == difference.path) {
            setting.running = Some(difference.running.clone());
        }
    }
    print_list(&settings, args.json, |settings| text::lines(data, &path, settings))?;
    if let Some(worker) = outdated {
        print_note(&outdated_note(&worker));
    }
    Ok(0)
}

/// The note on a running worker with another configuration.
fn outdated_note(worker: &Outdated) -> String {
    let remedy = if worker.is_replaceable() {
        "`headwater serve` and SIGHUP to it replace the worker"
    } else {
        "`headwater stop --keep-sessions` stops the worker"
    };
    format!(
        "headwater: the running worker (pid {}) has other values of {}; {remedy}, and programs keep running",
        worker.pid,
        worker.keys()
    )
}

/// The file as it is written; nothing if it does not exist.
fn file(path: &Path) -> Result<Value, CommandError> {
    if !path.exists() {
        return Ok(Value::Null);
    }
    let text = std::fs::read_to_string(path);
    let text =
        text.map_err(|error| CommandError::usage(format!("cannot read `{}`: {error}", path.display())))?;
    headwater_protocol::settings::read(&text, |_| None).map_err(CommandError::usage)
}

/// The settings that a flag or its environment variable has set.
fn flags(args: &ConfigArgs, matches: &ArgMatches) -> Vec<(&'static str, Origin)> {
    // Without `..`, so that a new argument does not compile until it is listed here.
    let ConfigArgs {
        listen,
        allow_remote,
        host,
        origin,
        log_format,
        requests_per_second,
        sandbox,
        config: _, // not a setting, but where they are
    } = args;
    let arguments = [
        ("server.listen", "listen", listen.is_some()),
        ("server.allow_remote", "allow_remote", *allow_remote),
        ("server.hosts", "host", !host.is_empty()),
        ("server.origins", "origin", !origin.is_empty()),
        ("server.log_format", "log_format", log_format.is_some()),
        ("server.requests_per_second", "requests_per_second", requests_per_second.is_some()),
        ("sandbox", "sandbox", sandbox.is_some()),
    ];
    let given = arguments.into_iter().filter(|(.., is_given)| *is_given);
    given.map(|(key, id, _)| (key, argument_origin(id, matches))).collect()
}

fn argument_origin(id: &str, matches: &ArgMatches) -> Origin {
    let command = ConfigArgs::augment_args(clap::Command::new("config"));
    let argument = command.get_arguments().find(|argument| argument.get_id() == id);
    if matches.value_source(id) == Some(ValueSource::EnvVariable) {
        let name = argument.and_then(clap::Arg::get_env).unwrap_or_default();
        return Origin::Environment(name.to_string_lossy().into_owned());
    }
    Origin::Flag(format!("--{}", argument.and_then(clap::Arg::get_long).unwrap_or(id)))
}

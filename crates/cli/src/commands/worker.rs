//! `headwater worker`: runs the worker in the foreground.

mod rotate;

use std::path::Path;

use headwater_gateway::config::{Config as ServerConfig, LogFormat};
use headwater_worker::config::Config;
use headwater_worker::{ServeError, serve};

use self::rotate::{Rotating, Rotation};
use super::config::running;
use crate::args::WorkerArgs;
use crate::error::{CommandError, ErrorKind};
use crate::start::ALREADY_RUNNING;
use crate::{escape, log};

/// Runs the worker until it is asked to stop.
pub fn worker(data: &Path, args: &WorkerArgs) -> Result<u8, CommandError> {
    if args.detached {
        // Before anything else: Ctrl+C at the terminal of our parent must not reach us.
        // It fails only if we already lead a process group, and then it is not needed.
        let _ = rustix::process::setsid();
    }
    let config = configuration(data, args)?;
    let format = log_format(data, args);
    log_to_stderr(format, args.detached.then_some(&config));
    let record = |config: &Config| running::record(config, format, args.detached);
    match serve(config, record) {
        Ok(()) => Ok(0),
        Err(error @ ServeError::AlreadyRunning { .. }) => {
            CommandError::new(ErrorKind::Refused, error.to_string()).print();
            Ok(ALREADY_RUNNING)
        }
        Err(error) => Err(CommandError::new(ErrorKind::NoWorker, error.to_string())
            .hint("`headwater doctor` checks this host")),
    }
}

fn configuration(data: &Path, args: &WorkerArgs) -> Result<Config, CommandError> {
    let mut config =
        Config::load(data, args.config.as_deref()).map_err(|error| CommandError::usage(error.to_string()))?;
    config.sandbox = args.sandbox.map_or(config.sandbox, Into::into);
    config.pool = args.pool.unwrap_or(config.pool);
    config.orphan_timeout = args.orphan_timeout.unwrap_or(config.orphan_timeout);
    Ok(config)
}

/// The format of the log: that of the server, unless a flag sets another.
fn log_format(data: &Path, args: &WorkerArgs) -> LogFormat {
    let configured = || ServerConfig::log_format_of_file(data, args.config.as_deref());
    args.log_format.map_or_else(configured, Into::into)
}

/// Starts logging. The log of a background worker is a file in the data folder, which is rotated.
fn log_to_stderr(format: LogFormat, background: Option<&Config>) {
    let json = format == LogFormat::Json;
    let colours = !json && log::has_colours();
    let line = escape::Log { colours, json };
    match background {
        Some(Config { data, retention, .. }) => {
            let rotation = Rotation::new(data, retention.worker_log_bytes, retention.worker_log_files);
            log::write_to(format, colours, Rotating { rotation, log: line });
        }
        None => log::write_to(format, colours, line),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use clap::Parser;
    use headwater_protocol::SandboxKind;

    use super::*;
    use crate::args::{Cli, Command};

    #[test]
    fn flags_override_the_configuration_and_unset_flags_do_not() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("headwater.toml"), "pool = 2\norphan_timeout = \"1m\"\n").unwrap();
        let line = ["headwater", "worker", "--sandbox", "none", "--pool", "7"];
        let Command::Worker(args) = Cli::try_parse_from(line).unwrap().command else { panic!() };
        let config = configuration(folder.path(), &args).unwrap();
        assert_eq!((config.sandbox, config.pool), (SandboxKind::None, 7));
        assert_eq!(config.orphan_timeout, Duration::from_mins(1));
    }

    #[test]
    fn the_log_has_the_format_of_the_server_unless_a_flag_sets_another() {
        let folder = tempfile::tempdir().unwrap();
        let format = |line: &[&str]| {
            let line = ["headwater", "worker"].iter().chain(line);
            let Command::Worker(args) = Cli::try_parse_from(line).unwrap().command else { panic!() };
            log_format(folder.path(), &args)
        };
        assert_eq!(format(&[]), LogFormat::Text);
        std::fs::write(folder.path().join("headwater.toml"), "[server]\nlog_format = \"json\"\n").unwrap();
        assert_eq!(format(&[]), LogFormat::Json);
        assert_eq!(format(&["--log-format", "text"]), LogFormat::Text);
    }
}

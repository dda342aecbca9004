//! The log of the worker and the server, on standard error. Lines that repeat too often are suppressed.

mod repeats;

use std::io::IsTerminal;

use headwater_gateway::config::LogFormat;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use self::repeats::Repeats;
use crate::escape;

/// What is logged by default. rmcp reports every message, and mistakes of clients as warnings.
const DEFAULT_FILTER: &str = "info,rmcp=error";

/// Whether log lines have colours.
pub fn has_colours() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}

/// Starts logging to standard error.
pub fn to_stderr(format: LogFormat) {
    let json = format == LogFormat::Json;
    let colours = !json && has_colours();
    write_to(format, colours, escape::Log { colours, json });
}

/// Starts logging to `writer`. `HEADWATER_LOG` filters the log.
pub fn write_to<W>(format: LogFormat, colours: bool, writer: W)
where
    W: for<'line> MakeWriter<'line> + Send + Sync + 'static,
{
    let filter = EnvFilter::try_from_env("HEADWATER_LOG").unwrap_or_else(|_| EnvFilter::new(DEFAULT_FILTER));
    let log = tracing_subscriber::registry().with(filter).with(Repeats::default());
    let lines = tracing_subscriber::fmt::layer().with_writer(writer);
    match format {
        LogFormat::Text => log.with(lines.with_ansi(colours)).init(),
        LogFormat::Json => log.with(lines.json()).init(),
    }
    headwater_contract::panics::install_hook();
}

//! Check of the worker: whether it is running, and how.

use headwater_contract::{ContractError, connect, v1};
use headwater_sandbox::doctor::Check;
use headwater_worker::config::Config;

use crate::humanize;

const NAME: &str = "worker";

/// Asks the worker, if it is running.
pub fn check(config: &Config) -> Check {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return Check::fine(NAME, format!("unknown: {error}")),
    };
    let answer: Result<_, ContractError> =
        runtime.block_on(async { connect(&config.socket()).await?.info().await });
    match answer {
        Ok(info) => running(&info),
        Err(error) if error.is_disconnected() => Check::fine(NAME, "not running; the next command starts it"),
        Err(error) => Check::warning(
            NAME,
            format!("unexpected answer: {error}"),
            "headwater stop --keep-sessions (programs keep running; the next command starts a worker that takes them over)",
        ),
    }
}

fn running(info: &v1::InfoResponse) -> Check {
    let (sessions, executions) = (
        humanize::count(info.sessions.into(), "session"),
        humanize::count(info.running.into(), "running execution"),
    );
    let detail = format!("running: pid {}, version {}, {sessions}, {executions}", info.pid, info.version);
    if info.sandbox == "none" {
        let detail = format!("{detail}; without isolation: programs can do whatever its user can");
        return Check::warning(
            NAME,
            detail,
            "headwater stop (hibernates its sessions), unless you trust all code that runs here",
        );
    }
    Check::fine(NAME, detail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::doctor::table::lines;
    use crate::snapshot;
    use crate::style::Style;

    #[test]
    fn checks_match_their_snapshot() {
        let folder = tempfile::tempdir().unwrap();
        let (version, sandbox) = ("0.1.0".to_owned(), "none".to_owned());
        let full =
            v1::InfoResponse { pid: 7, sessions: 2, running: 1, version, ..v1::InfoResponse::default() };
        let none = v1::InfoResponse { sandbox, ..full.clone() };
        let checks = vec![check(&Config::new(folder.path())), running(&full), running(&none)];
        snapshot::assert("doctor-worker", &lines(&checks.into(), Style::plain()).join("\n"));
    }

    #[test]
    fn no_worker_is_fine_and_one_without_isolation_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(check(&Config::new(folder.path())).fix, None);
        let info =
            |sandbox: &str| v1::InfoResponse { sandbox: sandbox.into(), ..v1::InfoResponse::default() };
        assert_eq!(running(&info("full")).fix, None);
        assert!(running(&info("none")).detail.contains("without isolation"));
    }
}

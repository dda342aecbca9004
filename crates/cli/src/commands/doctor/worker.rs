//! Whether a worker runs, and how.

use headwater_contract::{ContractError, connect, v1};
use headwater_sandbox::doctor::Check;
use headwater_worker::config::Config;

const NAME: &str = "worker";

/// Asks it.
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
        Err(error) if error.is_disconnected() => {
            Check::fine(NAME, "does not run; the next command starts it")
        }
        Err(error) => Check::warning(
            NAME,
            format!("does not answer as it should: {error}"),
            "headwater stop --keep-sessions (programs run on; the next command starts a worker that finds them)",
        ),
    }
}

fn running(info: &v1::InfoResponse) -> Check {
    let detail = format!(
        "runs: pid {}, version {}, {} sessions, {} executions at work",
        info.pid, info.version, info.sessions, info.running
    );
    if info.sandbox == "none" {
        let detail = format!("{detail}; without walls: programs can do all that its user can");
        return Check::warning(
            NAME,
            detail,
            "headwater stop (hibernates its sessions), unless all code that runs here is trusted",
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
    fn checks_read_like_this() {
        let folder = tempfile::tempdir().unwrap();
        let (version, sandbox) = ("0.1.0".to_owned(), "none".to_owned());
        let walls =
            v1::InfoResponse { pid: 7, sessions: 2, running: 1, version, ..v1::InfoResponse::default() };
        let none = v1::InfoResponse { sandbox, ..walls.clone() };
        let checks = vec![check(&Config::new(folder.path())), running(&walls), running(&none)];
        snapshot::assert("doctor-worker", &lines(&checks.into(), Style::plain()).join("\n"));
    }

    #[test]
    fn no_worker_is_fine_and_one_without_walls_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(check(&Config::new(folder.path())).fix, None);
        let info =
            |sandbox: &str| v1::InfoResponse { sandbox: sandbox.into(), ..v1::InfoResponse::default() };
        assert_eq!(running(&info("full")).fix, None);
        assert!(running(&info("none")).detail.contains("without walls"));
    }
}

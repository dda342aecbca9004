//! `headwater stop`: end the worker and, unless told otherwise, its sessions.

use std::time::Duration;

use headwater_contract::{Client, ContractError};
use rustix::process::{Pid, test_kill_process};
use tokio::time::{Instant, sleep};

use crate::args::StopArgs;
use crate::connect::Place;
use crate::error::{CommandError, ErrorKind};
use crate::style::Style;

/// How long a worker may take to end its sessions: the grace of their programs, and then some.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often it is looked for.
const RETRY: Duration = Duration::from_millis(10);

/// Ends it, and returns when it has ended.
pub async fn stop(place: &Place, args: &StopArgs) -> Result<u8, CommandError> {
    let client = match place.running().await? {
        Some(client) => client,
        // Sessions outlive a killed worker: only a worker knows how to find and end them.
        None if !args.keep_sessions && place.data.join("sessions").is_dir() => place.worker().await?,
        None => {
            eprintln!("{}", Style::of_stderr().dim("headwater: no worker runs"));
            return Ok(0);
        }
    };
    let pid = client.info().await?.pid;
    shut_down(&client, !args.keep_sessions).await?;
    let deadline = Instant::now() + PATIENCE;
    while lives(pid) {
        if Instant::now() >= deadline {
            let message = format!("the worker (pid {pid}) was told to end and has not yet");
            return Err(CommandError::new(ErrorKind::Refused, message)
                .hint(format!("see `{}`", place.data.join("worker.log").display())));
        }
        sleep(RETRY).await;
    }
    Ok(0)
}

/// A worker that ends before its answer is out has done what it was told.
async fn shut_down(client: &Client, sessions: bool) -> Result<(), ContractError> {
    match client.shutdown(sessions).await {
        Err(error) if error.is_disconnected() => Ok(()),
        answer => answer,
    }
}

fn lives(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}

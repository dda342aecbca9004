//! Executions with a terminal: what a person at a keyboard expects.

use anyhow::Result;
use headwater_contract::{FaultKind, StdinWriter};
use headwater_protocol::{ExecutionId, Reason, StartSpec, TtySize};
use headwater_tests::host::{Marker, eventually};
use headwater_tests::{TestWorker, Watcher};

use crate::{refused, worker};

fn on_terminal(mut spec: StartSpec) -> StartSpec {
    spec.tty = Some(TtySize { rows: 30, cols: 100 });
    spec
}

/// An interactive shell, as a person has it.
struct Shell {
    id: ExecutionId,
    watcher: Watcher,
    keys: StdinWriter,
    marker: Marker,
}

const PROMPT: &str = "ready> ";

impl Shell {
    async fn start(worker: &TestWorker) -> Result<Self> {
        let mut spec = on_terminal(StartSpec::argv(["bash", "--norc", "--noprofile", "-i"]));
        spec.env.insert("PS1".into(), PROMPT.into());
        let marker = Marker::new();
        let id = worker.begin(&marker.on(spec)).await?;
        let mut watcher = worker.watch(id).await?;
        watcher.until_printed(PROMPT).await?;
        Ok(Self { id, watcher, keys: worker.client().await?.stdin(id).await?, marker })
    }

    async fn types(&mut self, keys: &'static str) -> Result<()> {
        Ok(self.keys.write(keys.into()).await?)
    }

    async fn sees(&mut self, text: &str) -> Result<()> {
        self.watcher.until_printed(text).await
    }

    /// Waits for the prompt after this text. Keys that are typed before the prompt meet a terminal in another mode: the
    /// kernel makes a zero byte of a Ctrl+D that was typed too early.
    async fn prompts_after(&mut self, text: &str) -> Result<()> {
        let prompts =
            |screen: String| screen.rsplit_once(text).is_some_and(|(_, after)| after.contains(PROMPT));
        self.watcher.until(|seen| prompts(seen.screen())).await
    }

    /// Waits until a program of this name has the terminal: before that, keys that signal reach the shell instead.
    async fn is_in_front(&self, name: &str) -> Result<()> {
        let in_front = |pid: &i32| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let (comm, rest) = stat.rsplit_once(')').unwrap_or_default();
            let fields: Vec<_> = rest.split_whitespace().collect();
            // State, parent, group, session, terminal, group in front.
            comm.ends_with(&format!("({name}"))
                && fields.get(2).is_some_and(|group| fields.get(5) == Some(group))
        };
        eventually(name, async || self.marker.processes().iter().any(in_front)).await
    }

    /// Waits until a program of this name runs.
    async fn runs(&self, worker: &TestWorker, name: &str) -> Result<()> {
        let client = worker.client().await?;
        let there = async || {
            let processes = client.processes(self.id).await.unwrap_or_default();
            processes.iter().any(|process| process.name == name)
        };
        eventually(name, there).await
    }
}

#[tokio::test]
async fn a_terminal_is_one_and_has_the_size_that_was_asked_for() -> Result<()> {
    let worker = worker().await?;
    let line =
        "test -t 0 && test -t 1 && test -t 2 && echo all; stty size; tty; echo $TERM; echo hi > /dev/tty";
    let seen = worker.run(&on_terminal(StartSpec::shell(line))).await?;
    assert_eq!(seen.screen(), "all\r\n30 100\r\n/dev/pts/0\r\nxterm-256color\r\nhi\r\n");
    assert_eq!(seen.verdict().output_bytes, seen.output.len() as u64);
    Ok(())
}

#[tokio::test]
async fn without_a_terminal_no_device_is_one() -> Result<()> {
    let worker = worker().await?;
    let line = "test -t 1 || echo none; (echo hi > /dev/tty) 2>/dev/null || echo none";
    let seen = worker.run(&StartSpec::shell(line)).await?;
    assert_eq!(seen.text(), "none\nnone\n");
    Ok(())
}

#[tokio::test]
async fn a_resize_reaches_the_program() -> Result<()> {
    let worker = worker().await?;
    let line = "trap 'stty size; exit' WINCH; echo waiting; while :; do sleep 0.02; done";
    let id = worker.begin(&on_terminal(StartSpec::code("bash", line))).await?;
    let mut watcher = worker.watch(id).await?;
    watcher.until_printed("waiting").await?;
    worker.client().await?.resize(id, TtySize { rows: 50, cols: 132 }).await?;
    assert!(watcher.rest().await?.screen().ends_with("50 132\r\n"));
    Ok(())
}

#[tokio::test]
async fn only_a_terminal_can_be_resized() -> Result<()> {
    let worker = worker().await?;
    let id = worker.begin(&StartSpec::shell("sleep 100")).await?;
    let fault = refused(worker.client().await?.resize(id, TtySize::default()).await);
    assert_eq!(fault.kind, FaultKind::Conflict);
    Ok(())
}

#[tokio::test]
async fn ctrl_c_ends_the_foreground_program_with_130_and_ctrl_d_the_shell() -> Result<()> {
    let worker = worker().await?;
    let mut shell = Shell::start(&worker).await?;
    shell.types("sleep 1000\n").await?;
    shell.is_in_front("sleep").await?;
    shell.types("\x03").await?;
    shell.prompts_after("^C").await?;
    shell.types("echo code=$?\n").await?;
    shell.prompts_after("code=130").await?;
    shell.types("\x04").await?;
    let seen = shell.watcher.rest().await?;
    assert_eq!((seen.verdict().reason, seen.verdict().code), (Reason::Exited, Some(0)));
    Ok(())
}

#[tokio::test]
async fn ctrl_c_ends_a_program_that_is_not_a_shell() -> Result<()> {
    let worker = worker().await?;
    let id = worker.begin(&on_terminal(StartSpec::argv(["sleep", "1000"]))).await?;
    worker.client().await?.stdin(id).await?.write("\x03".into()).await?;
    let seen = worker.read(id).await?;
    assert_eq!((seen.verdict().reason, seen.verdict().signal), (Reason::Signalled, Some(2)));
    Ok(())
}

#[tokio::test]
async fn job_control_stops_lists_and_continues() -> Result<()> {
    let worker = worker().await?;
    let mut shell = Shell::start(&worker).await?;
    shell.types("sleep 1000 &\n").await?;
    shell.runs(&worker, "sleep").await?;
    shell.types("jobs\n").await?;
    shell.prompts_after("Running").await?;
    shell.types("fg\n").await?;
    shell.is_in_front("sleep").await?;
    shell.types("\x1a").await?;
    shell.prompts_after("Stopped").await?;
    // Continued before it is killed: bash's `wait` does not wait for a job that it believes to be stopped.
    shell.types("bg; kill -9 %1; wait %1; echo over=$?\n").await?;
    shell.sees("over=137").await?;
    shell.types("exit 6\n").await?;
    assert_eq!(shell.watcher.rest().await?.verdict().code, Some(6));
    Ok(())
}

#[tokio::test]
async fn the_end_of_input_is_ctrl_d_on_a_terminal() -> Result<()> {
    let worker = worker().await?;
    let id = worker.begin(&on_terminal(StartSpec::shell("stty -echo; echo go; cat; echo over"))).await?;
    let mut watcher = worker.watch(id).await?;
    watcher.until_printed("go").await?;
    let mut keys = worker.client().await?.stdin(id).await?;
    keys.write("typed\n".into()).await?;
    watcher.until_printed("typed").await?;
    keys.end().await?;
    assert_eq!(watcher.rest().await?.screen(), "go\r\ntyped\r\nover\r\n");
    Ok(())
}

#[tokio::test]
async fn a_flood_on_a_terminal_arrives_whole() -> Result<()> {
    let worker = worker().await?;
    let seen = worker.run(&on_terminal(StartSpec::shell("seq 200000"))).await?;
    let expected: String = (1..=200_000).map(|n| format!("{n}\r\n")).collect();
    assert!(seen.screen() == expected, "{} bytes of {}", seen.output.len(), expected.len());
    Ok(())
}

#[tokio::test]
async fn cancel_ends_a_terminal_with_all_its_jobs() -> Result<()> {
    let worker = worker().await?;
    let mut shell = Shell::start(&worker).await?;
    shell.types("(trap '' HUP TERM; sleep 1000) & sleep 1000\n").await?;
    shell.runs(&worker, "sleep").await?;
    let client = worker.client().await?;
    client.cancel(shell.id, Some(std::time::Duration::from_millis(200))).await?;
    let id = shell.id;
    let seen = shell.watcher.rest().await?;
    assert_eq!(seen.verdict().reason, Reason::Cancelled);
    // A dead process is listed until init has waited for it.
    eventually("no process is left", async || client.processes(id).await.is_ok_and(|all| all.is_empty()))
        .await
}

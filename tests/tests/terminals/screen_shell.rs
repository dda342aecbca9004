//! The login shell: job control, history, and marks that its programs cannot forge.

use std::collections::VecDeque;

use anyhow::{Context, Result};
use headwater_contract::Client;
use headwater_contract::v1::{self, mark::Kind};
use headwater_protocol::{ExecutionId, StartSpec};
use headwater_tests::host::{PATIENCE, eventually};
use headwater_tests::{Options, TestWorker};
use tonic::Streaming;

use crate::screen::{Terminal, worker};

struct Shell {
    terminal: Terminal,
    marks: Streaming<v1::FollowMarksResponse>,
    ready: VecDeque<Kind>,
}

async fn marks(
    client: &Client,
    id: ExecutionId,
    after_seq: u64,
) -> Result<Streaming<v1::FollowMarksResponse>> {
    let request = v1::FollowMarksRequest { execution_id: id.to_string(), after_seq, with_prompt: false };
    Ok(client.terminals().follow_marks(request).await?.into_inner())
}

impl Shell {
    async fn start(worker: &TestWorker) -> Result<Self> {
        let terminal = Terminal::start(worker, StartSpec::argv(["/bin/bash", "-l"])).await?;
        let marks = marks(&worker.client().await?, terminal.id, 0).await?;
        Ok(Self { terminal, marks, ready: VecDeque::new() })
    }

    async fn next(&mut self) -> Result<Kind> {
        while self.ready.is_empty() {
            let batch =
                tokio::time::timeout(PATIENCE, self.marks.message()).await.context("no mark comes")??;
            self.ready
                .extend(batch.context("no marks are left")?.marks.into_iter().filter_map(|mark| mark.kind));
        }
        self.ready.pop_front().context("no mark")
    }

    /// Waits until the terminal has echoed the line and the program in the foreground has printed it.
    async fn comes_back(&mut self, line: &str) -> Result<()> {
        // `fg` prints the job's command, perhaps between the two.
        let line = format!("{line}\r\n");
        self.terminal.watcher.until(|seen| seen.screen().matches(&line).count() >= 2).await
    }

    /// The marks up to the next prompt, folders left out.
    async fn until_prompt(&mut self) -> Result<Vec<Kind>> {
        let mut all = Vec::new();
        loop {
            match self.next().await? {
                Kind::Prompt(_) => return Ok(all),
                Kind::Directory(_) => {}
                kind => all.push(kind),
            }
        }
    }
}

fn ran(line: &str, code: i32) -> Vec<Kind> {
    vec![
        Kind::Command(v1::CommandStarted { line: Some(line.into()) }),
        Kind::Ended(v1::CommandEnded { exit_code: Some(code) }),
    ]
}

#[tokio::test]
async fn prompts_commands_and_exit_codes_are_reported() -> Result<()> {
    let worker = worker().await?;
    let mut shell = Shell::start(&worker).await?;
    assert_eq!(shell.until_prompt().await?, []);
    for (keys, line, code) in [
        ("true\n", "true", 0),
        ("(exit 3)\n", "(exit 3)", 3),
        ("echo 'a;b' \\\\ | tr a-z A-Z\n", "echo 'a;b' \\\\ | tr a-z A-Z", 0),
        ("no-such-thing 2>/dev/null\n", "no-such-thing 2>/dev/null", 127),
    ] {
        shell.terminal.types(keys).await?;
        assert_eq!(shell.until_prompt().await?, ran(line, code));
    }
    shell.terminal.types("\n").await?;
    assert_eq!(shell.until_prompt().await?, [], "nothing ran");
    Ok(())
}

#[tokio::test]
async fn a_changed_folder_is_reported_and_variables_are_kept() -> Result<()> {
    let worker = worker().await?;
    let client = worker.client().await?;
    let mut shell = Shell::start(&worker).await?;
    let folder = |path: &str| Kind::Directory(v1::DirectoryChanged { path: path.into() });
    assert_eq!(shell.next().await?, folder("/workspace"));
    shell.until_prompt().await?;
    shell.terminal.types("mkdir '/tmp/a; b' && cd '/tmp/a; b' && X=kept\n").await?;
    shell.next().await?;
    shell.next().await?;
    assert_eq!(shell.next().await?, folder("/tmp/a; b"));
    shell.until_prompt().await?;
    shell.terminal.types("echo is-$X\n").await?;
    shell.until_prompt().await?;
    shell.terminal.shows(&client, "is-kept").await
}

#[tokio::test]
async fn a_program_cannot_forge_a_prompt_and_the_user_may_set_another() -> Result<()> {
    let worker = worker().await?;
    let mut shell = Shell::start(&worker).await?;
    shell.until_prompt().await?;
    // As the marks of others look, and with all that a program can find.
    shell
        .terminal
        .types("printf '\\e]133;A\\a\\e]133;D;0\\a\\e]133;A;hw=\\a'; env | grep -c hw=; ls /tmp\n")
        .await?;
    let info = shell.until_prompt().await?;
    assert_eq!(info.len(), 2, "{info:?}");
    shell.terminal.types("PS1='other> '; PROMPT_COMMAND='echo mine'; PS0=\n").await?;
    shell.until_prompt().await?;
    shell.terminal.types("true\n").await?;
    shell.until_prompt().await?;
    Ok(())
}

#[tokio::test]
async fn jobs_stop_and_go_on_and_keys_signal() -> Result<()> {
    let worker = worker().await?;
    let client = worker.client().await?;
    let mut shell = Shell::start(&worker).await?;
    shell.until_prompt().await?;
    shell.terminal.types("cat\n").await?;
    shell.next().await?;
    shell.terminal.types("echoed\n").await?;
    shell.comes_back("echoed").await?;
    shell.terminal.types("\x1a").await?;
    let stopped = shell.until_prompt().await?;
    assert_eq!(stopped, [Kind::Ended(v1::CommandEnded { exit_code: Some(148) })]);
    shell.terminal.types("jobs\n").await?;
    shell.until_prompt().await?;
    shell.terminal.shows(&client, "Stopped").await?;
    shell.terminal.types("fg\n").await?;
    shell.next().await?;
    shell.terminal.types("again\n").await?;
    shell.comes_back("again").await?;
    shell.terminal.types("\x03").await?;
    let ended = shell.until_prompt().await?;
    assert_eq!(ended, [Kind::Ended(v1::CommandEnded { exit_code: Some(130) })]);
    // Repeated: the prompt comes before the shell reads single keys, and an end of input in between is lost.
    let id = shell.terminal.id;
    eventually("the end of the shell", async || {
        let typed = shell.terminal.types("\x04").await;
        typed.is_err() || client.execution(id).await.is_ok_and(|info| info.state.verdict().is_some())
    })
    .await?;
    let seen = worker.read(id).await?;
    assert_eq!(seen.verdict().code, Some(130));
    assert_eq!(shell.marks.message().await?, None, "the marks end with the log");
    Ok(())
}

#[tokio::test]
async fn marks_are_sent_after_a_kill_of_the_worker_and_from_any_position() -> Result<()> {
    let mut worker = worker().await?;
    let mut shell = Shell::start(&worker).await?;
    shell.until_prompt().await?;
    shell.terminal.types("true\n").await?;
    shell.until_prompt().await?;
    worker.kill();
    worker.start_again().await?;
    let client = worker.client().await?;
    shell.marks = marks(&client, shell.terminal.id, 0).await?;
    assert_eq!(shell.until_prompt().await?, []);
    assert_eq!(shell.until_prompt().await?, ran("true", 0));
    client.stdin(shell.terminal.id).await?.write("false\n".into()).await?;
    assert_eq!(shell.until_prompt().await?, ran("false", 1));
    let last = client.execution(shell.terminal.id).await?.last_seq;
    shell.marks = marks(&client, shell.terminal.id, last.0).await?;
    client.stdin(shell.terminal.id).await?.write("(exit 9)\n".into()).await?;
    assert_eq!(shell.until_prompt().await?, ran("(exit 9)", 9));
    Ok(())
}

#[tokio::test]
async fn the_users_files_are_read_and_history_is_kept() -> Result<()> {
    let worker = worker().await?;
    let client = worker.client().await?;
    let session = worker.session().await?;
    let setup = StartSpec::shell(
        "echo 'export FROM_PROFILE=p' > ~/.profile; echo 'echo bashrc' > ~/.bashrc; echo '. ~/.bashrc' >> ~/.profile",
    );
    worker.read(worker.begin_in(session, &setup).await?).await?;
    let spec = crate::screen::named(StartSpec::argv(["bash", "-l"]), "one");
    let id = worker.begin_in(session, &spec).await?;
    let mut watcher = worker.watch(id).await?;
    watcher.until_printed("bashrc").await?;
    let mut keys = client.stdin(id).await?;
    keys.write("echo is-$FROM_PROFILE\n".into()).await?;
    watcher.until_printed("is-p").await?;
    keys.write("exit\n".into()).await?;
    worker.read(id).await?;
    let look = worker.begin_in(session, &StartSpec::shell("cat ~/.bash_history; ls -a /tmp")).await?;
    let seen = worker.read(look).await?.text();
    assert!(seen.contains("echo is-$FROM_PROFILE"), "{seen}");
    assert!(!seen.contains("bashrc"), "the file with the secret is gone: {seen}");
    Ok(())
}

#[tokio::test]
async fn a_login_shell_keeps_the_path_of_the_session_and_adds_what_a_profile_adds() -> Result<()> {
    for no_walls in [false, true] {
        let worker = TestWorker::with(Options { pool: Some(0), no_walls, ..Options::default() }).await?;
        let client = worker.client().await?;
        let mut shell = Shell::start(&worker).await?;
        shell.until_prompt().await?;
        // Up to the folders of the host, and each once.
        shell.terminal.types("clear; P=${PATH//$HOME/H}; echo \"<${P%%:/usr*}>\"\n").await?;
        let tools = if no_walls { worker.data().join("tools/bin") } else { "/run/headwater/bin".into() };
        shell.terminal.shows(&client, &format!("H/.local/bin:{}", tools.display())).await?;
        shell
            .terminal
            .types("clear; tr : '\\n' <<<$PATH | sort | uniq -d | wc -l | sed s/^/twice=/\n")
            .await?;
        shell.terminal.shows(&client, "twice=0").await?;
    }
    Ok(())
}

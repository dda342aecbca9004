//! What cannot be started ends at once as `setup_failed`, with a message that names the thing.

use anyhow::Result;
use headwater_contract::FaultKind;
use headwater_protocol::{ExecutionState, ExitDetail, Reason, StartSpec};

use crate::{refused, worker};

#[tokio::test]
async fn a_failed_start_names_the_file_and_the_reason() -> Result<()> {
    let worker = worker().await?;
    let session = worker.session().await?;
    worker.run_in(session, &StartSpec::shell("echo data > plain; echo x > file")).await?;
    let mut bad_cwd = StartSpec::argv(["true"]);
    bad_cwd.cwd = Some("/no/such/folder".into());
    let mut file_cwd = StartSpec::argv(["true"]);
    file_cwd.cwd = Some("/workspace/file".into());
    let long = "x".repeat(200_000);
    for (spec, names) in [
        (StartSpec::argv(["no-such-command-1234", "arg"]), "no-such-command-1234"),
        (StartSpec::argv(["/no/such/path"]), "/no/such/path"),
        (StartSpec::argv(["/workspace/plain"]), "/workspace/plain"),
        (StartSpec::argv(["/workspace"]), "/workspace"),
        (bad_cwd, "/no/such/folder"),
        (file_cwd, "/workspace/file"),
        (StartSpec::argv(["true", &long]), "argument"),
        (StartSpec::shell(&long), "argument"),
    ] {
        let seen = worker.run_in(session, &spec).await?;
        let verdict = seen.verdict();
        assert_eq!((verdict.reason, verdict.code, verdict.signal), (Reason::SetupFailed, None, None));
        let message = verdict.message.clone().unwrap_or_default();
        assert!(message.contains(names), "`{message}` does not name `{names}`");
        assert!(seen.closed && !seen.started);
        assert_eq!(seen.stdout.len() + seen.stderr.len(), 0);
    }
    // The session is none the worse for it.
    assert_eq!(worker.run_in(session, &StartSpec::shell("echo fine")).await?.text(), "fine\n");
    Ok(())
}

#[tokio::test]
async fn megabytes_of_arguments_are_too_long_and_say_so() -> Result<()> {
    let worker = worker().await?;
    let arguments = std::iter::once("true".to_owned()).chain((0..80).map(|_| "y".repeat(100_000)));
    let seen = worker.run(&StartSpec::argv(arguments)).await?;
    assert_eq!(seen.verdict().reason, Reason::SetupFailed);
    assert!(seen.verdict().message.as_deref().is_some_and(|message| message.contains("long")));
    assert_eq!(seen.verdict().detail, Some(ExitDetail::ArgumentsTooLong));
    Ok(())
}

#[tokio::test]
async fn a_failed_start_is_answered_as_an_execution_that_has_ended() -> Result<()> {
    let worker = worker().await?;
    let session = worker.session().await?;
    let client = worker.client().await?;
    let info = client.start(session, None, &StartSpec::argv(["no-such-command"])).await?;
    assert!(matches!(info.state, ExecutionState::Closed { .. }), "{:?}", info.state);
    Ok(())
}

#[tokio::test]
async fn an_invalid_request_is_refused_and_starts_nothing() -> Result<()> {
    let worker = worker().await?;
    let session = worker.session().await?;
    let client = worker.client().await?;
    let mut bad_name = StartSpec::shell("true");
    bad_name.env.insert("A=B".into(), "x".into());
    let mut bad_limit = StartSpec::shell("true");
    bad_limit.limits.memory_bytes = Some(1);
    for spec in [StartSpec::argv([""]), StartSpec::argv(["a\0b"]), bad_name, bad_limit] {
        assert_eq!(refused(client.start(session, None, &spec).await).kind, FaultKind::Invalid);
    }
    let nobody = headwater_protocol::SessionId::random();
    assert_eq!(
        refused(client.start(nobody, None, &StartSpec::shell("true")).await).kind,
        FaultKind::NotFound
    );
    assert_eq!(client.executions(None, false).await?, []);
    Ok(())
}

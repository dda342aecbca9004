//! Code in a language: bash, python and node in the box, more from the configuration.

use anyhow::Result;
use headwater_contract::FaultKind;
use headwater_protocol::StartSpec;
use headwater_tests::{Options, TestWorker};

use crate::{refused, worker};

#[tokio::test]
async fn bash_python_and_node_run_code() -> Result<()> {
    let worker = worker().await?;
    for (language, code) in [
        ("bash", "for i in {1..5}; do echo \"Line $i\"; done"),
        ("python", "for i in range(1, 6):\n    print(f'Line {i}')\n"),
        ("node", "for (let i = 1; i <= 5; i++) console.log(`Line ${i}`)"),
    ] {
        let seen = worker.run(&StartSpec::code(language, code)).await?;
        assert_eq!(seen.text(), "Line 1\nLine 2\nLine 3\nLine 4\nLine 5\n", "{language}: {}", seen.errors());
        assert_eq!(seen.verdict().code, Some(0));
    }
    Ok(())
}

#[tokio::test]
async fn a_language_that_is_not_known_is_refused_with_those_that_are() -> Result<()> {
    let worker = worker().await?;
    let session = worker.session().await?;
    let client = worker.client().await?;
    let fault = refused(client.start(session, None, &StartSpec::code("cobol", "STOP RUN.")).await);
    assert_eq!(fault.kind, FaultKind::Invalid);
    assert!(fault.message.contains("cobol"), "{}", fault.message);
    let hint = fault.hint.unwrap_or_default();
    assert!(["bash", "node", "python"].iter().all(|known| hint.contains(known)), "{hint}");
    assert_eq!(client.executions(Some(session), false).await?, []);
    Ok(())
}

#[tokio::test]
async fn a_language_of_the_configuration_runs_and_is_listed() -> Result<()> {
    let config = "[languages.mine]\ninterpreters = [\"perl\"]\nargs = [\"-we\", \"{code}\"]\n";
    let options = Options { pool: Some(1), config: Some(config.into()), ..Options::default() };
    let worker = TestWorker::with(options).await?;
    let seen = worker.run(&StartSpec::code("mine", "print 6 * 7, \"\\n\"")).await?;
    assert_eq!(seen.text(), "42\n", "{}", seen.errors());
    let known: Vec<_> = worker.client().await?.info().await?.languages.into_iter().map(|l| l.name).collect();
    for name in ["bash", "mine", "node", "python"] {
        assert!(known.iter().any(|known| known == name), "{known:?}");
    }
    Ok(())
}

#[tokio::test]
async fn an_error_in_the_code_comes_from_the_interpreter_itself() -> Result<()> {
    let worker = worker().await?;
    let seen = worker.run(&StartSpec::code("python", "print('a')\nraise ValueError('b')")).await?;
    assert_eq!((seen.text().as_str(), seen.verdict().code), ("a\n", Some(1)));
    assert!(seen.errors().contains("ValueError: b"), "{}", seen.errors());
    Ok(())
}

#[tokio::test]
async fn output_of_code_arrives_while_it_still_runs() -> Result<()> {
    let worker = worker().await?;
    for (language, code) in [
        ("bash", "echo here; read word; echo $word"),
        ("python", "print('here'); print(input())"),
        (
            "node",
            "console.log('here'); process.stdin.once('data', (word) => { process.stdout.write(word); process.exit(0) })",
        ),
    ] {
        let mut spec = StartSpec::code(language, code);
        spec.stdin = headwater_protocol::Stdin::Open;
        let id = worker.begin(&spec).await?;
        let mut watcher = worker.watch(id).await?;
        watcher.until_printed("here\n").await?;
        // It waits for this word: what was printed came before its end.
        let mut stdin = worker.client().await?.stdin(id).await?;
        stdin.write("there\n".into()).await?;
        assert_eq!(watcher.rest().await?.text(), "here\nthere\n", "{language}");
    }
    Ok(())
}

//! A worker whose sessions reach one registry, and requests to their outlet.

use anyhow::{Context, Result};
use headwater_protocol::{Network, SessionId, SessionSpec, StartSpec};
use headwater_tests::{Collected, Options, TestWorker};

use crate::registry::{NAME, Registry};

/// The port of every session's outlet.
pub(crate) const OUTLET: u16 = 41_080;

/// A configuration by which the registry is reached, and other names that lead astray.
pub(crate) fn config(registry: &Registry) -> String {
    let port = registry.port;
    format!(
        "[network]\n\
         registries = [\"{NAME}:{port}\", \"private.test\", \"metadata.test\", \"mixed.test\", \"localhost:{port}\"]\n\
         allow_private = [\"{NAME}:{port}\"]\n\
         [network.hosts]\n\
         \"{NAME}\" = \"127.0.0.1\"\n\
         \"private.test\" = \"10.0.0.1\"\n\
         \"metadata.test\" = \"::ffff:169.254.169.254\"\n\
         \"mixed.test\" = [\"192.0.2.1\", \"127.0.0.1\"]\n\
         [packages]\n\
         python_index = \"{}\"\n\
         npm_registry = \"{}\"\n",
        registry.url("/simple"),
        registry.url("/npm")
    )
}

pub(crate) async fn worker(registry: &Registry) -> Result<TestWorker> {
    TestWorker::with(Options { config: Some(config(registry)), ..Options::default() }).await
}

pub(crate) async fn session(worker: &TestWorker, network: Network) -> Result<SessionId> {
    let spec = SessionSpec { network, ..SessionSpec::default() };
    Ok(worker.client().await?.create_session(None, &spec).await?.id)
}

/// Runs a line of shell and insists that it succeeds.
pub(crate) async fn succeed(worker: &TestWorker, session: SessionId, line: &str) -> Result<String> {
    let seen = run(worker, session, line).await?;
    let (code, errors) = (seen.verdict().code, seen.errors());
    anyhow::ensure!(code == Some(0), "`{line}` ended with {code:?}: {}{errors}", seen.text());
    Ok(seen.text())
}

pub(crate) async fn run(worker: &TestWorker, session: SessionId, line: &str) -> Result<Collected> {
    worker.run_in(session, &StartSpec::shell(line)).await
}

/// Sends bytes to the outlet and prints everything that comes back until it is closed; `more` is sent after an answer
/// arrived, into a tunnel for example.
const SAY: &str = "
import socket, sys, json
first, more = json.loads(sys.argv[1])
s = socket.create_connection(('127.0.0.1', OUTLET), 60)
s.settimeout(60)
s.sendall(first.encode('latin1'))
said = b''
while True:
    part = s.recv(65536)
    if not part: break
    said += part
    if more and b'\\r\\n\\r\\n' in said:
        s.sendall(more.encode('latin1')); more = None
sys.stdout.buffer.write(said)
";

/// Sends `first` to the session's outlet, and `more` once it has answered; everything that came back.
pub(crate) async fn say(
    worker: &TestWorker,
    session: SessionId,
    first: &str,
    more: Option<&str>,
) -> Result<String> {
    let said = serde_json::to_string(&(first, more))?;
    let code = SAY.replace("OUTLET", &OUTLET.to_string());
    let argv = ["python3".to_owned(), "-c".to_owned(), code, said];
    let seen = worker.run_in(session, &StartSpec::argv(argv)).await?;
    anyhow::ensure!(seen.verdict().code == Some(0), "{}", seen.errors());
    Ok(seen.text())
}

/// The status of an answer.
pub(crate) fn status(answer: &str) -> Result<u16> {
    let status = answer.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3));
    status.context("no answer")?.parse().with_context(|| format!("no status: {answer}"))
}

/// Asks the outlet for another host's page, in the plain way.
pub(crate) fn plain(url: &str) -> String {
    format!("GET {url} HTTP/1.1\r\nHost: whatever.test\r\nConnection: close\r\n\r\n")
}

/// Asks it for a tunnel.
pub(crate) fn connect(target: &str) -> String {
    format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\nConnection: close\r\n\r\n")
}

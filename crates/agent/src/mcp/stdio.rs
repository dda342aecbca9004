//! MCP servers on stdio, as programs in the session's sandbox. Their input and output pass through the contract, like those of
//! any execution.

use std::collections::BTreeMap;

use bytes::Bytes;
use headwater_contract::{FollowOptions, Follower, StdinWriter};
use headwater_protocol::{Children, EventKind, ExecutionId, StartSpec, Stdin, Stream};
use headwater_tools::{AGENT_METADATA, Agent};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf, duplex, split};

/// The metadata key of the conversation that a server works for. It is not the one by which the feeds of a conversation find
/// executions: nobody wants to read the protocol there.
const FOR_METADATA: &str = "mcp_conversation_id";
/// The bytes that wait in each direction.
const PIPE_BYTES: usize = 64 << 10;
/// What an error shows of standard error, in bytes.
const ERROR_BYTES: u64 = 1000;

/// Ends the servers of a conversation that a crash left running: a turn has its own.
pub(super) async fn end_earlier(agent: &Agent, conversation: &str) {
    let (client, session) = (agent.host().calls(), agent.session());
    let running = client.retry(|client| client.running_in_brief(Some(session))).await.unwrap_or_default();
    for execution in running {
        if execution.spec.metadata.get(FOR_METADATA).map(String::as_str) == Some(conversation) {
            end(agent, execution.id).await;
        }
    }
}

/// Starts a server, and returns its pipes.
pub(super) async fn start(
    agent: &Agent,
    conversation: &str,
    command: &[String],
    env: &BTreeMap<String, String>,
) -> Result<(ExecutionId, DuplexStream), String> {
    let mut spec = StartSpec::argv(command.iter().cloned());
    spec.env.clone_from(env);
    spec.stdin = Stdin::Open;
    spec.children = Children::Kill;
    spec.metadata.insert(AGENT_METADATA.to_owned(), "mcp".to_owned());
    spec.metadata.insert(FOR_METADATA.to_owned(), conversation.to_owned());
    let started = agent.host().start(agent.session(), spec).await.map_err(|error| error.to_string())?;
    let (id, streams) = (started.id, agent.host().streams());
    let options = FollowOptions { streams: vec![Stream::Stdout], ..FollowOptions::default() };
    let follower = streams.retry(|client| client.follow(id, options.clone())).await;
    let stdin = streams.retry(|client| client.stdin(id)).await;
    let (ours, theirs) = duplex(PIPE_BYTES);
    let (input, output) = split(theirs);
    match (follower, stdin) {
        (Ok(follower), Ok(stdin)) => {
            tokio::spawn(copy_output(follower, output));
            tokio::spawn(copy_input(input, stdin));
            Ok((id, ours))
        }
        (Err(error), _) | (_, Err(error)) => {
            end(agent, id).await;
            Err(format!("{error}{}", errors(agent, id).await))
        }
    }
}

/// Ends when the program has ended, or the client is gone.
async fn copy_output(mut follower: Follower, mut output: WriteHalf<DuplexStream>) {
    while let Ok(Some(event)) = follower.next().await {
        match event.kind {
            EventKind::Output { bytes, .. } if output.write_all(&bytes).await.is_err() => {
                return;
            }
            // A message with a hole cannot be read, and neither can what follows.
            EventKind::Gap { .. } => break,
            _ => {}
        }
    }
    // The client is gone, or learns that the server is.
    let _ = output.shutdown().await;
}

/// Ends when the client is gone, or the program reads no more.
async fn copy_input(mut input: ReadHalf<DuplexStream>, mut stdin: StdinWriter) {
    let mut buffer = vec![0; PIPE_BYTES];
    while let Ok(count @ 1..) = input.read(&mut buffer).await {
        let piece = Bytes::copy_from_slice(buffer.get(..count).unwrap_or_default());
        if stdin.write(piece).await.is_err() {
            return;
        }
    }
    // A program that has ended has no input to close.
    let _ = stdin.end().await;
}

/// The end of what a server has printed to standard error, for a sentence about its failure.
pub(super) async fn errors(agent: &Agent, id: ExecutionId) -> String {
    let options = FollowOptions {
        streams: vec![Stream::Stderr],
        tail_bytes: Some(ERROR_BYTES),
        no_wait: true,
        ..FollowOptions::default()
    };
    let streams = agent.host().streams();
    let Ok(mut follower) = streams.retry(|client| client.follow(id, options.clone())).await else {
        return String::new();
    };
    let mut all = Vec::new();
    while let Ok(Some(event)) = follower.next().await {
        if let EventKind::Output { bytes, .. } = event.kind {
            all.extend_from_slice(&bytes);
        }
    }
    let text = String::from_utf8_lossy(&all).trim().to_owned();
    if text.is_empty() { text } else { format!("; it printed: {text}") }
}

/// Ends a server.
pub(super) async fn end(agent: &Agent, id: ExecutionId) {
    // An error means that it has ended, or that nobody can end it.
    let _ = agent.host().calls().retry(|client| client.cancel(id, None)).await;
}

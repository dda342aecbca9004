//! The tools of MCP servers. Servers on stdio run inside the session's sandbox; servers on the network are called from here.
//! They are connected at the beginning of a turn, and closed at its end.

mod http;
mod result;
mod stdio;

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::join_all;
use headwater_protocol::conversation::{ConversationEvent, ToolCall};
use headwater_protocol::{ExecutionId, SessionId};
use headwater_tools::Agent;
use headwater_tools::policy::{ApprovalPolicy, Wanted};
use rmcp::RoleClient;
use rmcp::model::CallToolRequestParams;
use rmcp::service::{RunningService, ServiceExt};
use serde_json::Value;

use crate::approvals::{self, Answer};
use crate::calls::Done;
use crate::journal::JournalError;
use crate::model::ToolSpec;
use crate::place::{McpServer, Place};
use crate::work::Work;

/// How long a server may take to answer at the beginning of a turn.
const CONNECT_PATIENCE: Duration = Duration::from_secs(30);
/// How long a tool may take: as long as common clients wait.
const CALL_PATIENCE: Duration = Duration::from_mins(5);
/// The longest name of a tool that providers accept.
const MAX_NAME: usize = 64;
/// The longest arguments that a question to the person shows, in characters.
const MAX_SHOWN: usize = 2000;

type Client = RunningService<RoleClient, ()>;

/// The servers of one turn.
#[derive(Default)]
pub(crate) struct Servers {
    connected: BTreeMap<String, Connected>,
    tools: Vec<Tool>,
    /// Servers that could not be reached, each in one sentence.
    pub(crate) problems: Vec<String>,
}

struct Connected {
    client: Client,
    /// The program of a server on stdio.
    program: Option<(Agent, ExecutionId)>,
}

/// A tool of a server.
#[derive(Debug)]
struct Tool {
    server: String,
    name: String,
    spec: ToolSpec,
}

impl fmt::Debug for Servers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Servers")
            .field("tools", &self.tools)
            .field("problems", &self.problems)
            .finish_non_exhaustive()
    }
}

impl Servers {
    /// Connects all servers at the same time. One that cannot be reached is a problem, and the others work.
    pub(crate) async fn connect(place: &dyn Place, conversation: &str) -> Self {
        let wanted = place.mcp_servers();
        let has_programs = wanted.values().any(|server| matches!(server, McpServer::Stdio { .. }));
        if has_programs && let Ok(Some(agent)) = place.existing_tools().await {
            stdio::end_earlier(&agent, conversation).await;
        }
        let connecting: Vec<_> = wanted
            .iter()
            .map(|(name, server)| connect_in_time(place, conversation, name, server).boxed())
            .collect();
        let mut servers = Self::default();
        for (name, connected) in join_all(connecting).await {
            match connected {
                Ok((connected, tools)) => {
                    servers.connected.insert(name.clone(), connected);
                    for tool in tools {
                        servers.add(&name, tool);
                    }
                }
                Err(error) => {
                    servers.problems.push(format!("the MCP server `{name}` cannot be used: {error}"));
                }
            }
        }
        servers
    }

    fn add(&mut self, server: &str, tool: rmcp::model::Tool) {
        let key = key(server, &tool.name);
        if self.tools.iter().any(|known| known.spec.name == key) {
            self.problems.push(format!(
                "the tool `{}` of the MCP server `{server}` has the name of another one",
                tool.name
            ));
            return;
        }
        let description = tool.description.as_deref().unwrap_or_default().to_owned();
        let schema = Value::Object(tool.input_schema.as_ref().clone());
        let spec = ToolSpec { name: key, description, schema };
        self.tools.push(Tool { server: server.to_owned(), name: tool.name.into_owned(), spec });
    }

    /// The tools, for a model.
    pub(crate) fn specs(&self) -> impl Iterator<Item = ToolSpec> {
        self.tools.iter().map(|tool| tool.spec.clone())
    }

    /// The tool that a model calls by this name.
    pub(crate) fn key(&self, name: &str) -> Option<&str> {
        self.tools.iter().find(|tool| tool.spec.name == name).map(|tool| tool.spec.name.as_str())
    }

    /// Calls a tool. With the policy `unless-trusted` a person is asked first: nobody knows what it does.
    pub(crate) async fn call(&self, work: &Work, call: &ToolCall, key: &str) -> Result<Done, JournalError> {
        let found = self.tools.iter().find(|tool| tool.spec.name == key);
        let Some((tool, connected)) = found.and_then(|tool| Some((tool, self.connected.get(&tool.server)?)))
        else {
            return Ok(Done::failed(format!("The server of {key} is not connected. Go on without it.")));
        };
        let arguments = match call.input.clone().unwrap_or_default() {
            Value::Object(arguments) => arguments,
            Value::Null => serde_json::Map::new(),
            _ => {
                return Ok(Done::failed(format!(
                    "the arguments are not a JSON object: call {key} again with one"
                )));
            }
        };
        if let Some(done) = consent(work, call, tool).await? {
            return Ok(done);
        }
        let (tool_call_id, execution_id) = (call.tool_call_id.clone(), connected.execution());
        // What the tool does cannot be found out after a crash: the log says that it began.
        work.append(vec![ConversationEvent::ToolCallRunning {
            tool_call_id,
            execution_id: None,
            child_id: None,
        }])
        .await?;
        let params = CallToolRequestParams::new(tool.name.clone()).with_arguments(arguments);
        let result = tokio::select! {
            () = work.context.stop.cancelled() => {
                return Ok(Done::stopped("The turn was stopped; the call has no result."));
            }
            result = tokio::time::timeout(CALL_PATIENCE, connected.client.call_tool(params)) => result,
        };
        let mut done = match result {
            Ok(Ok(result)) => result::done(result),
            Ok(Err(error)) => {
                Done::failed(format!("The call failed: {error}. Check the arguments, or go on without it."))
            }
            Err(_) => Done::failed(format!(
                "The tool has not answered within {} s. It may still work; go on without it.",
                CALL_PATIENCE.as_secs()
            )),
        };
        done.session = connected.session();
        done.executions.extend(execution_id);
        Ok(done)
    }

    /// Closes all connections, and ends the programs.
    pub(crate) async fn close(&mut self) {
        let connected = std::mem::take(&mut self.connected).into_values();
        let closing: Vec<_> = connected.map(|connected| connected.close().boxed()).collect();
        join_all(closing).await;
    }
}

impl Connected {
    async fn close(self) {
        // It ends in any case: a task that failed has ended before.
        let _ = self.client.cancel().await;
        if let Some((agent, execution)) = self.program {
            stdio::end(&agent, execution).await;
        }
    }

    fn session(&self) -> Option<SessionId> {
        self.program.as_ref().map(|(agent, _)| agent.session())
    }

    fn execution(&self) -> Option<ExecutionId> {
        self.program.as_ref().map(|(_, execution)| *execution)
    }
}

/// The result of a call that a person has not allowed.
async fn consent(work: &Work, call: &ToolCall, tool: &Tool) -> Result<Option<Done>, JournalError> {
    if work.context.settings.approval != ApprovalPolicy::UnlessTrusted {
        return Ok(None);
    }
    let input = call.input.clone().unwrap_or_default().to_string();
    let argv = ["mcp", &tool.server, &tool.name, &input].map(str::to_owned).to_vec();
    let fingerprint = Wanted { argv, ..Wanted::default() }.fingerprint();
    let shown: String = input.chars().take(MAX_SHOWN).collect();
    let text = format!(
        "Call the tool `{}` of the MCP server `{}` with these arguments?\n\n    {}\n\nYou are asked because it is not known \
         to only read.",
        tool.name,
        tool.server,
        shown.escape_debug(),
    );
    if !work.context.settings.is_interactive {
        return Ok(Some(Done::failed(
            "A person must allow this tool, and nobody can be asked here. Go on without it.",
        )));
    }
    Ok(match approvals::ask(work, &call.tool_call_id, approvals::new(text, fingerprint)).await? {
        Answer::Allowed => None,
        Answer::Denied(reason) => Some(Done::denied(reason.as_deref())),
        Answer::Stopped => Some(Done::stopped("The turn was stopped before the person answered.")),
    })
}

type Connecting = Result<(Connected, Vec<rmcp::model::Tool>), String>;

async fn connect_in_time(
    place: &dyn Place,
    conversation: &str,
    name: &str,
    server: &McpServer,
) -> (String, Connecting) {
    let connected = tokio::time::timeout(CONNECT_PATIENCE, connect(place, conversation, server)).await;
    let late = |_| Err(format!("it did not answer within {} s", CONNECT_PATIENCE.as_secs()));
    (name.to_owned(), connected.unwrap_or_else(late))
}

async fn connect(place: &dyn Place, conversation: &str, server: &McpServer) -> Connecting {
    let (client, program) = match server {
        McpServer::Http { url, headers } => {
            let transport = http::transport(url, headers)?;
            (().serve(transport).await.map_err(|error| error.to_string())?, None)
        }
        McpServer::Stdio { command, env } => {
            let agent = place.tools().await.map_err(|error| error.to_string())?;
            let (execution, transport) = stdio::start(&agent, conversation, command, env).await?;
            match ().serve(transport).await {
                Ok(client) => (client, Some((agent, execution))),
                Err(error) => {
                    let printed = stdio::errors(&agent, execution).await;
                    stdio::end(&agent, execution).await;
                    return Err(format!("{error}{printed}"));
                }
            }
        }
    };
    let connected = Connected { client, program };
    let tools = connected.client.list_all_tools().await.map_err(|error| error.to_string())?;
    Ok((connected, tools))
}

/// The name by which a model calls a tool: providers accept letters, digits, `_` and `-`.
fn key(server: &str, tool: &str) -> String {
    let plain = |ch: char| if ch.is_ascii_alphanumeric() || ch == '-' { ch } else { '_' };
    let mut key: String = format!("mcp__{server}__{tool}").chars().map(plain).collect();
    key.truncate(MAX_NAME);
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_tool_is_one_that_providers_accept() {
        assert_eq!(key("my-docs", "search"), "mcp__my-docs__search");
        assert_eq!(key("a.b", "c/d ä"), "mcp__a_b__c_d__");
        assert_eq!(key(&"s".repeat(100), "t").len(), MAX_NAME);
    }
}

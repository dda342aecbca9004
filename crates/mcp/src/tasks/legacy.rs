//! The task methods of protocol version 2025-11-25.

use std::time::Duration;

use headwater_tools::Agent;
use rmcp::ErrorData;
use rmcp::model::{ErrorCode, Task};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Value, json};

use super::{cancel, ended, fields, find, outcome, status, task};
use crate::agents::Access;
use crate::consent::{self, Asked};
use crate::resources::failed;
use crate::server::Server;
use crate::tools::{self, Ended};

/// Tasks in one answer of `tasks/list`.
const PAGE: usize = 100;
/// A call becomes a task at once.
const NO_PATIENCE: Option<Duration> = Some(Duration::ZERO);
/// The `_meta` key that names the task of a result.
const RELATED: &str = "io.modelcontextprotocol/related-task";

/// Answers a method of that version.
pub(crate) async fn legacy(
    server: &Server,
    method: &str,
    params: &Value,
    context: &RequestContext<RoleServer>,
) -> Result<Value, ErrorData> {
    if method == "tools/call" {
        return call(server, params, context).await;
    }
    if method == "tools/list" {
        return Ok(crate::legacy::tools(&tools::list()));
    }
    let access = if method == "tasks/cancel" { Access::Cancel } else { Access::Output };
    let agent = &server.agent(context, access).await?;
    if method == "tasks/list" {
        return list(agent, params).await;
    }
    let id = params.get("taskId").and_then(Value::as_str);
    let id = id.ok_or_else(|| ErrorData::invalid_params("`taskId` is missing", None))?;
    let found = find(agent, id).await?;
    match method {
        "tasks/get" => Ok(shape(&task(agent, &found).await?)),
        "tasks/result" => {
            let found = ended(agent, found.id, context).await?;
            let mut result = outcome(agent, &found).await?;
            result.result_type = None;
            let mut result = fields(&result);
            result.insert("_meta".to_owned(), json!({RELATED: {"taskId": id}}));
            Ok(Value::Object(result))
        }
        "tasks/cancel" if status(&found).is_terminal() => {
            Err(ErrorData::invalid_params("the task has ended already", None))
        }
        "tasks/cancel" => Ok(shape(&task(agent, &cancel(agent, &found).await?).await?)),
        _ => Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method.to_owned(), None)),
    }
}

/// A call that the client wants as a task: it returns as soon as the program has started.
async fn call(
    server: &Server,
    params: &Value,
    context: &RequestContext<RoleServer>,
) -> Result<Value, ErrorData> {
    let invalid = |message: &str| ErrorData::invalid_params(message.to_owned(), None);
    let name = params.get("name").and_then(Value::as_str).ok_or_else(|| invalid("`name` is missing"))?;
    if !tools::starts_programs(name) {
        let message = "this tool cannot be a task; only exec_command, shell, shell_command and run_code can";
        return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None));
    }
    let arguments = params.get("arguments").cloned().unwrap_or_default();
    let mut approved = None;
    let (agent, ended) = loop {
        let mut prepared = match tools::prepare(server, name, arguments.clone(), context).await {
            Ok(prepared) => prepared,
            // A task that could not be created.
            Err(refused) => return Err(invalid(&text_of(&refused))),
        };
        prepared.request.approved.clone_from(&approved);
        let agent = prepared.agent.clone();
        let ended = tools::call(prepared, context, NO_PATIENCE).await?;
        let question = match &ended {
            Ended::Outcome(outcome) => outcome.question.clone(),
            Ended::Task(_) => None,
        };
        let Some(question) = question.filter(|_| approved.is_none()) else { break (agent, ended) };
        // These clients have a handshake: they answer, or cannot ask.
        let asked = consent::ask(server.questions(), &question, context).await?;
        let Asked::Answered(answer) = asked else { break (agent, ended) };
        let fingerprint = tools::decided(&agent, &question, answer).await;
        approved = Some(fingerprint.map_err(|refused| invalid(&refused.to_string()))?);
    };
    let id = match ended {
        Ended::Task(id) => id,
        Ended::Outcome(outcome) => *outcome.executions.first().ok_or_else(|| invalid(&outcome.text))?,
    };
    let execution = agent.host().calls().retry(|client| client.execution(id)).await.map_err(failed)?;
    Ok(json!({"task": shape(&task(&agent, &execution).await?)}))
}

fn text_of(result: &rmcp::model::CallToolResult) -> String {
    let first = result.content.first().and_then(|block| block.as_text());
    first.map(|text| text.text.clone()).unwrap_or_default()
}

async fn list(agent: &Agent, params: &Value) -> Result<Value, ErrorData> {
    let session = agent.session();
    let all = agent.host().calls().retry(|client| client.executions(Some(session), false)).await;
    let mut all = all.map_err(failed)?;
    all.sort_by_key(|execution| std::cmp::Reverse((execution.started_at_ms, execution.id)));
    let start = match params.get("cursor").and_then(Value::as_str) {
        None => 0,
        Some(last) => {
            let at = all.iter().position(|execution| execution.id.to_string() == last);
            at.ok_or_else(|| ErrorData::invalid_params("unknown cursor", None))? + 1
        }
    };
    let page: Vec<_> = all.iter().skip(start).take(PAGE).collect();
    let mut tasks = Vec::new();
    for execution in &page {
        tasks.push(shape(&task(agent, execution).await?));
    }
    let mut answer = json!({"tasks": tasks});
    if let Some(last) = page.last().filter(|_| start + page.len() < all.len()) {
        answer["nextCursor"] = json!(last.id.to_string());
    }
    Ok(answer)
}

/// A task as that version writes it.
fn shape(task: &Task) -> Value {
    json!({
        "taskId": task.task_id,
        "status": task.status,
        "statusMessage": task.status_message,
        "createdAt": task.created_at,
        "lastUpdatedAt": task.last_updated_at,
        "ttl": null,
        "pollInterval": task.poll_interval_ms,
    })
}

//! Results of calls whose programs were started before: the program is awaited, and not started again.

use headwater_protocol::ExecutionId;
use tokio::time::Instant;

use super::start::Started;
use super::{Context, code, exec, shell};
use crate::error::ToolError;
use crate::outcome::Outcome;
use crate::schema::Call;

/// The result of the call, with the output of the program from its beginning.
pub(super) async fn resume(context: &Context<'_>, id: ExecutionId) -> Result<Outcome, ToolError> {
    let execution = context.agent.host().calls().retry(|client| client.execution(id)).await?;
    context.live.started(id);
    let (begin, started) = (Instant::now(), Started::running(execution));
    match &context.request.call {
        Call::ExecCommand(asked) => exec::result_of_command(context, asked, started, begin).await,
        Call::RunCode(asked) => exec::result_of_code(context, asked, started, begin).await,
        Call::Shell(asked) => {
            shell::to_its_end(context, started, begin, asked.workdir.as_deref(), asked.timeout_ms).await
        }
        Call::ShellCommand(asked) => {
            shell::to_its_end(context, started, begin, asked.workdir.as_deref(), asked.timeout_ms).await
        }
        Call::CodeExecution(asked) => code::result(context, started, asked.timeout).await,
        Call::RunCommand(asked) => code::result(context, started, asked.timeout).await,
        other => Err(ToolError::new(format!("{} starts no program", other.name()))),
    }
}

//! The tools that run and follow commands. Each is a view of executions and their logs.
//!
//! What a call has read is only a position in the log ([`memory`]), so a result that never reaches the model, a
//! cancelled call or a restart loses nothing: the log has it all.

mod approval;
mod code;
mod condition;
mod control;
mod earlier;
mod endings;
mod exec;
mod find;
mod inline_patch;
mod list;
mod live;
mod matcher;
mod memory;
mod read_output;
mod read_page;
mod reading;
mod report;
mod resume;
mod room;
mod shell;
mod spec;
mod start;
mod wait;
mod write_stdin;

use headwater_protocol::ExecutionId;
use tokio::sync::watch;

use self::live::Live;
use crate::agent::{Agent, Request};
use crate::error::ToolError;
use crate::outcome::{Outcome, Progress};
use crate::schema::Call;

pub use self::approval::extra_of;
pub use self::endings::Ending;
pub(crate) use self::endings::{add_endings, watch as await_end};
pub use self::find::number_of;
pub(crate) use self::memory::Memory;
pub use self::room::MAX_LIVE;
pub use self::spec::AGENT_METADATA;
pub(crate) use self::spec::working_directory;

/// What the parts of one call share.
struct Context<'a> {
    agent: &'a Agent,
    request: &'a Request,
    live: Live,
}

/// Calls a tool that runs or follows commands.
pub(crate) async fn call(
    agent: &Agent,
    request: &Request,
    live: Option<watch::Sender<Progress>>,
) -> Result<Outcome, ToolError> {
    let context = &Context { agent, request, live: Live::new(live, agent.secrets()) };
    match &request.call {
        Call::ExecCommand(arguments) => exec::exec_command(context, arguments).await,
        Call::RunCode(arguments) => exec::run_code(context, arguments).await,
        Call::WriteStdin(arguments) => write_stdin::write_stdin(context, arguments).await,
        Call::Shell(arguments) => shell::shell(context, arguments).await,
        Call::ShellCommand(arguments) => shell::shell_command(context, arguments).await,
        Call::CodeExecution(arguments) => code::code_execution(context, arguments).await,
        Call::RunCommand(arguments) => code::run_command(context, arguments).await,
        Call::Wait(arguments) => wait::wait(context, arguments).await,
        Call::ReadOutput(arguments) => read_output::read_output(context, arguments).await,
        Call::ListExecutions(arguments) => list::list_executions(agent, arguments).await,
        Call::Kill(arguments) => control::kill(agent, arguments).await,
        Call::Resize(arguments) => control::resize(agent, arguments).await,
        other => Err(ToolError::new(format!("{} is not a tool for commands", other.name()))),
    }
}

/// The result of a call whose program was started before, for example by a server that was restarted since.
pub(crate) async fn resume(
    agent: &Agent,
    request: &Request,
    execution: ExecutionId,
    live: Option<watch::Sender<Progress>>,
) -> Result<Outcome, ToolError> {
    let context = &Context { agent, request, live: Live::new(live, agent.secrets()) };
    resume::resume(context, execution).await
}

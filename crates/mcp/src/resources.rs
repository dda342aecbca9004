//! Resources: the output of executions (`exec://{execution}/output`) and the files of the workspace
//! (`file://`), each readable by range and subscribable.

mod list;
mod read;
mod subscribe;
mod uri;
mod watch;

use headwater_contract::{ContractError, FaultKind};
use headwater_protocol::{Execution, ExecutionId};
use headwater_tools::Agent;
use rmcp::ErrorData;

pub(crate) use list::{list, templates};
pub(crate) use read::read;
pub(crate) use subscribe::{MAX_SUBSCRIPTIONS, Subscriptions, listen};
pub(crate) use uri::ResourceUri;

/// The error of a call to the worker.
pub(crate) fn failed(error: ContractError) -> ErrorData {
    match error {
        ContractError::Fault(fault) => {
            let hint = fault.hint.map(|hint| format!(". {hint}")).unwrap_or_default();
            let message = format!("{}{hint}", fault.message);
            match fault.kind {
                FaultKind::NotFound | FaultKind::Gone => ErrorData::resource_not_found(message, None),
                FaultKind::Internal => ErrorData::internal_error(message, None),
                _ => ErrorData::invalid_params(message, None),
            }
        }
        other => ErrorData::internal_error(other.to_string(), None),
    }
}

/// An execution of the agent's session.
pub(crate) async fn execution(agent: &Agent, id: ExecutionId) -> Result<Execution, ErrorData> {
    let unknown = || ErrorData::resource_not_found(format!("the execution {id} does not exist"), None);
    let found = agent.host().calls().retry(|client| client.execution(id)).await;
    match found {
        Ok(found) if found.session_id == agent.session() => Ok(found),
        // As if it did not exist: it may belong to another user.
        Ok(_) => Err(unknown()),
        Err(ContractError::Fault(fault)) if fault.kind == FaultKind::NotFound => Err(unknown()),
        Err(error) => Err(failed(error)),
    }
}

//! `headwater shell`: opens a terminal with a login shell in a session, or rejoins it.

use headwater_client::Method;
use headwater_protocol::api::ExecutionStateName;
use headwater_protocol::{ExecutionId, SessionId, StartSpec, Stdin};
use serde_json::json;

use super::attach::{self, How};
use crate::args::ShellArgs;
use crate::connect::Place;
use crate::engine::{Engine, Run, Target, Which};
use crate::error::CommandError;
use crate::{resolve, terminal};

/// The metadata key that marks an execution as a terminal, as the server sets it.
const TERMINAL: &str = "headwater.terminal";

/// Opens or rejoins the shell, and returns its exit code.
pub async fn shell(place: &Place, args: &ShellArgs) -> Result<u8, CommandError> {
    let engine = place.existing_engine().await?;
    let session = resolve::session(&engine, &args.session).await?;
    let id = open(&engine, session, &args.name).await?;
    attach::follow(engine, id, &How::default()).await
}

async fn open(engine: &Engine, session: SessionId, name: &str) -> Result<ExecutionId, CommandError> {
    let size = terminal::size().unwrap_or_default();
    match engine {
        Engine::Remote(server) => {
            let request = json!({ "name": name, "rows": size.rows, "cols": size.cols });
            let path = format!("v1/sessions/{session}/terminals");
            let opened = server.call(Method::POST, &path, &[], Some(&request)).await?;
            let id = opened["execution_id"].as_str().and_then(|id| id.parse().ok());
            id.ok_or_else(|| CommandError::internal("the server returned a terminal without an execution"))
        }
        Engine::Local(_) => {
            let all = engine.executions(Some(session), Which::Open).await?;
            let is_it = |state, metadata: &std::collections::BTreeMap<String, String>| {
                state == ExecutionStateName::Running && metadata.get(TERMINAL).is_some_and(|one| one == name)
            };
            if let Some(running) = all.iter().find(|one| is_it(one.state, &one.metadata)) {
                return Ok(running.id);
            }
            let mut spec = StartSpec::argv(["/bin/bash", "-l"]);
            spec.tty = Some(size);
            spec.stdin = Stdin::Open;
            spec.metadata.insert(TERMINAL.to_owned(), name.to_owned());
            Ok(engine.start(&Run::new(Target::In(session), spec)).await?.id)
        }
    }
}

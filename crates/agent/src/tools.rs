//! The tools of the agent: those of the session, its own, and those of MCP servers.

mod agents;
mod people;
mod permissions;
mod plan;
mod session;
mod shape;

use headwater_protocol::conversation::{ToolCall, ToolCallState};
use headwater_tools::schema::{self, CHAT_TOOLS, TOOLS};

use crate::calls::Done;
use crate::journal::JournalError;
use crate::mcp::Servers;
use crate::model::ToolSpec;
use crate::turn::TurnSettings;
use crate::work::Work;

pub(crate) use agents::end_attached;
pub(crate) use session::workspace_file;

/// How deep sub-agents go: one of this depth starts no others.
const MAX_DEPTH: u32 = 2;

/// The agent's own tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Own {
    Plan,
    Ask,
    Permissions,
    Spawn,
    Send,
    Wait,
    Resume,
    Close,
}

/// A tool that the agent may call.
#[derive(Debug, Clone, Copy)]
enum Tool<'a> {
    Session(&'static schema::Tool),
    Own(Own),
    Mcp(&'a str),
}

/// The tools of one turn.
#[derive(Debug, Default)]
pub(crate) struct Toolbox {
    is_plan_mode: bool,
    own: Vec<(Own, ToolSpec)>,
    pub(crate) servers: Servers,
}

impl Toolbox {
    pub(crate) fn new(settings: &TurnSettings, servers: Servers) -> Self {
        let mut own = vec![(Own::Plan, plan::spec())];
        if settings.is_interactive {
            own.push((Own::Ask, people::spec()));
        }
        if !settings.is_plan_mode {
            if settings.is_interactive {
                own.push((Own::Permissions, permissions::spec()));
            }
            if settings.depth < MAX_DEPTH {
                own.extend(agents::specs());
            }
        }
        Self { is_plan_mode: settings.is_plan_mode, own, servers }
    }

    /// The tools, for a model.
    pub(crate) fn specs(&self) -> Vec<ToolSpec> {
        let of = |tool: &schema::Tool| ToolSpec {
            name: tool.name.to_owned(),
            description: tool.description.to_owned(),
            schema: (tool.schema)(),
        };
        let mut all: Vec<ToolSpec> = self.session().map(of).collect();
        all.extend(self.own.iter().map(|(_, spec)| spec.clone()));
        if !self.is_plan_mode {
            all.extend(self.servers.specs());
        }
        all
    }

    fn session(&self) -> impl Iterator<Item = &'static schema::Tool> {
        let is_plan_mode = self.is_plan_mode;
        TOOLS.iter().chain(CHAT_TOOLS).filter(move |tool| tool.hints.read_only || !is_plan_mode)
    }

    fn find(&self, name: &str) -> Option<Tool<'_>> {
        if let Some(tool) = self.session().find(|tool| tool.name == name) {
            return Some(Tool::Session(tool));
        }
        if let Some((own, _)) = self.own.iter().find(|(_, spec)| spec.name == name) {
            return Some(Tool::Own(*own));
        }
        self.servers.key(name).filter(|_| !self.is_plan_mode).map(Tool::Mcp)
    }

    /// Whether a tool must run alone: it changes files without starting a program, or counts the sub-agents that are open.
    pub(crate) fn is_exclusive(&self, name: &str) -> bool {
        match self.find(name) {
            Some(Tool::Session(tool)) => session::changes_files(tool),
            Some(Tool::Own(Own::Spawn | Own::Resume)) => true,
            _ => false,
        }
    }

    /// Calls a tool. Only the log can fail: everything else is a result that the model reads.
    pub(crate) async fn call(&self, work: &Work, call: &ToolCall) -> Result<Done, JournalError> {
        let found = self.find(&call.tool);
        // What it did before a restart is not known, and it might do it twice.
        let is_known = call.child_id.is_some()
            || matches!(found, Some(Tool::Session(_) | Tool::Own(Own::Plan | Own::Wait)));
        if call.state == ToolCallState::Running && !is_known {
            return Ok(session::interrupted());
        }
        match found {
            Some(Tool::Session(tool)) => session::call(work, call, tool).await,
            Some(Tool::Own(own)) => call_own(work, call, own).await,
            Some(Tool::Mcp(key)) => self.servers.call(work, call, key).await,
            None => Ok(Done::failed(self.unknown(&call.tool))),
        }
    }

    fn unknown(&self, name: &str) -> String {
        let exists = TOOLS.iter().chain(CHAT_TOOLS).any(|tool| tool.name == name);
        if self.is_plan_mode && exists {
            return format!(
                "{name} changes something, and this conversation is in plan mode. Read what you need, then write the plan \
                 for the person: they can leave plan mode."
            );
        }
        let shown: String = name.chars().take(64).collect();
        let names: Vec<String> = self.specs().into_iter().map(|spec| spec.name).collect();
        format!("There is no tool {shown:?}. Call one of these: {}", names.join(", "))
    }
}

async fn call_own(work: &Work, call: &ToolCall, own: Own) -> Result<Done, JournalError> {
    match own {
        Own::Plan => plan::update(work, call).await,
        Own::Ask => people::ask(work, call).await,
        Own::Permissions => permissions::request(work, call).await,
        Own::Spawn => agents::spawn(work, call).await,
        Own::Send => agents::send(work, call).await,
        Own::Wait => agents::wait(work, call).await,
        Own::Resume => agents::resume(work, call).await,
        Own::Close => agents::close(work, call).await,
    }
}

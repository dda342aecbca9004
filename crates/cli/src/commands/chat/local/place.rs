//! Where the agent of a conversation works on this machine.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Weak};

use async_trait::async_trait;
use headwater_agent::{ChildSpec, Journal, McpServer, Place, PlaceError, RecordedCall};
use headwater_protocol::conversation::{ConversationEvent, ConversationId, TitleSource};
use headwater_protocol::{CONVERSATION_METADATA, ExecutionId, TOOL_CALL_METADATA, now_ms};
use headwater_tools::{Agent, AgentInfo, LocalHost};

use super::desk::{Desk, Live};
use super::meta::Meta;
use crate::error::CommandError;

/// The name of the agent in what it starts.
const AGENT: &str = "chat";

/// The place of one conversation. It holds the desk weakly: the desk runs the turns that use it.
pub struct LocalPlace {
    desk: Weak<Desk>,
    live: Arc<Live>,
}

impl fmt::Debug for LocalPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalPlace").field("conversation", self.live.journal.id()).finish_non_exhaustive()
    }
}

impl LocalPlace {
    /// The place of this conversation.
    pub fn new(desk: &Arc<Desk>, live: &Arc<Live>) -> Self {
        let (desk, live) = (Arc::downgrade(desk), Arc::clone(live));
        Self { desk, live }
    }

    fn desk(&self) -> Result<Arc<Desk>, PlaceError> {
        self.desk.upgrade().ok_or_else(|| PlaceError("the conversation is closed".to_owned()))
    }

    async fn agent(&self) -> Result<Agent, CommandError> {
        let desk = self.desk.upgrade().ok_or_else(|| CommandError::internal("the conversation is closed"))?;
        let session = desk.session().await?;
        let id = self.live.journal.id().to_string();
        let info = AgentInfo {
            name: AGENT.to_owned(),
            metadata: BTreeMap::from([(CONVERSATION_METADATA.to_owned(), id)]),
            policy: desk.policy(&self.live.meta())?,
        };
        Ok(Agent::new(Arc::new(LocalHost::new(desk.worker.clone())), session, info))
    }
}

/// The error for a model.
fn place_error(error: CommandError) -> PlaceError {
    let CommandError { message, hints, .. } = error;
    PlaceError(hints.into_iter().fold(message, |text, hint| format!("{text}; {hint}")))
}

#[async_trait]
impl Place for LocalPlace {
    async fn tools(&self) -> Result<Agent, PlaceError> {
        self.live.agent.get_or_try_init(|| self.agent()).await.cloned().map_err(place_error)
    }

    /// A folder in place exists before the first call: the agent has to know it from the beginning.
    async fn existing_tools(&self) -> Result<Option<Agent>, PlaceError> {
        self.tools().await.map(Some)
    }

    /// The log of the conversation is the history.
    async fn record(&self, _: RecordedCall) {}

    async fn executions_of(&self, tool_call_id: &str) -> Result<Vec<ExecutionId>, PlaceError> {
        let desk = self.desk()?;
        let session = desk.session().await.map_err(place_error)?.id;
        let all = desk.worker.retry(|worker| worker.executions(Some(session), false)).await;
        let all = all.map_err(|error| place_error(error.into()))?;
        let has = |metadata: &BTreeMap<String, String>, key: &str, value: &str| {
            metadata.get(key).is_some_and(|found| found == value)
        };
        let id = self.live.journal.id().as_str();
        let found = all.into_iter().filter(|one| {
            has(&one.spec.metadata, TOOL_CALL_METADATA, tool_call_id)
                && has(&one.spec.metadata, CONVERSATION_METADATA, id)
        });
        Ok(found.map(|one| one.id).collect())
    }

    async fn create_child(&self, child: ChildSpec) -> Result<Arc<dyn Journal>, PlaceError> {
        let desk = self.desk()?;
        if let Some(model) = child.model.as_deref().filter(|name| desk.models.get(name).is_none()) {
            let known: Vec<&str> = desk.models.names().collect();
            return Err(PlaceError(format!("there is no model `{model}`; there are: {}", known.join(", "))));
        }
        let parent = self.live.meta();
        let meta = Meta {
            parent: Some(parent.id.clone()),
            title: Some(child.nickname.clone()),
            model: child.model.or_else(|| parent.model.clone()),
            stopped: None,
            id: ConversationId::random(),
            created_at_ms: now_ms(),
            ..parent
        };
        let live = desk.open(meta, self.live.depth() + 1).map_err(place_error)?;
        let title = ConversationEvent::TitleChanged { title: child.nickname, source: TitleSource::Model };
        live.journal.append(vec![title]).await.map_err(|error| PlaceError(error.to_string()))?;
        Ok(Arc::clone(&live.journal) as _)
    }

    async fn child(&self, id: &ConversationId) -> Result<Option<Arc<dyn Journal>>, PlaceError> {
        let child = self.desk()?.live(id);
        let own = child.filter(|live| live.meta().parent.as_ref() == Some(self.live.journal.id()));
        Ok(own.map(|live| Arc::clone(&live.journal) as _))
    }

    /// Every turn in a log is run.
    async fn start_child(&self, _: &ConversationId) -> Result<(), PlaceError> {
        Ok(())
    }

    async fn stop_child(&self, id: &ConversationId) -> Result<(), PlaceError> {
        let desk = self.desk()?;
        let Some(child) = desk.live(id) else { return Ok(()) };
        child.stop(&desk.files).map_err(place_error)?;
        child.rests().await;
        Ok(())
    }

    fn mcp_servers(&self) -> BTreeMap<String, McpServer> {
        self.desk.upgrade().map(|desk| desk.mcp_servers.clone()).unwrap_or_default()
    }
}

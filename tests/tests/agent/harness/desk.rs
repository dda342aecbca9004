//! A place with a real worker, and a conversation in it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use anyhow::Result;
use async_trait::async_trait;
use headwater_agent::{
    ChildSpec, Journal, McpServer, NewMessage, Place, PlaceError, RecordedCall, TurnContext, TurnSettings,
    run, submit,
};
use headwater_contract::Client;
use headwater_protocol::conversation::{Conversation, ConversationId, ToolOutput};
use headwater_protocol::{CONVERSATION_METADATA, ExecutionId, SessionSpec, TOOL_CALL_METADATA};
use headwater_tests::TestWorker;
use headwater_tools::{Agent, AgentInfo, LocalHost};
use tokio::sync::OnceCell;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::{MemoryJournal, Script};

/// A sub-agent.
type Child = (Arc<MemoryJournal>, CancellationToken, Option<JoinHandle<()>>);

#[derive(Debug)]
pub(crate) struct DeskPlace {
    client: Client,
    conversation: String,
    agent: OnceCell<Agent>,
    pub(crate) servers: Mutex<BTreeMap<String, McpServer>>,
    pub(crate) recorded: Mutex<Vec<RecordedCall>>,
    /// The models of sub-agents, in the order of their start.
    pub(crate) child_models: Mutex<Vec<Arc<Script>>>,
    pub(crate) children: Mutex<Vec<Child>>,
    this: std::sync::Weak<DeskPlace>,
}

/// A worker, a conversation, and its settings.
pub(crate) struct Desk {
    pub(crate) worker: TestWorker,
    pub(crate) journal: Arc<MemoryJournal>,
    pub(crate) place: Arc<DeskPlace>,
    pub(crate) settings: TurnSettings,
    pub(crate) stop: CancellationToken,
}

impl Desk {
    pub(crate) async fn new() -> Result<Self> {
        let worker = TestWorker::small().await?;
        let journal = MemoryJournal::new();
        let place = DeskPlace::new(worker.client().await?, &journal);
        Ok(Self { worker, journal, place, settings: TurnSettings::default(), stop: CancellationToken::new() })
    }

    /// The same log with a new place, as after a restart of the server.
    pub(crate) async fn restart(&mut self) -> Result<()> {
        self.journal = MemoryJournal::of(&self.journal.log());
        let agent = self.place.agent.get().cloned();
        let place = DeskPlace::new(self.worker.client().await?, &self.journal);
        if let Some(agent) = agent {
            let session = self.worker.client().await?.session(agent.session()).await?;
            place.agent.set(place.agent_in(session, &self.place.conversation).await?)?;
        }
        self.place = place;
        self.stop = CancellationToken::new();
        Ok(())
    }

    pub(crate) fn context(&self, model: Option<&Arc<Script>>) -> TurnContext {
        TurnContext {
            journal: Arc::clone(&self.journal) as _,
            place: Arc::clone(&self.place) as _,
            model: model.map(|model| Arc::clone(model) as _),
            settings: self.settings.clone(),
            stop: self.stop.clone(),
        }
    }

    /// Adds a message, as a route does.
    pub(crate) async fn add(&self, message: NewMessage) -> Result<()> {
        self.journal.update(Box::new(move |now| submit(now, message, Some("script")))).await?;
        Ok(())
    }

    /// Adds a message and runs its turn.
    pub(crate) async fn ask(&self, text: &str, model: &Arc<Script>) -> Result<Conversation> {
        self.add(NewMessage::text(text)).await?;
        run(self.context(Some(model))).await;
        Ok(self.journal.now())
    }

    /// Adds a message and begins its turn.
    pub(crate) async fn begin(&self, text: &str, model: &Arc<Script>) -> Result<JoinHandle<()>> {
        self.add(NewMessage::text(text)).await?;
        Ok(tokio::spawn(run(self.context(Some(model)))))
    }

    /// The result of the tool call at this place.
    pub(crate) fn output(&self, at: usize) -> ToolOutput {
        super::tool_calls(&self.journal.now())[at].output.clone().expect("a result")
    }
}

impl DeskPlace {
    fn new(client: Client, journal: &MemoryJournal) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            client,
            conversation: journal.id().to_string(),
            agent: OnceCell::new(),
            servers: Mutex::default(),
            recorded: Mutex::default(),
            child_models: Mutex::default(),
            children: Mutex::default(),
            this: this.clone(),
        })
    }

    async fn agent_in(&self, session: headwater_protocol::Session, conversation: &str) -> Result<Agent> {
        let host = LocalHost::connect(self.client.socket()).await?;
        let metadata = BTreeMap::from([(CONVERSATION_METADATA.to_owned(), conversation.to_owned())]);
        let info = AgentInfo { name: "chat".into(), metadata, ..AgentInfo::default() };
        Ok(Agent::new(Arc::new(host), session, info))
    }

    /// The tools of the session, which is created if there is none.
    pub(crate) async fn agent(&self) -> Result<Agent> {
        let make = async || {
            let session = self.client.create_session(None, &SessionSpec::default()).await?;
            self.agent_in(session, &self.conversation).await
        };
        self.agent.get_or_try_init(make).await.cloned()
    }
}

#[async_trait]
impl Place for DeskPlace {
    async fn tools(&self) -> Result<Agent, PlaceError> {
        self.agent().await.map_err(|error| PlaceError(error.to_string()))
    }

    async fn existing_tools(&self) -> Result<Option<Agent>, PlaceError> {
        Ok(self.agent.get().cloned())
    }

    async fn record(&self, call: RecordedCall) {
        self.recorded.lock().unwrap().push(call);
    }

    async fn executions_of(&self, tool_call_id: &str) -> Result<Vec<ExecutionId>, PlaceError> {
        let session = self.agent.get().map(Agent::session);
        let all =
            self.client.executions(session, false).await.map_err(|error| PlaceError(error.to_string()))?;
        let is_of = |metadata: &BTreeMap<String, String>| {
            metadata.get(TOOL_CALL_METADATA).map(String::as_str) == Some(tool_call_id)
        };
        Ok(all.into_iter().filter(|one| is_of(&one.spec.metadata)).map(|one| one.id).collect())
    }

    async fn create_child(&self, _: ChildSpec) -> Result<Arc<dyn Journal>, PlaceError> {
        let journal = MemoryJournal::new();
        self.children.lock().unwrap().push((Arc::clone(&journal), CancellationToken::new(), None));
        Ok(journal)
    }

    async fn child(&self, id: &ConversationId) -> Result<Option<Arc<dyn Journal>>, PlaceError> {
        let children = self.children.lock().unwrap();
        let found = children.iter().find(|(journal, ..)| journal.id() == id);
        Ok(found.map(|(journal, ..)| Arc::clone(journal) as _))
    }

    async fn start_child(&self, id: &ConversationId) -> Result<(), PlaceError> {
        let mut children = self.children.lock().unwrap();
        let models = self.child_models.lock().unwrap();
        let at = children.iter().position(|(journal, ..)| journal.id() == id).expect("a known sub-agent");
        let (journal, stop, task) = &mut children[at];
        *stop = CancellationToken::new();
        let context = TurnContext {
            journal: Arc::clone(journal) as _,
            place: self.this.upgrade().expect("the place is used now") as _,
            model: Some(Arc::clone(&models[at]) as _),
            settings: TurnSettings { depth: 1, ..TurnSettings::default() },
            stop: stop.clone(),
        };
        *task = Some(tokio::spawn(run(context)));
        Ok(())
    }

    async fn stop_child(&self, id: &ConversationId) -> Result<(), PlaceError> {
        let task = {
            let mut children = self.children.lock().unwrap();
            let found = children.iter_mut().find(|(journal, ..)| journal.id() == id);
            let (_, stop, task) = found.expect("a known sub-agent");
            stop.cancel();
            task.take()
        };
        if let Some(task) = task {
            task.await.map_err(|error| PlaceError(error.to_string()))?;
        }
        Ok(())
    }

    fn mcp_servers(&self) -> BTreeMap<String, McpServer> {
        self.servers.lock().unwrap().clone()
    }
}

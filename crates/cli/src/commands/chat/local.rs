//! Conversations on this machine, without a server: the agent runs in this process, and its log is in the data folder.

mod desk;
mod journal;
mod meta;
mod place;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use headwater_agent::model::Models;
use headwater_agent::{Journal, NewMessage, first_title, submit};
use headwater_contract::Client;
use headwater_gateway::config::{Config, Overrides};
use headwater_protocol::api::{
    AnswersRequest, ApprovalRequest, ConversationBody, ConversationPatch, ConversationRequest,
    MessageRequest, ModelBody, ModelStatus,
};
use headwater_protocol::conversation::{
    Attachment, Conversation, ConversationEvent, ConversationId, LogEntry, MessageId, Part, TextPart,
    TitleSource,
};
use headwater_protocol::{PlaceMode, now_ms};
use tokio::sync::watch;

use self::desk::{Desk, Live};
use self::journal::FileJournal;
use self::meta::{Files, Meta};
use super::media::media_type;
use super::source::{Chat, Chats};
use crate::args::{ChatArgs, HereArgs, SandboxModeArg};
use crate::commands::mcp::serve;
use crate::connect::Place;
use crate::engine::Engine;
use crate::error::{CommandError, ErrorKind};
use crate::in_place;

type Result<T> = std::result::Result<T, CommandError>;

/// The longest title that a first message gives, in characters.
const TITLE_CHARS: usize = 60;

/// The conversations in a data folder.
pub struct LocalChats {
    data: PathBuf,
    files: Files,
    engine: Engine,
    worker: Client,
    config: Config,
    here: HereArgs,
    session: Option<String>,
}

impl LocalChats {
    /// Those of this data folder. Starts a worker, if none runs.
    pub async fn new(place: &Place, args: &ChatArgs) -> Result<Self> {
        // The command line of a server decides who may connect, which means nothing here.
        let overrides = Overrides { allow_remote: Some(true), ..Overrides::default() };
        let config = Config::load(&place.data, args.here.config.as_deref(), overrides);
        let config = config.map_err(|error| {
            CommandError::usage(error.to_string()).hint("docs/configuration.md has all settings")
        })?;
        let worker = place.worker().await?;
        Ok(Self {
            data: place.data.clone(),
            files: Files::new(&place.data),
            engine: Engine::Local(worker.clone()),
            worker,
            config,
            here: args.here.clone(),
            session: args.session.clone(),
        })
    }

    /// The folder that a new conversation works in, or another one for a conversation that exists.
    fn place_in(&self, meta: &mut Meta) -> Result<()> {
        let HereArgs { folder, sandbox, network, writable, .. } = &self.here;
        let is_named = folder.is_some() || sandbox.is_some() || network.is_some() || !writable.is_empty();
        let known = meta.place.as_ref();
        if known.is_some() && !is_named {
            return Ok(());
        }
        let before = known.map(|place| PathBuf::from(&place.folder));
        let folder = folder.clone().or(before).unwrap_or_else(|| PathBuf::from("."));
        let mode = match sandbox {
            Some(SandboxModeArg::ReadOnly) => PlaceMode::ReadOnly,
            Some(SandboxModeArg::WorkspaceWrite) => PlaceMode::WorkspaceWrite,
            Some(SandboxModeArg::DangerFullAccess) => PlaceMode::DangerFullAccess,
            None => known.map_or(PlaceMode::WorkspaceWrite, |place| place.mode),
        };
        // Without walls there is only the network of the host.
        let kept = known.filter(|_| mode.has_walls()).map(|_| meta.network);
        let network = network.map(Into::into).or(kept);
        let spec = in_place::spec(&folder, &in_place::Options { mode, network, writable })?;
        (meta.place, meta.network) = (spec.place, spec.network);
        // The walls of the old session are other ones.
        meta.session_id = None;
        Ok(())
    }

    /// The session or the folder of a conversation.
    async fn settle(&self, meta: &mut Meta) -> Result<()> {
        let Some(session) = &self.session else { return self.place_in(meta) };
        let session = serve::joined(&self.worker, session).await?;
        (meta.session_id, meta.place) = (Some(session.id), None);
        Ok(())
    }

    fn opened(&self, meta: Meta) -> Result<Box<dyn Chat>> {
        let models = Models::from_config(&self.config.models);
        let servers = self.config.mcp_servers.clone();
        let (desk, live) = Desk::new(meta, self.data.clone(), self.worker.clone(), models, servers)?;
        let changes = live.journal.changes();
        let past = live.journal.read(|now| now.last_seq);
        Ok(Box::new(LocalChat { desk, live, past, read: 0, ahead: Vec::new().into_iter(), changes }))
    }

    fn known(&self, id: &ConversationId) -> Result<Meta> {
        let error = || CommandError::new(ErrorKind::NotFound, format!("there is no conversation `{id}`"));
        self.files.read(id)?.ok_or_else(|| error().hint("`headwater chat --list` lists all of them"))
    }
}

/// The name of a model, if there is one of this name; an empty text is the default one.
fn known_model(models: &Models, name: &str) -> Result<Option<String>> {
    if name.is_empty() {
        return Ok(None);
    }
    if models.get(name).is_some() {
        return Ok(Some(name.to_owned()));
    }
    let names: Vec<&str> = models.names().collect();
    let error = CommandError::usage(format!("there is no model `{name}`"));
    Err(match names[..] {
        [] => error.hint(super::NO_MODEL),
        _ => error.hint(format!("the models of the configuration are: {}", names.join(", "))),
    })
}

#[async_trait(?Send)]
impl Chats for LocalChats {
    fn engine(&self) -> &Engine {
        &self.engine
    }

    async fn models(&self) -> Result<Vec<ModelBody>> {
        let models = Models::from_config(&self.config.models);
        let body = |model: &headwater_agent::model::ModelInfo| ModelBody {
            name: model.name.clone(),
            api: model.api.name().to_owned(),
            model: model.model.clone(),
            is_default: model.is_default,
            context_tokens: model.context_tokens,
            status: ModelStatus::Unknown,
            detail: None,
        };
        Ok(models.list().map(body).collect())
    }

    async fn list(&self) -> Result<Vec<ConversationBody>> {
        let all = self.files.all().into_iter().filter(|(meta, _)| meta.parent.is_none());
        Ok(all.map(|(meta, at)| meta.body(at)).collect())
    }

    async fn newest(&self) -> Result<Option<ConversationId>> {
        let folder = self.here.folder.as_deref().unwrap_or(Path::new("."));
        let folder = std::fs::canonicalize(folder).unwrap_or_default();
        let is_here =
            |meta: &Meta| meta.place.as_ref().is_some_and(|place| folder == Path::new(&place.folder));
        let all = self.files.all().into_iter().map(|(meta, _)| meta);
        Ok(all.into_iter().find(|meta| meta.parent.is_none() && is_here(meta)).map(|meta| meta.id))
    }

    async fn create(&self, request: ConversationRequest) -> Result<Box<dyn Chat>> {
        let models = Models::from_config(&self.config.models);
        let mut meta = Meta::new(request.id.unwrap_or_else(ConversationId::random));
        meta.model = known_model(&models, request.model.as_deref().unwrap_or_default())?;
        meta.approvals = request.approval_policy.unwrap_or_default();
        meta.mode = request.mode.unwrap_or_default();
        self.settle(&mut meta).await?;
        self.opened(meta)
    }

    async fn open(&self, id: &ConversationId) -> Result<Box<dyn Chat>> {
        let mut meta = self.known(id)?;
        self.settle(&mut meta).await?;
        self.opened(meta)
    }

    async fn log(&self, id: &ConversationId) -> Result<Vec<LogEntry>> {
        self.known(id)?;
        Ok(FileJournal::open(id.clone(), &self.files.log(id))?.after(0))
    }
}

/// A conversation on this machine.
struct LocalChat {
    desk: Arc<Desk>,
    live: Arc<Live>,
    past: u64,
    /// The last entry that was read from the log.
    read: u64,
    /// Entries that were read ahead.
    ahead: std::vec::IntoIter<LogEntry>,
    changes: watch::Receiver<u64>,
}

impl LocalChat {
    async fn update(
        &self,
        decide: impl FnOnce(&Conversation) -> Vec<ConversationEvent> + Send + 'static,
    ) -> Result<Vec<LogEntry>> {
        let written = self.live.journal.update(Box::new(decide)).await;
        written.map_err(|error| CommandError::internal(error.to_string()))
    }

    async fn rename(&self, title: String, source: TitleSource) -> Result<()> {
        let event = ConversationEvent::TitleChanged { title: title.clone(), source };
        self.update(move |_| vec![event]).await?;
        self.live.change(&self.desk.files, |meta| meta.title = Some(title))
    }

    /// The name of the model that a message is for; none is a notebook.
    fn model(&self, asked: Option<&str>) -> Result<Option<String>> {
        let models = &self.desk.models;
        if asked == Some("") {
            return Ok(None);
        }
        let named = asked.map(ToOwned::to_owned).or_else(|| self.live.meta().model);
        let model = match named {
            Some(name) => known_model(models, &name)?.and_then(|name| models.get(&name)),
            None => models.default_model(),
        };
        Ok(model.map(|model| model.name().to_owned()))
    }
}

#[async_trait(?Send)]
impl Chat for LocalChat {
    fn id(&self) -> &ConversationId {
        self.live.journal.id()
    }

    fn past(&self) -> u64 {
        self.past
    }

    fn place(&self) -> String {
        let meta = self.live.meta();
        match (meta.place, meta.session_id) {
            (Some(place), _) => format!("in {} ({})", place.folder, place.mode.name()),
            (None, Some(session)) => format!("in the session {session}"),
            (None, None) => "without a session".to_owned(),
        }
    }

    async fn body(&self) -> Result<ConversationBody> {
        Ok(self.live.meta().body(now_ms()))
    }

    async fn next(&mut self) -> Result<LogEntry> {
        loop {
            if let Some(entry) = self.ahead.next() {
                self.read = entry.seq;
                return Ok(entry);
            }
            self.changes.borrow_and_update();
            let ahead = self.live.journal.after(self.read);
            if ahead.is_empty() {
                self.changes.changed().await.map_err(|_| CommandError::internal("the log is closed"))?;
            }
            self.ahead = ahead.into_iter();
        }
    }

    async fn send(&self, message: MessageRequest) -> Result<()> {
        let MessageRequest { id, text, attachments, model, delivery, .. } = message;
        let model = self.model(model.as_deref())?;
        let title = first_title(&text, TITLE_CHARS);
        let text = (!text.trim().is_empty()).then(|| Part::Text(TextPart { text, ..TextPart::default() }));
        let message = NewMessage {
            id: id.unwrap_or_else(MessageId::random),
            parts: attachments.into_iter().map(Part::Attachment).chain(text).collect(),
            delivery: delivery.unwrap_or_default(),
            ..NewMessage::text("")
        };
        self.update(move |now| submit(now, message, model.as_deref())).await?;
        match title.filter(|_| self.live.meta().title.is_none()) {
            Some(title) => self.rename(title, TitleSource::Message).await,
            None => Ok(()),
        }
    }

    fn has_notebook(&self) -> bool {
        true
    }

    async fn stop(&self) -> Result<()> {
        self.live.stop(&self.desk.files)
    }

    async fn approve(&self, approval_id: &str, answer: ApprovalRequest) -> Result<()> {
        let approval_id = approval_id.to_owned();
        self.update(move |now| {
            let parts = now.messages.iter().flat_map(|message| &message.parts);
            let call = parts.into_iter().find_map(|part| match part {
                Part::ToolCall(call) => {
                    let asked = call.approval.as_ref()?;
                    (asked.approval_id == approval_id && asked.decision.is_none()).then_some(call)
                }
                _ => None,
            });
            let event = |tool_call_id| ConversationEvent::ApprovalAnswered {
                tool_call_id,
                approval_id,
                decision: answer.decision,
                reason: answer.reason,
                by: None,
            };
            call.map(|call| event(call.tool_call_id.clone())).into_iter().collect()
        })
        .await
        .map(drop)
    }

    async fn answer(&self, tool_call_id: &str, answers: AnswersRequest) -> Result<()> {
        let tool_call_id = tool_call_id.to_owned();
        let event = ConversationEvent::InputAnswered { tool_call_id, answers: answers.answers };
        self.update(move |_| vec![event]).await.map(drop)
    }

    async fn change(&self, patch: ConversationPatch) -> Result<()> {
        let ConversationPatch { title, model, approval_policy, mode, .. } = patch;
        let model = model.map(|name| known_model(&self.desk.models, &name)).transpose()?;
        if let Some(title) = title {
            let title = first_title(&title, usize::MAX);
            let title = title.ok_or_else(|| CommandError::usage("the title is empty"))?;
            self.rename(title, TitleSource::Person).await?;
        }
        self.live.change(&self.desk.files, |meta| {
            if let Some(model) = model {
                meta.model = model;
            }
            meta.approvals = approval_policy.unwrap_or(meta.approvals);
            meta.mode = mode.unwrap_or(meta.mode);
        })
    }

    async fn attach(&self, file: &Path) -> Result<Attachment> {
        let failed =
            |error: std::io::Error| CommandError::usage(format!("cannot read `{}`: {error}", file.display()));
        let path = std::fs::canonicalize(file).map_err(failed)?;
        let size_bytes = std::fs::metadata(&path).map_err(failed)?.len();
        let outside = || {
            CommandError::usage(format!("`{}` is not in the folder of the agent", file.display()))
                .hint("copy it there first, or use a server, which gets a copy")
        };
        let folder = self.live.meta().place.ok_or_else(outside)?.folder;
        let inside = path.strip_prefix(&folder).ok().and_then(Path::to_str).ok_or_else(outside)?;
        let name = inside.rsplit('/').next().unwrap_or(inside).to_owned();
        Ok(Attachment { media_type: media_type(&path), path: inside.to_owned(), name, size_bytes })
    }

    async fn leave(&self) -> Result<()> {
        let meta = self.live.meta();
        let Some(session) = meta.session_id.filter(|_| meta.place.is_some()) else { return Ok(()) };
        // One that still stops is stopped when the conversation is resumed; its programs are needed until then.
        if self.desk.session.get().is_none() || self.live.journal.read(|now| now.running().is_some()) {
            return Ok(());
        }
        serve::leave(&self.worker(), session).await
    }
}

impl LocalChat {
    fn worker(&self) -> Client {
        self.desk.worker.clone()
    }
}

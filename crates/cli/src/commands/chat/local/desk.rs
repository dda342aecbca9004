//! A conversation in use on this machine with those of its sub-agents: who runs their turns, and the session of all.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use headwater_agent::model::Models;
use headwater_agent::{Journal, McpServer, TurnContext, TurnSettings, run};
use headwater_contract::Client;
use headwater_protocol::api::{ApprovalPolicyName, ConversationMode};
use headwater_protocol::conversation::ConversationId;
use headwater_protocol::{Session, SessionId, SessionSpec, SessionState};
use headwater_tools::Agent;
use headwater_tools::policy::{ApprovalPolicy, SharedPolicy};
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use super::journal::FileJournal;
use super::meta::{Files, Meta};
use super::place::LocalPlace;
use crate::commands::mcp::rules;
use crate::error::{CommandError, ErrorKind};
use crate::in_place;

/// What the conversations share.
#[derive(Debug)]
pub struct Desk {
    pub files: Files,
    pub data: PathBuf,
    pub worker: Client,
    pub models: Models,
    pub mcp_servers: BTreeMap<String, McpServer>,
    /// The conversation of the person.
    pub root: ConversationId,
    /// The session that they work in, once it is needed.
    pub session: OnceCell<Session>,
    lives: Mutex<HashMap<ConversationId, Arc<Live>>>,
}

/// A conversation in use.
#[derive(Debug)]
pub struct Live {
    pub journal: Arc<FileJournal>,
    meta: Mutex<Meta>,
    depth: u32,
    /// The tools in the session. They remember what the agent has read and started.
    pub agent: OnceCell<Agent>,
    stops: Mutex<CancellationToken>,
}

impl Live {
    /// How deep it is below the conversation of a person.
    pub const fn depth(&self) -> u32 {
        self.depth
    }

    /// The settings as they are now.
    pub fn meta(&self) -> Meta {
        self.lock_meta().clone()
    }

    fn lock_meta(&self) -> MutexGuard<'_, Meta> {
        self.meta.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes settings, and writes them.
    pub fn change(&self, files: &Files, change: impl FnOnce(&mut Meta)) -> Result<(), CommandError> {
        let mut meta = self.lock_meta();
        let mut new = meta.clone();
        change(&mut new);
        files.write(&new)?;
        *meta = new;
        Ok(())
    }

    /// The turn that runs.
    fn turn(&self) -> Option<String> {
        self.journal.read(|now| now.running().map(|turn| turn.turn_id.clone()))
    }

    /// Interrupts the turn that runs, even if this process is killed before it has ended.
    pub fn stop(&self, files: &Files) -> Result<(), CommandError> {
        let turn = self.turn();
        let token = self.stops.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let written = self.change(files, |meta| meta.stopped = turn);
        token.cancel();
        written
    }

    /// Waits until no turn runs.
    pub async fn rests(&self) {
        let mut changes = self.journal.changes();
        while self.turn().is_some() && changes.changed().await.is_ok() {}
    }
}

impl Desk {
    /// A conversation and what it needs. Its sub-agents that still work go on.
    pub fn new(
        meta: Meta,
        data: PathBuf,
        worker: Client,
        models: Models,
        mcp_servers: BTreeMap<String, McpServer>,
    ) -> Result<(Arc<Self>, Arc<Live>), CommandError> {
        let files = Files::new(&data);
        let (root, session) = (meta.id.clone(), OnceCell::new());
        let desk = Arc::new(Self {
            files,
            data,
            worker,
            models,
            mcp_servers,
            root,
            session,
            lives: Mutex::default(),
        });
        let live = desk.open(meta, 0)?;
        let all: Vec<Meta> = desk.files.all().into_iter().map(|(meta, _)| meta).collect();
        let mut parents = vec![(desk.root.clone(), 0)];
        while let Some((parent, depth)) = parents.pop() {
            for child in all.iter().filter(|meta| meta.parent.as_ref() == Some(&parent)) {
                desk.open(child.clone(), depth + 1)?;
                parents.push((child.id.clone(), depth + 1));
            }
        }
        Ok((desk, live))
    }

    /// A conversation that is in use.
    pub fn live(&self, id: &ConversationId) -> Option<Arc<Live>> {
        self.lives.lock().unwrap_or_else(PoisonError::into_inner).get(id).cloned()
    }

    /// Opens the log of a conversation, and runs its turns from now on.
    pub fn open(self: &Arc<Self>, meta: Meta, depth: u32) -> Result<Arc<Live>, CommandError> {
        self.files.write(&meta)?;
        let journal = Arc::new(FileJournal::open(meta.id.clone(), &self.files.log(&meta.id))?);
        let (id, meta) = (meta.id.clone(), Mutex::new(meta));
        let live = Arc::new(Live { journal, meta, depth, agent: OnceCell::new(), stops: Mutex::default() });
        self.lives.lock().unwrap_or_else(PoisonError::into_inner).insert(id, Arc::clone(&live));
        tokio::spawn(run_turns(Arc::clone(self), Arc::clone(&live)));
        Ok(live)
    }

    /// The session, which is created or resumed at its first use.
    pub async fn session(&self) -> Result<Session, CommandError> {
        self.session.get_or_try_init(|| self.find_session()).await.cloned()
    }

    async fn find_session(&self) -> Result<Session, CommandError> {
        let root =
            self.live(&self.root).ok_or_else(|| CommandError::internal("the conversation is closed"))?;
        let meta = root.meta();
        if let Some(id) = meta.session_id {
            match self.worker.retry(|worker| worker.session(id)).await {
                Ok(session) if !matches!(session.state, SessionState::Ended { .. }) => return Ok(session),
                Ok(_) => {}
                Err(error) => {
                    let error = CommandError::from(error);
                    if error.kind != ErrorKind::NotFound {
                        return Err(error);
                    }
                }
            }
        }
        let spec = session_spec(&meta)?;
        let id = SessionId::random();
        // Before it is created, so that a kill leaves none that nobody knows.
        root.change(&self.files, |meta| meta.session_id = Some(id))?;
        let session = self.worker.retry(|worker| worker.create_session(Some(id), &spec)).await?;
        in_place::check_created(&spec, &session)?;
        Ok(session)
    }

    /// The rules of the project in the folder, with the policy of a conversation.
    pub fn policy(&self, meta: &Meta) -> Result<SharedPolicy, CommandError> {
        let approval = approval(meta.approvals);
        let Some(place) = &meta.place else { return Ok(SharedPolicy::new(approval)) };
        SharedPolicy::of_project(approval, &rules::file_of(&self.data, &place.folder)).map_err(|error| {
            CommandError::usage(error.to_string()).hint("correct the file, or remove it to forget the rules")
        })
    }

    fn context(self: &Arc<Self>, live: &Arc<Live>, stop: CancellationToken) -> TurnContext {
        let meta = live.meta();
        let named = live.journal.read(|now| now.running().and_then(|turn| turn.model.clone()));
        TurnContext {
            journal: Arc::clone(&live.journal) as _,
            place: Arc::new(LocalPlace::new(self, live)),
            model: named.and_then(|name| self.models.get(&name)),
            settings: TurnSettings {
                is_plan_mode: meta.mode == ConversationMode::Plan,
                approval: approval(meta.approvals),
                // Nobody looks into the conversations of sub-agents.
                is_interactive: live.depth == 0,
                depth: live.depth,
                ..TurnSettings::default()
            },
            stop,
        }
    }
}

/// Runs every turn of a conversation, as long as this process lives.
async fn run_turns(desk: Arc<Desk>, live: Arc<Live>) {
    let mut changes = live.journal.changes();
    loop {
        let Some(turn) = live.turn() else {
            if changes.changed().await.is_err() {
                return;
            }
            continue;
        };
        let stop = CancellationToken::new();
        live.stops.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&stop);
        if live.meta().stopped == Some(turn) {
            stop.cancel();
        }
        let before = live.journal.read(|now| now.last_seq);
        run(desk.context(&live, stop)).await;
        if live.journal.read(|now| now.last_seq) == before {
            // The log cannot be written: the person has been told, and running it again would not help.
            return;
        }
    }
}

const fn approval(name: ApprovalPolicyName) -> ApprovalPolicy {
    match name {
        ApprovalPolicyName::Never => ApprovalPolicy::Never,
        ApprovalPolicyName::OnFailure => ApprovalPolicy::OnFailure,
        ApprovalPolicyName::OnRequest => ApprovalPolicy::OnRequest,
        ApprovalPolicyName::UnlessTrusted => ApprovalPolicy::UnlessTrusted,
    }
}

/// The session that a conversation works in.
fn session_spec(meta: &Meta) -> Result<SessionSpec, CommandError> {
    let Some(place) = &meta.place else {
        return Err(CommandError::new(ErrorKind::NotFound, "the session of this conversation has ended")
            .hint("name another one with `--session`"));
    };
    let writable: Vec<PathBuf> = place.writable.iter().map(PathBuf::from).collect();
    let options = in_place::Options { mode: place.mode, network: Some(meta.network), writable: &writable };
    in_place::spec(place.folder.as_ref(), &options)
}

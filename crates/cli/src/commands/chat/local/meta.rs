//! What is known of a conversation besides its log: its settings and where its agent works. A file beside the log.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use headwater_protocol::api::{ApprovalPolicyName, ConversationBody, ConversationMode, Timestamp};
use headwater_protocol::conversation::ConversationId;
use headwater_protocol::{Network, Place, SessionId, now_ms};
use serde::{Deserialize, Serialize};

use crate::error::CommandError;

/// The folder of conversations in the data folder.
const FOLDER: &str = "chats";

/// The settings of a conversation. Fields that an earlier version did not write have their defaults.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Meta {
    pub id: ConversationId,
    /// The conversation of the agent that started this one.
    #[serde(default)]
    pub parent: Option<ConversationId>,
    #[serde(default)]
    pub title: Option<String>,
    /// The model; the default one if absent.
    #[serde(default)]
    pub model: Option<String>,
    #[serde(default)]
    pub approvals: ApprovalPolicyName,
    #[serde(default)]
    pub mode: ConversationMode,
    /// The folder that it works in, in place; absent if it works in a session that somebody else has made.
    #[serde(default)]
    pub place: Option<Place>,
    #[serde(default)]
    pub network: Network,
    /// Its session, as long as there is one.
    #[serde(default)]
    pub session_id: Option<SessionId>,
    /// The turn that a person has interrupted: after a kill it must not go on.
    #[serde(default)]
    pub stopped: Option<String>,
    #[serde(default)]
    pub created_at_ms: u64,
}

impl Meta {
    /// Those of a new conversation.
    pub fn new(id: ConversationId) -> Self {
        Self {
            id,
            parent: None,
            title: None,
            model: None,
            approvals: ApprovalPolicyName::default(),
            mode: ConversationMode::default(),
            place: None,
            network: Network::default(),
            session_id: None,
            stopped: None,
            created_at_ms: now_ms(),
        }
    }

    /// As the API shows a conversation.
    pub fn body(&self, last_activity_at_ms: u64) -> ConversationBody {
        let Self { id, parent, title, model, approvals, mode, session_id, created_at_ms, .. } = self.clone();
        ConversationBody {
            id,
            title,
            owner: "local".to_owned(),
            session_id,
            model,
            approval_policy: approvals,
            mode,
            instructions: None,
            parent_id: parent,
            is_archived: false,
            wakes: false,
            web_search: false,
            mcp_servers: BTreeMap::new(),
            is_running: false,
            is_waiting: false,
            created_at: Timestamp(created_at_ms),
            last_activity_at: Timestamp(last_activity_at_ms),
            excerpt: None,
        }
    }
}

/// The files of conversations.
#[derive(Debug, Clone)]
pub struct Files {
    folder: PathBuf,
}

impl Files {
    /// Those in this data folder.
    pub fn new(data: &Path) -> Self {
        Self { folder: data.join(FOLDER) }
    }

    /// The log of a conversation.
    pub fn log(&self, id: &ConversationId) -> PathBuf {
        self.folder.join(format!("{id}.log"))
    }

    fn meta(&self, id: &ConversationId) -> PathBuf {
        self.folder.join(format!("{id}.json"))
    }

    /// Writes settings, all or nothing.
    pub fn write(&self, meta: &Meta) -> Result<(), CommandError> {
        let path = self.meta(&meta.id);
        let write = || {
            fs::create_dir_all(&self.folder)?;
            let new = path.with_extension("new");
            let mut file =
                fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
            file.write_all(&serde_json::to_vec_pretty(meta)?)?;
            fs::rename(&new, &path)
        };
        write().map_err(|error| CommandError::internal(format!("cannot write `{}`: {error}", path.display())))
    }

    /// The settings of a conversation, if there is one.
    pub fn read(&self, id: &ConversationId) -> Result<Option<Meta>, CommandError> {
        let path = self.meta(id);
        let failed =
            |error: String| CommandError::internal(format!("cannot read `{}`: {error}", path.display()));
        match fs::read(&path) {
            Ok(text) => serde_json::from_slice(&text).map(Some).map_err(|error| failed(error.to_string())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(error.to_string())),
        }
    }

    /// All conversations, newest first, each with the time of its last event. Those without an event, and files that
    /// cannot be read, are left out.
    pub fn all(&self) -> Vec<(Meta, u64)> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut all: Vec<(Meta, u64)> = entries
            .filter_map(|entry| {
                let id = entry.file_name().to_str()?.strip_suffix(".json")?.parse().ok()?;
                let meta = self.read(&id).ok().flatten()?;
                let log = fs::metadata(self.log(&id)).ok().filter(|log| log.len() > 0)?;
                let changed = log.modified().ok();
                let since = changed.and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
                let at = since.and_then(|since| u64::try_from(since.as_millis()).ok());
                Some((meta.clone(), at.unwrap_or(meta.created_at_ms)))
            })
            .collect();
        all.sort_by_key(|(_, at)| std::cmp::Reverse(*at));
        all
    }
}

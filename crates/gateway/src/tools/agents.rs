//! The agents that called tools lately. An agent remembers what it has read of each execution, so that the next call
//! returns only new output. If it is forgotten, output is returned from the beginning.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use headwater_protocol::{CONVERSATION_METADATA, SessionId};
use headwater_tools::policy::ApprovalPolicy;
use headwater_tools::{Agent, AgentInfo};

use super::host::ToolHost;
use crate::auth::Identity;

/// An agent that has not called for this long is forgotten: longer than the longest wait of a tool.
const IDLE: Duration = Duration::from_hours(2);
/// Agents that are remembered, in all. Each takes up to a few hundred kilobytes.
const MAX_AGENTS: usize = 2_000;
/// Agents of one owner that are remembered.
const MAX_AGENTS_OF_OWNER: usize = 100;

/// How a caller names itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Caller {
    /// The name of the agent.
    pub(crate) agent: String,
    /// The conversation that it works for.
    pub(crate) conversation_id: Option<String>,
    /// When a person is asked.
    pub(crate) approvals: ApprovalPolicy,
}

/// An agent is the same if the same credential calls under the same name in the same session.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    owner: String,
    token_id: String,
    session: SessionId,
    caller: Caller,
}

#[derive(Debug)]
struct Entry {
    agent: Agent,
    host: Arc<ToolHost>,
    used: Instant,
}

/// The agents that are remembered.
#[derive(Debug, Default)]
pub(super) struct Agents(Mutex<HashMap<Key, Entry>>);

impl Agents {
    /// The agent of a caller in a session. An unknown one is made by `make`.
    pub(super) fn get(
        &self,
        (who, origin): (&Identity, &str),
        session: SessionId,
        caller: &Caller,
        make: impl FnOnce(AgentInfo) -> (Agent, Arc<ToolHost>),
    ) -> Agent {
        let (owner, token_id) = (who.owner.clone(), who.token_id.clone());
        let key = Key { owner, token_id, session, caller: caller.clone() };
        let now = Instant::now();
        let mut all = self.all();
        if let Some(entry) = all.get_mut(&key) {
            entry.used = now;
            entry.host.set_sender(who.clone(), origin);
            return entry.agent.clone();
        }
        make_room(&mut all, &key.owner, now);
        let conversation = caller.conversation_id.iter();
        let metadata = conversation.map(|id| (CONVERSATION_METADATA.to_owned(), id.clone())).collect();
        let (agent, host) = make(AgentInfo { name: caller.agent.clone(), metadata, ..AgentInfo::default() });
        all.insert(key, Entry { agent: agent.clone(), host, used: now });
        agent
    }

    fn all(&self) -> MutexGuard<'_, HashMap<Key, Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Forgets agents until there is room for one more of this owner.
fn make_room(all: &mut HashMap<Key, Entry>, owner: &str, now: Instant) {
    all.retain(|_, entry| now.saturating_duration_since(entry.used) < IDLE);
    if all.keys().filter(|key| key.owner == owner).count() >= MAX_AGENTS_OF_OWNER {
        remove_oldest(all, |key| key.owner == owner);
    }
    if all.len() >= MAX_AGENTS {
        remove_oldest(all, |_| true);
    }
}

fn remove_oldest(all: &mut HashMap<Key, Entry>, among: impl Fn(&Key) -> bool) {
    let some = all.iter().filter(|(key, _)| among(key));
    if let Some(key) = some.min_by_key(|(_, entry)| entry.used).map(|(key, _)| key.clone()) {
        all.remove(&key);
    }
}

#[cfg(test)]
mod tests {
    use headwater_protocol::{SandboxKind, Session, SessionSpec, SessionState};

    use super::*;
    use crate::test_gateway::{TestGateway, ann};

    fn caller(agent: &str) -> Caller {
        Caller { agent: agent.into(), conversation_id: None, approvals: ApprovalPolicy::Never }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn agents_of_an_owner_are_bounded_and_the_least_recently_used_is_forgotten() {
        let test = TestGateway::start().await;
        let tools = &test.gateway.tools;
        let session = Session {
            id: SessionId::random(),
            spec: SessionSpec::default(),
            sandbox: SandboxKind::Full,
            state: SessionState::Ready,
            created_at_ms: 0,
            running: 0,
        };
        let has = |name: &str| tools.agents.all().keys().any(|key| key.caller.agent == name);
        for n in 0..MAX_AGENTS_OF_OWNER {
            tools.agent(&ann(), "", session.clone(), &caller(&n.to_string()));
        }
        tools.agent(&ann(), "", session.clone(), &caller("0"));
        assert_eq!(tools.agents.all().len(), MAX_AGENTS_OF_OWNER);
        tools.agent(&ann(), "", session.clone(), &caller("one more"));
        assert_eq!(tools.agents.all().len(), MAX_AGENTS_OF_OWNER);
        assert!(has("0") && !has("1") && has("one more"));
        let other = Identity { token_id: "tok_y".into(), ..ann() };
        tools.agent(&other, "", session, &caller("0"));
        assert_eq!(tools.agents.all().keys().filter(|key| key.caller.agent == "0").count(), 2);
        let later = Instant::now() + IDLE;
        make_room(&mut tools.agents.all(), "ann", later);
        assert!(tools.agents.all().is_empty());
        test.stop().await;
    }
}

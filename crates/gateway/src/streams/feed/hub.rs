//! Who is to be woken when an execution starts. A wake-up says nothing: what started, the store tells, so none can be
//! missed however far a feed is behind.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use headwater_protocol::SessionId;
use headwater_store::{ExecutionFilter, ExecutionRow};
use tokio::sync::watch;

/// Whose executions a feed shows.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Topic {
    /// Those of a session.
    Session(SessionId),
    /// Those that an owner started for a conversation. Two owners may use the same name for one.
    Conversation {
        /// Who.
        owner: String,
        /// Their name for it.
        id: String,
    },
}

impl Topic {
    /// Which rows of the store these are.
    pub(crate) fn filter(&self) -> ExecutionFilter {
        match self {
            Self::Session(id) => ExecutionFilter { session_id: Some(*id), ..ExecutionFilter::default() },
            Self::Conversation { owner, id } => ExecutionFilter {
                owner: Some(owner.clone()),
                conversation_id: Some(id.clone()),
                ..ExecutionFilter::default()
            },
        }
    }

    fn of(row: &ExecutionRow) -> impl Iterator<Item = Self> {
        let conversation = row.conversation_id.clone();
        let conversation = conversation.map(|id| Self::Conversation { owner: row.owner.clone(), id });
        [Some(Self::Session(row.session_id)), conversation].into_iter().flatten()
    }
}

type Topics = Arc<Mutex<HashMap<Topic, watch::Sender<()>>>>;

/// The topics that somebody watches.
#[derive(Debug, Default)]
pub(crate) struct Hub {
    topics: Topics,
}

impl Hub {
    /// Wakes whoever watches what this row belongs to.
    pub(crate) fn announce(&self, row: &ExecutionRow) {
        let topics = self.topics.lock().unwrap_or_else(PoisonError::into_inner);
        for sender in Topic::of(row).filter_map(|topic| topics.get(&topic)) {
            sender.send_replace(());
        }
    }

    /// Watches a topic: every announcement after this wakes.
    pub(crate) fn watch(&self, topic: Topic) -> Watch {
        let mut topics = self.topics.lock().unwrap_or_else(PoisonError::into_inner);
        let sender = topics.entry(topic.clone()).or_insert_with(|| watch::Sender::new(()));
        let receiver = Some(sender.subscribe());
        Watch { topics: Arc::clone(&self.topics), topic, receiver }
    }
}

/// One who watches a topic.
#[derive(Debug)]
pub(crate) struct Watch {
    topics: Topics,
    topic: Topic,
    receiver: Option<watch::Receiver<()>>,
}

impl Watch {
    /// What is watched.
    pub(crate) const fn topic(&self) -> &Topic {
        &self.topic
    }

    /// Waits until something has started since the last call. Dropping the future loses nothing.
    pub(crate) async fn woken(&mut self) {
        let woken = match &mut self.receiver {
            Some(receiver) => receiver.changed().await.is_ok(),
            None => false,
        };
        if !woken {
            // The sender lives as long as its receivers: this cannot be.
            std::future::pending::<()>().await;
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut topics = self.topics.lock().unwrap_or_else(PoisonError::into_inner);
        self.receiver = None;
        if topics.get(&self.topic).is_some_and(|sender| sender.receiver_count() == 0) {
            topics.remove(&self.topic);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use headwater_protocol::{ExecutionId, StartSpec};

    use super::*;

    fn row(owner: &str, conversation: Option<&str>, session_id: SessionId) -> ExecutionRow {
        ExecutionRow {
            id: ExecutionId::random(),
            session_id,
            owner: owner.into(),
            conversation_id: conversation.map(Into::into),
            tool_call_id: None,
            language: None,
            spec: StartSpec::shell("true"),
            number: 1,
            queued_at_ms: 0,
            end: None,
            log_removed: None,
        }
    }

    #[test]
    fn a_start_wakes_the_watchers_of_its_session_or_conversation_and_nobody_else() {
        let (hub, session) = (Hub::default(), SessionId::random());
        let conversation = |owner: &str| Topic::Conversation { owner: owner.into(), id: "c".into() };
        let mut woken = [Topic::Session(session), conversation("ann")].map(|topic| hub.watch(topic));
        let mut asleep =
            [Topic::Session(SessionId::random()), conversation("bob")].map(|topic| hub.watch(topic));
        hub.announce(&row("ann", Some("c"), session));
        assert!(woken.iter_mut().all(|watch| watch.woken().now_or_never().is_some()));
        assert!(woken.iter_mut().all(|watch| watch.woken().now_or_never().is_none()), "once is enough");
        assert!(asleep.iter_mut().all(|watch| watch.woken().now_or_never().is_none()));
    }

    #[test]
    fn a_topic_that_nobody_watches_is_forgotten() {
        let (hub, topic) = (Hub::default(), Topic::Session(SessionId::random()));
        let watches = [hub.watch(topic.clone()), hub.watch(topic)];
        let [one, other] = watches;
        drop(one);
        assert_eq!(hub.topics.lock().unwrap().len(), 1);
        drop(other);
        assert!(hub.topics.lock().unwrap().is_empty());
    }
}

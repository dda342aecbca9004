//! Wakes feeds when an execution starts. A wake-up carries no data: the feed reads the new rows from the
//! store, so it misses none, however far it is behind.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use headwater_protocol::SessionId;
use headwater_store::{ExecutionFilter, ExecutionRow};
use tokio::sync::watch;

/// The set of executions that a feed shows.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Topic {
    /// The executions of a session.
    Session(SessionId),
    /// The executions that an owner started for a conversation. Two owners may use the same id.
    Conversation {
        owner: String,
        /// The owner's id of the conversation.
        id: String,
    },
}

impl Topic {
    /// Selects the rows of the store.
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

/// The topics with subscribers.
#[derive(Debug, Default)]
pub(crate) struct Hub {
    topics: Topics,
}

impl Hub {
    /// Wakes the subscribers of this row's topics.
    pub(crate) fn announce(&self, row: &ExecutionRow) {
        let topics = self.topics.lock().unwrap_or_else(PoisonError::into_inner);
        for sender in Topic::of(row).filter_map(|topic| topics.get(&topic)) {
            sender.send_replace(());
        }
    }

    /// Subscribes to a topic: every later announcement wakes the subscription.
    pub(crate) fn subscribe(&self, topic: Topic) -> Subscription {
        let mut topics = self.topics.lock().unwrap_or_else(PoisonError::into_inner);
        let sender = topics.entry(topic.clone()).or_insert_with(|| watch::Sender::new(()));
        let receiver = Some(sender.subscribe());
        Subscription { topics: Arc::clone(&self.topics), topic, receiver }
    }
}

/// A subscription to a topic.
#[derive(Debug)]
pub(crate) struct Subscription {
    topics: Topics,
    topic: Topic,
    receiver: Option<watch::Receiver<()>>,
}

impl Subscription {
    /// The topic.
    pub(crate) const fn topic(&self) -> &Topic {
        &self.topic
    }

    /// Waits until an execution has started since the last call. Cancel-safe.
    pub(crate) async fn woken(&mut self) {
        let woken = match &mut self.receiver {
            Some(receiver) => receiver.changed().await.is_ok(),
            None => false,
        };
        if !woken {
            // Unreachable: the sender exists as long as its receivers.
            std::future::pending::<()>().await;
        }
    }
}

impl Drop for Subscription {
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
        let mut woken = [Topic::Session(session), conversation("ann")].map(|topic| hub.subscribe(topic));
        let mut asleep =
            [Topic::Session(SessionId::random()), conversation("bob")].map(|topic| hub.subscribe(topic));
        hub.announce(&row("ann", Some("c"), session));
        assert!(woken.iter_mut().all(|watch| watch.woken().now_or_never().is_some()));
        assert!(woken.iter_mut().all(|watch| watch.woken().now_or_never().is_none()), "once is enough");
        assert!(asleep.iter_mut().all(|watch| watch.woken().now_or_never().is_none()));
    }

    #[test]
    fn a_topic_that_nobody_watches_is_forgotten() {
        let (hub, topic) = (Hub::default(), Topic::Session(SessionId::random()));
        let watches = [hub.subscribe(topic.clone()), hub.subscribe(topic)];
        let [one, other] = watches;
        drop(one);
        assert_eq!(hub.topics.lock().unwrap().len(), 1);
        drop(other);
        assert!(hub.topics.lock().unwrap().is_empty());
    }
}

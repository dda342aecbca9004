//! Subscriptions: `resources/subscribe` of the versions with a handshake, and `subscriptions/listen`.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::{Mutex, MutexGuard, PoisonError};

use headwater_tools::Agent;
use rmcp::ErrorData;
use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::service::{Peer, RoleServer, SubscriptionContext};
use tokio::sync::oneshot;
use tokio::task::{AbortHandle, JoinSet};

use super::execution;
use super::uri::{ResourceUri, Target};
use super::watch::watch;

/// Subscriptions of one connection. Each costs the worker a reader or a watch.
pub(crate) const MAX_SUBSCRIPTIONS: usize = 32;

/// The subscriptions of one connection that has a handshake.
#[derive(Debug, Default)]
pub(crate) struct Subscriptions(Mutex<HashMap<String, AbortHandle>>);

impl Subscriptions {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, AbortHandle>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reports changes of a resource from now on. A second subscription replaces the first.
    pub(crate) async fn add(
        &self,
        agent: Agent,
        address: String,
        parsed: ResourceUri,
        peer: Peer<RoleServer>,
    ) -> Result<(), ErrorData> {
        check(&agent, &parsed.target).await?;
        let (ready, is_ready) = oneshot::channel();
        self.begin(agent, address, parsed, peer, ready)?;
        // The client relies on the answer: it must not miss a change that comes after it.
        let _ = is_ready.await; // the sender is dropped, which is an error
        Ok(())
    }

    fn begin(
        &self,
        agent: Agent,
        address: String,
        parsed: ResourceUri,
        peer: Peer<RoleServer>,
        ready: oneshot::Sender<()>,
    ) -> Result<(), ErrorData> {
        let mut all = self.lock();
        all.retain(|_, task| !task.is_finished());
        if all.len() >= MAX_SUBSCRIPTIONS && !all.contains_key(&address) {
            let message = format!(
                "a connection has at most {MAX_SUBSCRIPTIONS} subscriptions: unsubscribe from another resource"
            );
            return Err(ErrorData::invalid_request(message, None));
        }
        let task = tokio::spawn({
            let address = address.clone();
            async move {
                watch(&agent, &parsed.target, ready, || async {
                    let update = ResourceUpdatedNotificationParam::new(address.clone());
                    is_gone(peer.notify_resource_updated(update).await.is_err())
                })
                .await;
            }
        });
        if let Some(old) = all.insert(address, task.abort_handle()) {
            old.abort();
        }
        Ok(())
    }

    /// Ends a subscription.
    pub(crate) fn remove(&self, address: &str) {
        if let Some(task) = self.lock().remove(address) {
            task.abort();
        }
    }
}

impl Drop for Subscriptions {
    fn drop(&mut self) {
        self.lock().values().for_each(AbortHandle::abort);
    }
}

const fn is_gone(is_gone: bool) -> ControlFlow<()> {
    if is_gone { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

/// Refuses what does not exist. A file may be created later.
async fn check(agent: &Agent, target: &Target) -> Result<(), ErrorData> {
    match target {
        Target::Output(id, _) => execution(agent, *id).await.map(drop),
        Target::File(_) => Ok(()),
    }
}

/// Serves one `subscriptions/listen` until it is cancelled or nothing can change any more.
pub(crate) async fn listen(
    agent: &Agent,
    workspace: &str,
    context: &SubscriptionContext,
) -> Result<(), ErrorData> {
    let mut watches = JoinSet::new();
    let accepted = context.accepted().resource_subscriptions.clone().unwrap_or_default();
    for address in accepted.into_iter().take(MAX_SUBSCRIPTIONS) {
        let target = ResourceUri::parse(&address, workspace)?.target;
        check(agent, &target).await?;
        let (agent, sink) = (agent.clone(), context.sink().clone());
        watches.spawn(async move {
            watch(&agent, &target, oneshot::channel().0, || async {
                is_gone(sink.notify_resource_updated(address.clone()).await.is_err())
            })
            .await;
        });
    }
    tokio::select! {
        () = context.cancelled() => {}
        () = async { while watches.join_next().await.is_some() {} } => {}
    }
    Ok(())
}

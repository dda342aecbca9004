//! The audit log: who did what, from where, with which result. Rows are added in the background, so that they
//! do not delay the actions that they record.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::http::{Method, StatusCode};
use headwater_store::{AuditRow, Store};
use tokio::time::sleep_until;

use crate::auth::Identity;
use crate::background::Background;
use crate::deferred_writes::tick_after;
use crate::http::rate_limit::Buckets;
use crate::now_ms;

/// A row is written about this long after the action that it records.
const DELAY: Duration = Duration::from_millis(20);
/// The maximum number of characters of a path that are recorded.
const PATH_CHARS: usize = 256;
/// The maximum number of denials from one address that are recorded in a second.
const DENIALS_PER_SECOND: u32 = 10;

/// A request that was denied.
#[derive(Debug)]
pub(crate) struct Denial<'a> {
    pub(crate) who: Option<&'a Identity>,
    pub(crate) address: IpAddr,
    pub(crate) method: &'a Method,
    pub(crate) path: &'a str,
    pub(crate) status: StatusCode,
}

/// Whether a response is a denial. 404 counts: the object may exist and belong to somebody else.
pub(crate) fn is_denial(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::UNAUTHORIZED
            | StatusCode::FORBIDDEN
            | StatusCode::NOT_FOUND
            | StatusCode::MISDIRECTED_REQUEST
            | StatusCode::TOO_MANY_REQUESTS
    )
}

/// The audit log.
#[derive(Debug)]
pub(crate) struct Audit {
    store: Arc<dyn Store>,
    background: Background,
    /// Limits how many denials of each address are recorded.
    denials: Buckets<IpAddr>,
}

impl Audit {
    /// Keeps the audit log in this store.
    pub(crate) fn new(store: Arc<dyn Store>, background: Background) -> Self {
        Self { store, background, denials: Buckets::new(DENIALS_PER_SECOND) }
    }

    /// Records who did what.
    pub(crate) fn record(&self, who: &Identity, action: &'static str, object: String, detail: String) {
        self.append(AuditRow {
            at_ms: now_ms(),
            owner: who.owner.clone(),
            token_id: who.token_id.clone(),
            action: action.to_owned(),
            object,
            address: who.address.to_string(),
            detail,
            result: "ok".to_owned(),
        });
    }

    /// Records an observation of the server about an owner.
    pub(crate) fn record_finding(&self, owner: &str, action: &'static str, object: String, detail: String) {
        self.append(AuditRow {
            at_ms: now_ms(),
            owner: owner.to_owned(),
            token_id: String::new(),
            action: action.to_owned(),
            object,
            address: String::new(),
            detail,
            result: "ok".to_owned(),
        });
    }

    /// Records that a request was denied. The rate is limited, so that denied requests cannot fill the disk.
    pub(crate) fn record_denial(&self, denial: &Denial<'_>) {
        if self.denials.take(denial.address, Instant::now()).is_err() {
            return;
        }
        self.append(AuditRow {
            at_ms: now_ms(),
            owner: denial.who.map_or_else(String::new, |who| who.owner.clone()),
            token_id: denial.who.map_or_else(String::new, |who| who.token_id.clone()),
            action: "request.deny".to_owned(),
            object: denial.path.chars().take(PATH_CHARS).collect(),
            address: denial.address.to_string(),
            detail: format!("method={} status={}", denial.method, denial.status.as_u16()),
            result: "denied".to_owned(),
        });
    }

    fn append(&self, row: AuditRow) {
        let store = Arc::clone(&self.store);
        self.background.tasks.spawn(async move {
            // Together with other rows of the same moment, and after the action that they record.
            sleep_until(tick_after(DELAY)).await;
            if let Err(error) = store.append_audit(&row).await {
                tracing::error!(%error, action = row.action, object = row.object, "an audit row was lost");
            }
        });
    }
}

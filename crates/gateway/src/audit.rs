//! The audit log: who did what, from where, with which result. Rows are added in the background: one never holds up what
//! it tells of.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::http::{Method, StatusCode};
use headwater_store::{AuditRow, Store};
use tokio::time::sleep_until;

use crate::auth::Identity;
use crate::background::Background;
use crate::http::rate_limit::Buckets;
use crate::now_ms;
use crate::store_ticks::tick_after;

/// A row is written so long after what it tells of, or a little later.
const DELAY: Duration = Duration::from_millis(20);
/// So much of a path is kept.
const PATH_CHARS: usize = 256;
/// Denials of one address that are recorded in a second.
const DENIALS_PER_SECOND: u32 = 10;

/// A request that was turned away.
#[derive(Debug)]
pub(crate) struct Denial<'a> {
    pub(crate) who: Option<&'a Identity>,
    pub(crate) address: IpAddr,
    pub(crate) method: &'a Method,
    pub(crate) path: &'a str,
    pub(crate) status: StatusCode,
}

/// Whether an answer turned somebody away: an object that is not there may be another's.
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
    /// Limits the denials of each address that are recorded.
    denials: Buckets<IpAddr>,
}

impl Audit {
    /// An audit log in this store.
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

    /// Notes what the server found by itself about an owner.
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

    /// Notes that somebody was turned away. Of many in one moment only some are noted: the log is not for filling disks.
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
            // With those of the same moment, and out of the way of what they tell of.
            sleep_until(tick_after(DELAY)).await;
            if let Err(error) = store.append_audit(&row).await {
                tracing::error!(%error, action = row.action, object = row.object, "an audit row is lost");
            }
        });
    }
}

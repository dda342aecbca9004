//! Files of a workspace, one at a time: the service.

use std::sync::Arc;

use headwater_contract::v1::files_server::Files as Contract;

use crate::engine::Engine;

/// Answers the contract's calls.
#[derive(Debug)]
pub(crate) struct Files {
    _engine: Arc<Engine>,
}

impl Files {
    pub(crate) const fn new(engine: Arc<Engine>) -> Self {
        Self { _engine: engine }
    }
}

impl Contract for Files {}

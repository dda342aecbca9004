//! Builds: the service.

use std::sync::Arc;

use headwater_contract::v1::builds_server::Builds as Contract;

use crate::engine::Engine;

/// Answers the contract's calls.
#[derive(Debug)]
pub(crate) struct Builds {
    _engine: Arc<Engine>,
}

impl Builds {
    pub(crate) const fn new(engine: Arc<Engine>) -> Self {
        Self { _engine: engine }
    }
}

impl Contract for Builds {}

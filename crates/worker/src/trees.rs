//! Whole trees of a workspace: the service.

use std::sync::Arc;

use headwater_contract::v1::trees_server::Trees as Contract;

use crate::engine::Engine;

/// Answers the contract's calls.
#[derive(Debug)]
pub(crate) struct Trees {
    _engine: Arc<Engine>,
}

impl Trees {
    pub(crate) const fn new(engine: Arc<Engine>) -> Self {
        Self { _engine: engine }
    }
}

impl Contract for Trees {}

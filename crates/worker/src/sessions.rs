//! Sessions: from the pool or a hibernated workspace to their end, and what looks after them in between.

pub(crate) mod adopt;
pub(crate) mod cleanup;
pub(crate) mod create;
pub(crate) mod end;
pub(crate) mod hibernation;
pub(crate) mod hibernation_due;
pub(crate) mod host_users;
pub(crate) mod init_link;
pub(crate) mod janitor;
mod launch;
pub(crate) mod place;
pub(crate) mod pool;
pub(crate) mod session;
pub(crate) mod table;
pub(crate) mod tools;
pub(crate) mod update;

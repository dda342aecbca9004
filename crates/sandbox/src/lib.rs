//! The walls around a session, and init, the first process inside them.
//!
//! [`launch`] starts a session: it runs `headwater init` in the session's cgroup, which builds the [`walls`]
//! around itself, becomes pid 1 and waits for requests on its socket. The worker talks to it over a [`link`];
//! the messages are in [`wire`].
//!
//! This is the only crate with `unsafe`.

pub mod allocator;
pub mod cgroup;
pub mod doctor;
pub mod init;
pub mod launch;
pub mod link;
pub mod orphans;
pub mod project_quota;
pub mod walls;
pub mod wire;

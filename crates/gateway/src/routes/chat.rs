//! Chats of AI SDK front ends: the results that a front end ran itself.

mod executions;

pub(crate) use self::executions::routes;

//! What a conversation and its owner may use.

/// Turns that run at once, in all. Others wait. Turns of sub-agents are not counted: their parents wait for them.
pub(super) const MAX_TURNS: usize = 256;
/// Turns of one owner that run at once.
pub(super) const MAX_TURNS_OF_OWNER: usize = 64;
/// Exports that are made or sent at once, in all. Others wait. Each has several times the bytes of a log in memory.
pub(super) const MAX_EXPORTS: usize = 4;
/// Exports of one owner at once.
pub(super) const MAX_EXPORTS_OF_OWNER: usize = 1;
/// Conversations of one owner.
pub(super) const MAX_CONVERSATIONS: u64 = 10_000;
/// Bytes of a log, without deltas. A longer one takes no more messages.
pub(super) const MAX_LOG_BYTES: u64 = 64 << 20;
/// Messages that wait in one conversation.
pub(super) const MAX_QUEUE: usize = 64;
/// Bytes of the text of a message.
pub(super) const MAX_TEXT_BYTES: usize = 1 << 20;
/// Attachments of a message.
pub(crate) const MAX_ATTACHMENTS: usize = 32;
/// Bytes of the instructions of a conversation.
pub(super) const MAX_INSTRUCTIONS_BYTES: usize = 64 << 10;
/// MCP servers of a conversation.
pub(super) const MAX_MCP_SERVERS: usize = 16;
/// Bytes of their commands and variables.
pub(super) const MAX_MCP_BYTES: usize = 32 << 10;
/// Characters of a title.
pub(super) const MAX_TITLE_CHARS: usize = 200;
/// Characters of a title that a first message gives.
pub(super) const FIRST_TITLE_CHARS: usize = 60;
/// Bytes of the reason of a decision, and of an answer to a question.
pub(super) const MAX_ANSWER_BYTES: usize = 16 << 10;

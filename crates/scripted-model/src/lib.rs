//! A model endpoint that follows a script. It listens on loopback and speaks three dialects: `POST /v1/responses`,
//! `POST /v1/chat/completions` and `POST /v1/messages`; `GET /v1/models` lists one model.
//!
//! # Scripts
//! A script is JSON: a list of turns, or `{"turns": [...], "rules": [...], "key": "..."}`. The first rule that matches the
//! request answers; without one, `turns` of the script do.
//!
//! ```json
//! {
//!   "rules": [{ "when": { "last_user_contains": "weather" }, "turns": [{ "text": "It rains." }] }],
//!   "turns": [
//!     { "text": "I look.", "tool_calls": [{ "name": "exec_command", "arguments": { "cmd": "ls" } }] },
//!     { "text": "There are {{hold}}two files." }
//!   ]
//! }
//! ```
//!
//! - The number of answers in the request selects the turn, so a repeated request gets the same turn, and many
//!   conversations can use one endpoint. Everything between two messages or results counts as one answer. A rule with
//!   `last_user_contains` counts only the answers after that message. A turn that does not exist is an error (400,
//!   `script_ended`).
//! - Conditions of `when`, all of which must be true: `last_user_contains`, `first_user_contains`, `system_contains`,
//!   `last_result_contains`, `has_tool`, `model`. An empty `when` matches everything.
//! - `key`: requests without this key get 401.
//! - `title`: the turn for the title that the agent asks for after the first answer, in a request of its own. Without it
//!   these requests get an empty answer, which changes nothing, and are not recorded.
//!
//! # Turns
//! Reasoning, searches, text and tool calls come in this order; all are optional.
//!
//! | field | |
//! | --- | --- |
//! | `text`, `reasoning` | sent word by word, or in pieces of `delta_chars` characters |
//! | `searches` | `[{query, pages: {URL: title}}]`: searches of the provider, unless the API is chat completions. The text cites their pages |
//! | `tool_calls` | `[{id?, name, arguments}]`; arguments are JSON, or a text that is sent as it is. Without an `id` one is made up; with `"id": ""` none is sent |
//! | `usage` | `{input_tokens, cached_tokens, output_tokens, cost}` |
//! | `finish` | `stop`, `tool_calls`, `length` or `content_filter`; by default the first two, as it fits |
//! | `chunk_bytes` | cuts the bytes on the wire into pieces of this size |
//! | `delay_ms` | waits after each piece |
//! | `hold` | waits before the first byte until `POST /control/release` |
//! | `fail` | `{status, message?, retry_after?, headers?, times?}`: an error instead, `times` times (1) in each conversation |
//! | `break_after_bytes`, `break_times` | cuts the connection after this many bytes of the body, `break_times` times (1) in each conversation |
//! | `error` | an error inside the stream, after the text |
//! | `is_plain` | plain JSON, even if a stream was asked for; also if the request says `"stream": false` |
//! | `raw` | these bytes instead of an answer |
//!
//! `{{hold}}` in a text, in reasoning or in arguments waits there for a release. `{{now_ms}}` becomes the time at which the
//! piece is sent, in milliseconds since 1970, and `{{now_us}}` the same in microseconds.
//!
//! # Control
//! - `POST /control/release` releases what waits. It waits up to 30 s for something to wait, and returns
//!   `{"released": N}`.
//! - `GET /control/requests` returns the last 1000 requests: `[{path, headers (names), body, at_ms}]`.
//! - `PUT /control/script` replaces the script and forgets how often turns have failed.
//!
//! The binary takes a file or JSON text and prints its address: `scripted-model SCRIPT [--port N]`.

mod answer;
mod dialect;
mod gate;
mod pieces;
mod request;
mod script;
mod server;
mod state;

pub use script::{Call, Failure, Finish, Rule, Script, Search, Turn, Usage, When};
pub use server::ScriptedModel;
pub use state::Recorded;

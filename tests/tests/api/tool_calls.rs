//! Calls of the tool `code_execution`.

use anyhow::Result;
use headwater_tests::Api;
use headwater_tests::http::json_of;
use serde_json::Value;

pub(crate) const CODE: &str = "/v1/tools/code_execution";

/// Calls the tool; its result.
pub(crate) async fn call(api: &Api, body: &Value) -> Result<Value> {
    json_of(&api.post(CODE, body).await?, 200)
}

/// The text of all output events of a source.
pub(crate) fn text_of(events: &[Value], source: &str) -> String {
    let key = if source == "stdout" { "stdout" } else { "stderr" };
    let of_source =
        events.iter().map(|event| &event["payload"]).filter(|payload| payload["source"] == source);
    of_source.filter_map(|payload| payload[key].as_str()).collect()
}

/// A shell command that waits until the file exists.
pub(crate) fn waits_for(file: &str) -> String {
    format!("while [ ! -e {file} ]; do sleep 0.05; done")
}

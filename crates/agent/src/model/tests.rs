//! Tests of models, and what they share.

mod cuts;
mod endpoint;
mod exports;
mod refusals;
mod requests;
mod secrets;

use std::collections::BTreeMap;

use futures_util::StreamExt;
use headwater_protocol::conversation::ModelUsage;
use headwater_scripted_model::ScriptedModel;
use serde_json::Value;

use super::decoding::{CallIds, Decoder, Decoding};
use super::fault::Fault;
use super::*;

pub(super) const APIS: [Api; 3] = [Api::Chat, Api::Responses, Api::Messages];

/// A model whose endpoint is at this address.
pub(super) fn config(api: Api, base_url: &str) -> ModelConfig {
    ModelConfig {
        api,
        base_url: base_url.to_owned(),
        model: "scripted".to_owned(),
        api_key_env: None,
        api_key_file: None,
        default: false,
        context_tokens: None,
        max_output_tokens: None,
        headers: BTreeMap::new(),
    }
}

pub(super) async fn scripted(script: Value) -> ScriptedModel {
    ScriptedModel::start(script.to_string().parse().unwrap()).await.unwrap()
}

/// A prompt with this message.
pub(super) fn prompt(text: &str) -> Prompt {
    let items = vec![Item::User(vec![Content::Text(text.to_owned())])];
    Prompt { system: "Be brief.".to_owned(), items, ..Prompt::default() }
}

/// An answer as it is stored: one line for each part, what it used, and its end.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Stored {
    pub(super) parts: Vec<String>,
    pub(super) notices: Vec<String>,
    pub(super) usage: Option<ModelUsage>,
    pub(super) finish: Option<FinishReason>,
}

/// Joins the deltas. Panics if the events are in no valid order.
pub(super) fn stored(events: impl IntoIterator<Item = ModelEvent>) -> Stored {
    let (mut stored, mut open) = (Stored::default(), BTreeMap::<u32, String>::new());
    let mut ended = BTreeMap::new();
    for event in events {
        assert_eq!(stored.finish, None, "the last event is the last");
        let (part, text) = match event {
            ModelEvent::Text { part, delta } => (part, ("text: ", delta)),
            ModelEvent::Reasoning { part, delta } => (part, ("reasoning: ", delta)),
            ModelEvent::Opaque { part, opaque } => (part, ("", format!(" {opaque}"))),
            ModelEvent::ToolCall { part, id, name } => {
                assert!(!open.contains_key(&part), "a call begins its part");
                (part, ("", format!("{} {name} ", if id.len() == 21 { "made-up" } else { &id })))
            }
            ModelEvent::Arguments { part, delta } => {
                assert!(open.contains_key(&part), "the arguments of a call follow it");
                (part, ("", delta))
            }
            ModelEvent::PartEnded { part } => {
                ended.insert(part, open.remove(&part).expect("a part that has begun"));
                continue;
            }
            ModelEvent::Notice { text } => {
                stored.notices.push(text);
                continue;
            }
            ModelEvent::Usage(usage) => {
                stored.usage = Some(usage);
                continue;
            }
            ModelEvent::Finished(finish) => {
                stored.finish = Some(finish);
                continue;
            }
        };
        assert!(!ended.contains_key(&part), "nothing follows the end of a part");
        open.entry(part).or_insert_with(|| text.0.to_owned()).push_str(&text.1);
    }
    assert!(open.is_empty() || stored.finish.is_none(), "every part ends: {open:?}");
    ended.extend(open);
    stored.parts = ended.into_values().collect();
    stored
}

pub(super) fn decoder(api: Api) -> Box<dyn Decoder> {
    let ids = CallIds::default();
    match api {
        Api::Chat => Box::new(chat::ChatDecoder::new(ids)),
        Api::Responses => Box::new(responses::ResponsesDecoder::new(ids, "m")),
        Api::Messages => Box::new(messages::MessagesDecoder::new(ids, "m")),
    }
}

/// Decodes a response that comes in these pieces.
pub(super) fn decode<'a>(api: Api, pieces: impl IntoIterator<Item = &'a [u8]>) -> (Stored, Option<Fault>) {
    let (mut decoding, mut events) = (Decoding::new(decoder(api)), Vec::new());
    let result = pieces.into_iter().try_for_each(|piece| {
        if decoding.is_finished() { Ok(()) } else { decoding.push(piece.to_vec().into(), &mut events) }
    });
    let result =
        result.and_then(|()| if decoding.is_finished() { Ok(()) } else { decoding.end(&mut events) });
    (stored(events), result.err())
}

/// Calls a model and reads its answer to the end.
pub(super) async fn ask(model: &Provider, prompt: &Prompt) -> (Stored, Option<ModelError>) {
    let mut stream = match model.call(prompt).await {
        Ok(stream) => stream,
        Err(error) => return (Stored::default(), Some(error)),
    };
    let (mut events, mut error) = (Vec::new(), None);
    while let Some(next) = stream.next().await {
        assert!(error.is_none(), "nothing follows an error");
        match next {
            Ok(event) => events.push(event),
            Err(cause) => error = Some(cause),
        }
    }
    (stored(events), error)
}

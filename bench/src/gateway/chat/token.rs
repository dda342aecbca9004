//! The time of a token on its way from the model to a client: through the log of a conversation, durable in the store; and
//! to a client that asks the model itself. Each token is the time at which the model sends it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use memchr::memchr;
use serde_json::{Value, json};

use super::{Chat, conversation, follow, on, send};
use crate::bench_worker::Effort;
use crate::gateway::http::Http;
use crate::report::{Goal, Report};
use crate::stats::Samples;

/// Tokens of one answer.
const TOKENS: usize = 25;
/// The pause after each piece: a token, or the space after it.
const PAUSE_MS: u64 = 5;
/// What makes the model answer.
const WORD: &str = "tokens";

/// Runs the benchmark.
pub async fn measure(effort: Effort) -> Result<Report> {
    let rounds = effort.pick(20, 5);
    let turn = json!({ "text": "{{now_us}} ".repeat(TOKENS), "delay_ms": PAUSE_MS });
    let chat = Chat::start(&json!([on(WORD, &json!([turn]))])).await?;
    let mut http = chat.site.http().await?;
    let path = conversation(&mut http).await?;
    let mut log = chat.site.http().await?;
    follow(&mut log, &path).await?;
    let (mut ours, mut floor) = (Tokens::default(), Tokens::default());
    for round in 0..=rounds {
        if round == 1 {
            // The first round was for warming up.
            (ours.samples, floor.samples) = (Samples::default(), Samples::default());
        }
        send(&mut http, &path, WORD).await?;
        ours.read(&mut log).await?;
        floor.read(&mut asked(&chat).await?).await?;
    }
    let tokens = ours.samples.len();
    let mut report =
        Report::new("chat_token", format!("a token from the model to a client, {tokens} tokens"));
    report.times("from the model itself", &floor.samples);
    report.times("through the log of a conversation", &ours.samples);
    let (ours, floor) = (ours.samples.spread(), floor.samples.spread());
    report.value("what we add, p50", (ours.p50 - floor.p50) / 1000.0, "ms");
    report.value("what we add, p95", (ours.p95 - floor.p95) / 1000.0, "ms");
    report.ratio("p50 beside the model itself", ours.p50 / floor.p50, Goal::None);
    report.ratio("p95 beside the model itself", ours.p95 / floor.p95, Goal::None);
    Ok(report)
}

/// A connection on which the model answers.
async fn asked(chat: &Chat) -> Result<Http> {
    let mut http = Http::connect(chat.model.address(), "Bearer none").await?;
    let messages = json!([{ "role": "user", "content": WORD }]);
    let body = json!({ "model": "scripted", "stream": true, "messages": messages }).to_string();
    http.stream("POST", "/v1/chat/completions", "", &body).await?;
    Ok(http)
}

/// Tokens that a client has read, and how old each was.
#[derive(Debug, Default)]
struct Tokens {
    samples: Samples,
    line: Vec<u8>,
}

impl Tokens {
    /// Reads the tokens of one answer.
    async fn read(&mut self, http: &mut Http) -> Result<()> {
        let all = self.samples.len() + TOKENS;
        while self.samples.len() < all {
            let piece = http.piece().await?.context("the stream ended before the last token")?;
            let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
            self.push(piece, now);
        }
        Ok(())
    }

    fn push(&mut self, mut piece: &[u8], now: Duration) {
        while let Some(end) = memchr(b'\n', piece) {
            self.line.extend_from_slice(&piece[..end]);
            piece = &piece[end + 1..];
            let text = text_of(&self.line).unwrap_or_default();
            for sent in text.split_whitespace().filter_map(|token| token.parse().ok()) {
                self.samples.add(now.saturating_sub(Duration::from_micros(sent)));
            }
            self.line.clear();
        }
        self.line.extend_from_slice(piece);
    }
}

/// The text that a line of a stream adds: of the log, or of the model.
fn text_of(line: &[u8]) -> Option<String> {
    let data: Value = serde_json::from_slice(line.strip_prefix(b"data: ")?).ok()?;
    let text =
        if data["type"] == "text_delta" { &data["text"] } else { &data["choices"][0]["delta"]["content"] };
    text.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_found_in_both_streams_wherever_they_are_cut() {
        let log = "id: 7\nevent: entry\ndata: {\"seq\":7,\"type\":\"text_delta\",\"text\":\"100 200 \"}\n\n\
            data: {\"seq\":8,\"type\":\"text_ended\",\"text\":\"100 200 \"}\n\n";
        let model = "data: {\"choices\":[{\"delta\":{\"content\":\"100\"}}]}\n\n\
            data: {\"choices\":[{\"delta\":{\"content\":\" 200\"}}]}\n\ndata: [DONE]\n\n";
        for stream in [log, model] {
            for size in 1..=stream.len() {
                let mut tokens = Tokens::default();
                stream
                    .as_bytes()
                    .chunks(size)
                    .for_each(|piece| tokens.push(piece, Duration::from_micros(300)));
                let spread = tokens.samples.spread();
                assert_eq!((tokens.samples.len(), spread.min.round(), spread.p99.round()), (2, 100.0, 200.0));
            }
        }
    }
}

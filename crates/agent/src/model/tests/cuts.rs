//! Wherever the bytes of an answer are cut, the stored answer is the same.

use std::fmt::Write as _;

use proptest::prelude::*;

use super::*;

/// Chat completions with everything that endpoints do: reasoning under two names, interleaved arguments of parallel
/// calls, a call without index and id, CRLF, comments, usage in the last event.
const CHAT: &str = concat!(
    ": hello\r\n\r\n",
    "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":null}]}\r\n\r\n",
    "data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"Hm, \"}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"reasoning\":\"größer\"}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"content\":\"I lo\"}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"content\":\"ok: 🦀\"}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"ls\",\"arguments\":\"\"}}]}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":1,\"function\":{\"arguments\":\"{\\\"y\\\"\"}}]}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"\",\"function\":{\"arguments\":\"{\\\"x\\\":\"}}]}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":1,\"id\":\"b\",\"function\":{\"name\":\"cat\"}}]}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"1}\"}},{\"index\":1,\"function\":{\"arguments\":\":2}\"}}]}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"function\":{\"name\":\"pwd\"}}]},\"finish_reason\":\"stop\"}]}\n\n",
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":4,\"cost\":0.5,\"prompt_tokens_details\":{\"cached_tokens\":3}}}\n\n",
    "data: [DONE]\n\n",
    "data: what follows is ignored\n\n",
);

/// Chat completions of a small local model.
const THINK: &str = concat!(
    "data: {\"choices\":[{\"delta\":{\"content\":\"<th\"}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"content\":\"ink>\\na < b</th\"}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"content\":\"ink>\\n\\nyes\"},\"finish_reason\":\"length\"}]}\n\n",
    "data: [DONE]\n\n",
);

/// Responses: two summaries, a message, two calls of which one has no deltas, an unknown event.
const RESPONSES: &str = concat!(
    "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"output\":[]}}\n\n",
    "data: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"type\":\"reasoning\",\"summary\":[]}}\n\n",
    "data: {\"type\":\"response.reasoning_summary_part.added\",\"output_index\":0,\"summary_index\":0}\n\n",
    "data: {\"type\":\"response.reasoning_summary_text.delta\",\"output_index\":0,\"delta\":\"One\"}\n\n",
    "data: {\"type\":\"response.reasoning_summary_part.added\",\"output_index\":0,\"summary_index\":1}\n\n",
    "data: {\"type\":\"response.reasoning_summary_text.delta\",\"output_index\":0,\"delta\":\"Zwölf\"}\n\n",
    "data: {\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":{\"type\":\"reasoning\",\"encrypted_content\":\"E\",\"summary\":[{\"text\":\"One\"},{\"text\":\"Zwölf\"}]}}\n\n",
    "data: {\"type\":\"response.output_item.added\",\"output_index\":1,\"item\":{\"type\":\"message\",\"content\":[]}}\n\n",
    "data: {\"type\":\"response.output_text.delta\",\"output_index\":1,\"delta\":\"I look\"}\n\n",
    "data: {\"type\":\"response.output_item.done\",\"output_index\":1,\"item\":{\"type\":\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"I look.\"}]}}\n\n",
    "data: {\"type\":\"response.brand_new\",\"x\":1}\n\n",
    "data: {\"type\":\"response.output_item.added\",\"output_index\":2,\"item\":{\"type\":\"function_call\",\"call_id\":\"a\",\"name\":\"ls\",\"arguments\":\"\"}}\n\n",
    "data: {\"type\":\"response.function_call_arguments.delta\",\"output_index\":2,\"delta\":\"{\\\"x\\\":\"}\n\n",
    "data: {\"type\":\"response.function_call_arguments.delta\",\"output_index\":2,\"delta\":\"1}\"}\n\n",
    "data: {\"type\":\"response.output_item.done\",\"output_index\":2,\"item\":{\"type\":\"function_call\",\"call_id\":\"a\",\"name\":\"ls\",\"arguments\":\"{\\\"x\\\":1}\"}}\n\n",
    "data: {\"type\":\"response.completed\",\"response\":{\"output\":[{\"type\":\"reasoning\"},{\"type\":\"message\"},{\"type\":\"function_call\"},{\"type\":\"function_call\",\"call_id\":\"b\",\"name\":\"pwd\",\"arguments\":\"\"}],\"usage\":{\"input_tokens\":9,\"input_tokens_details\":{\"cached_tokens\":3},\"output_tokens\":4}}}\n\n",
);

/// Messages: thinking with a signature, redacted thinking, text, two calls of which one has no arguments.
const MESSAGES: &str = concat!(
    "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":4,\"cache_read_input_tokens\":3,\"cache_creation_input_tokens\":2,\"output_tokens\":1}}}\n\n",
    "event: ping\ndata: {\"type\":\"ping\"}\n\n",
    "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}}\n\n",
    "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"Hm, grö\"}}\n\n",
    "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"ßer\"}}\n\n",
    "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"signature_delta\",\"signature\":\"S\"}}\n\n",
    "data: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
    "data: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"redacted_thinking\",\"data\":\"R\"}}\n\n",
    "data: {\"type\":\"content_block_stop\",\"index\":1}\n\n",
    "data: {\"type\":\"content_block_start\",\"index\":2,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
    "data: {\"type\":\"content_block_delta\",\"index\":2,\"delta\":{\"type\":\"text_delta\",\"text\":\"I \"}}\n\n",
    "data: {\"type\":\"content_block_delta\",\"index\":2,\"delta\":{\"type\":\"text_delta\",\"text\":\"look 🦀\"}}\n\n",
    "data: {\"type\":\"content_block_stop\",\"index\":2}\n\n",
    "data: {\"type\":\"content_block_start\",\"index\":3,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
    "data: {\"type\":\"content_block_stop\",\"index\":3}\n\n",
    "data: {\"type\":\"content_block_start\",\"index\":4,\"content_block\":{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"ls\",\"input\":{}}}\n\n",
    "data: {\"type\":\"content_block_delta\",\"index\":4,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"x\\\":\"}}\n\n",
    "data: {\"type\":\"content_block_delta\",\"index\":4,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"1}\"}}\n\n",
    "data: {\"type\":\"content_block_stop\",\"index\":4}\n\n",
    "data: {\"type\":\"content_block_start\",\"index\":5,\"content_block\":{\"type\":\"tool_use\",\"id\":\"b\",\"name\":\"pwd\",\"input\":{}}}\n\n",
    "data: {\"type\":\"content_block_stop\",\"index\":5}\n\n",
    "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{\"output_tokens\":4}}\n\n",
    "data: {\"type\":\"message_stop\"}\n\n",
);

#[allow(clippy::unnecessary_wraps, reason = "as `Stored` has it")]
fn used(cost_usd: Option<f64>) -> Option<ModelUsage> {
    Some(ModelUsage { input_tokens: 9, cached_tokens: 3, output_tokens: 4, cost_usd })
}

/// Each answer with what is stored of it.
fn answers() -> [(Api, &'static str, Stored); 4] {
    let stored = |parts: &[&str], usage, finish| Stored {
        notices: Vec::new(),
        parts: parts.iter().map(ToString::to_string).collect(),
        usage,
        finish: Some(finish),
    };
    let chat =
        ["reasoning: Hm, größer", "text: I look: 🦀", "a ls {\"x\":1}", "b cat {\"y\":2}", "made-up pwd {}"];
    let responses = [
        "reasoning: One\n\nZwölf {\"encrypted_content\":\"E\",\"model\":\"m\"}",
        "text: I look.",
        "a ls {\"x\":1}",
        "b pwd {}",
    ];
    let messages = [
        "reasoning: Hm, größer {\"model\":\"m\",\"signature\":\"S\"}",
        "reasoning:  {\"model\":\"m\",\"redacted\":\"R\"}",
        "text: I look 🦀",
        "a ls {\"x\":1}",
        "b pwd {}",
    ];
    let calls = FinishReason::ToolCalls;
    [
        (Api::Chat, CHAT, stored(&chat, used(Some(0.5)), calls)),
        (Api::Chat, THINK, stored(&["reasoning: \na < b", "text: yes"], None, FinishReason::Length)),
        (Api::Responses, RESPONSES, stored(&responses, used(None), calls)),
        (Api::Messages, MESSAGES, stored(&messages, used(None), calls)),
    ]
}

#[test]
fn a_text_that_citations_cut_in_pieces_is_one_text() {
    let (mut out, texts) = (String::new(), ["He was born ", "in 1916", ", in Petoskey."]);
    for (index, text) in texts.iter().enumerate() {
        let citation = serde_json::json!({"url": "https://example.org/", "title": "He"});
        for data in [
            serde_json::json!({"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": ""}}),
            serde_json::json!({"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": text}}),
            serde_json::json!({"type": "content_block_delta", "index": index, "delta": {"type": "citations_delta", "citation": citation}}),
            serde_json::json!({"type": "content_block_stop", "index": index}),
        ] {
            let _ = write!(out, "data: {data}\n\n");
        }
    }
    out += "data: {\"type\":\"message_stop\"}\n\n";
    let (stored, fault) = decode(Api::Messages, out.as_bytes().chunks(7));
    assert_eq!(fault, None);
    assert_eq!(stored.parts[0], format!("text: {}", texts.concat()));
    assert_eq!(stored.parts[1], "text: Sources:\n\n- [He](<https://example.org/>)");
}

#[test]
fn an_answer_is_the_same_whether_it_comes_at_once_byte_by_byte_or_cut_anywhere_in_two() {
    for (api, text, expected) in answers() {
        let bytes = text.as_bytes();
        assert_eq!(decode(api, [bytes]), (expected.clone(), None));
        assert_eq!(decode(api, bytes.chunks(1)), (expected.clone(), None));
        for cut in 0..bytes.len() {
            assert_eq!(
                decode(api, [&bytes[..cut], &bytes[cut..]]),
                (expected.clone(), None),
                "{api:?} {cut}"
            );
        }
    }
}

proptest! {
    #[test]
    fn the_stored_answer_is_the_same_wherever_the_stream_is_cut(
        answer in 0_usize..4,
        sizes in proptest::collection::vec(1_usize..90, 1..60),
    ) {
        let (api, text, expected) = answers()[answer].clone();
        let (mut rest, mut pieces) = (text.as_bytes(), Vec::new());
        for size in sizes.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, more) = rest.split_at((*size).min(rest.len()));
            pieces.push(piece);
            rest = more;
        }
        prop_assert_eq!(decode(api, pieces), (expected, None));
    }

    #[test]
    fn an_answer_that_breaks_off_anywhere_is_a_beginning_of_the_whole_and_never_complete(
        answer in 0_usize..4,
        part in 0.0_f64..1.0,
    ) {
        let (api, text, expected) = answers()[answer].clone();
        // Before the last event that could complete it.
        let end = text.rfind("data: {").unwrap_or(0);
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
        let cut = (end as f64 * part) as usize;
        let (stored, fault) = decode(api, [&text.as_bytes()[..cut]]);
        if stored.finish.is_none() {
            prop_assert_eq!(fault.map(|fault| fault.kind), Some(ModelErrorKind::BrokenOff));
        }
        for part in &stored.parts {
            prop_assert!(expected.parts.iter().any(|whole| whole.starts_with(part.trim_end())), "{part}");
        }
    }

    #[test]
    fn no_bytes_at_all_make_a_decoder_panic(
        api in 0_usize..3,
        pieces in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..20),
        prefix in prop_oneof![Just(""), Just("data: {\"choices\":[{\"delta\":"), Just("data: ")],
    ) {
        let all = std::iter::once(prefix.as_bytes()).chain(pieces.iter().map(Vec::as_slice));
        decode(APIS[api], all.collect::<Vec<_>>());
    }
}

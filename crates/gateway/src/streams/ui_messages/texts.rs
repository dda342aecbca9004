//! The texts that the client has and that are not complete.

use headwater_protocol::conversation::{MessageId, TextPart};

use super::chunk::Chunk;
use super::encoder::Output;

/// A text that is not complete.
#[derive(Debug)]
struct Open {
    /// The id of its chunks: that of its message and of its part.
    id: String,
    reasoning: bool,
    /// How many bytes of it the client has.
    sent: usize,
}

/// All of them, in the order in which they began. There are rarely more than two.
#[derive(Debug, Default)]
pub(super) struct Texts(Vec<Open>);

impl Texts {
    /// Whether all texts are complete.
    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Forgets all: the client has removed their step.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// A text begins.
    pub(super) fn start(
        &mut self,
        message: &MessageId,
        part: &str,
        reasoning: bool,
        out: &mut Vec<Output>,
    ) -> usize {
        let id = chunk_id(message, part);
        if let Some(at) = self.find(&id) {
            self.close(at, out);
        }
        out.push(Chunk::part_start(reasoning, id.clone()).into());
        self.0.push(Open { id, reasoning, sent: 0 });
        self.0.len() - 1
    }

    /// A text goes on.
    pub(super) fn more(&mut self, message: &MessageId, part: &str, text: &str, out: &mut Vec<Output>) {
        if let Some(at) = self.find(&chunk_id(message, part)) {
            self.send(at, text, out);
        }
    }

    /// A text is complete. Deltas before its end may have been removed from the log: the client gets the rest.
    pub(super) fn end(
        &mut self,
        message: &MessageId,
        part: &str,
        reasoning: bool,
        text: &str,
        out: &mut Vec<Output>,
    ) {
        let open = self.find(&chunk_id(message, part));
        let at = open.unwrap_or_else(|| self.start(message, part, reasoning, out));
        self.send(at, text.get(self.0[at].sent..).unwrap_or_default(), out);
        self.close(at, out);
    }

    /// A text as it is now.
    pub(super) fn part(
        &mut self,
        message: &MessageId,
        text: &TextPart,
        reasoning: bool,
        out: &mut Vec<Output>,
    ) {
        let at = self.start(message, &text.part_id, reasoning, out);
        self.send(at, &text.text, out);
        if !text.is_streaming {
            self.close(at, out);
        }
    }

    /// Ends the texts that are left.
    pub(super) fn end_all(&mut self, out: &mut Vec<Output>) {
        while !self.0.is_empty() {
            self.close(0, out);
        }
    }

    fn find(&self, id: &str) -> Option<usize> {
        self.0.iter().position(|open| open.id == id)
    }

    fn send(&mut self, at: usize, text: &str, out: &mut Vec<Output>) {
        let open = &mut self.0[at];
        if !text.is_empty() {
            open.sent += text.len();
            out.push(Chunk::part_delta(open.reasoning, open.id.clone(), text.to_owned()).into());
        }
    }

    fn close(&mut self, at: usize, out: &mut Vec<Output>) {
        let Open { id, reasoning, .. } = self.0.remove(at);
        out.push(Chunk::part_end(reasoning, id).into());
    }
}

fn chunk_id(message: &MessageId, part: &str) -> String {
    format!("{message}/{part}")
}

//! Counting the output bytes in a stream of events without parsing JSON: the texts of these benchmarks
//! contain no quotes and no backslashes, so every backslash in an event stands for one byte together with the
//! next letter.

/// A count over the chunks of a stream.
#[derive(Debug)]
pub struct TextCount {
    /// Bytes of text so far.
    pub bytes: u64,
    /// The bytes before a text.
    before: &'static [u8],
    /// Whether the last chunk ended inside a text; otherwise how much of `before` it ended with.
    inside: bool,
    matched: usize,
}

impl Default for TextCount {
    fn default() -> Self {
        Self::after("\"text\":\"")
    }
}

impl TextCount {
    /// Counts the texts that follow `before`.
    pub const fn after(before: &'static str) -> Self {
        Self { bytes: 0, before: before.as_bytes(), inside: false, matched: 0 }
    }

    /// Adds a chunk.
    pub fn push(&mut self, mut piece: &[u8]) {
        while !piece.is_empty() {
            if self.inside {
                let end = memchr::memchr(b'"', piece);
                let text = &piece[..end.unwrap_or(piece.len())];
                self.bytes += (text.len() - memchr::memchr_iter(b'\\', text).count()) as u64;
                self.inside = end.is_none();
                piece = end.map_or(&[], |end| &piece[end + 1..]);
            } else {
                let end = self.find_text(piece);
                self.inside = end.is_some();
                piece = end.map_or(&[], |end| &piece[end..]);
            }
        }
    }

    /// The position where a text begins.
    fn find_text(&mut self, piece: &[u8]) -> Option<usize> {
        for (at, byte) in piece.iter().enumerate() {
            self.matched = match self.before.get(self.matched) {
                Some(next) if next == byte => self.matched + 1,
                _ => usize::from(self.before.first() == Some(byte)),
            };
            if self.matched == self.before.len() {
                self.matched = 0;
                return Some(at + 1);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str = "retry: 1000\n\nid: 1\nevent: started\ndata: {\"type\":\"started\",\"pid\":7}\n\n\
        id: 2\nevent: stdout\ndata: {\"type\":\"stdout\",\"offset\":0,\"text\":\"one\\ntwo\\n\"}\n\n: hb\n\n\
        id: 3\nevent: stdout\ndata: {\"type\":\"stdout\",\"offset\":8,\"text\":\"three\\n\"}\n\n";

    #[test]
    fn bytes_are_counted_wherever_the_stream_is_cut() {
        for size in 1..=STREAM.len() {
            let mut count = TextCount::default();
            STREAM.as_bytes().chunks(size).for_each(|piece| count.push(piece));
            assert_eq!(count.bytes, "one\ntwo\nthree\n".len() as u64, "pieces of {size}");
        }
    }
}

//! The response of the editor's `read`, written while it is sent: the file is read in chunks, never as a
//! whole.
//!
//! `content` comes first, with U+FFFD in place of invalid UTF-8. The file is read a second time, for
//! `base64`, only if it was not valid UTF-8.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use headwater_contract::{FileReader, v1};
use headwater_protocol::api::Timestamp;
use serde_json::json;

use crate::error::ApiError;
use crate::http::json_stream::{Parts, Source};
use crate::routes::files::quoted;
use crate::state::Gateway;

/// The next part of the response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Begin,
    Content,
    Base64,
}

/// A file that is read into a response.
pub(crate) struct FileResponse {
    gateway: Arc<Gateway>,
    request: v1::ReadFileRequest,
    path: String,
    reader: FileReader,
    stage: Stage,
    /// Bytes to be completed by the next chunk: part of a character, or of a group of three for base64.
    carried: Vec<u8>,
    is_text: bool,
}

impl FileResponse {
    /// The response for the file that `request` opened; `path` is the path as the client sent it.
    pub(crate) fn new(
        gateway: &Arc<Gateway>,
        request: v1::ReadFileRequest,
        path: String,
        reader: FileReader,
    ) -> Self {
        let gateway = Arc::clone(gateway);
        Self { gateway, request, path, reader, stage: Stage::Begin, carried: Vec::new(), is_text: true }
    }

    fn end(&self, parts: &mut Parts) -> Result<bool, ApiError> {
        let entry = self.reader.entry();
        let rest = json!({
            "size": entry.size,
            "modified": Timestamp(entry.modified_at_ms),
            "etag": quoted(&entry.etag),
        });
        parts.json("\",");
        parts.fields(&rest)?;
        parts.json("}");
        Ok(false)
    }

    async fn content(&mut self, parts: &mut Parts) -> Result<bool, ApiError> {
        let chunk = self.reader.next().await?;
        let (text, is_text) = decode(&mut self.carried, chunk.as_ref());
        parts.text(text);
        self.is_text &= is_text;
        if chunk.is_some() {
            return Ok(true);
        }
        if self.is_text {
            return self.end(parts);
        }
        // The same version, or an error: both fields must describe the same content.
        self.request.etag = Some(self.reader.entry().etag.clone());
        self.reader = self.gateway.worker.read_file(self.request.clone()).await?;
        parts.json("\",\"base64\":\"");
        self.stage = Stage::Base64;
        Ok(true)
    }

    async fn base64(&mut self, parts: &mut Parts) -> Result<bool, ApiError> {
        let Some(chunk) = self.reader.next().await? else {
            parts.json(STANDARD.encode(&self.carried));
            return self.end(parts);
        };
        self.carried.extend_from_slice(&chunk);
        let rest = self.carried.split_off(self.carried.len() / 3 * 3);
        parts.json(STANDARD.encode(std::mem::replace(&mut self.carried, rest)));
        Ok(true)
    }
}

impl Source for FileResponse {
    async fn more(&mut self, parts: &mut Parts) -> Result<bool, ApiError> {
        match self.stage {
            Stage::Begin => {
                parts.json("{\"path\":");
                parts.value(&self.path)?;
                parts.json(",\"content\":\"");
                self.stage = Stage::Content;
                Ok(true)
            }
            Stage::Content => self.content(parts).await,
            Stage::Base64 => self.base64(parts).await,
        }
    }
}

/// The text of these bytes after the carried ones, and whether it is exact. No bytes mean the end of the
/// file.
fn decode(carried: &mut Vec<u8>, chunk: Option<&Bytes>) -> (String, bool) {
    let Some(chunk) = chunk else {
        let is_text = carried.is_empty();
        carried.clear();
        return (if is_text { String::new() } else { char::REPLACEMENT_CHARACTER.to_string() }, is_text);
    };
    let bytes = [std::mem::take(carried).as_slice(), chunk].concat();
    let (mut text, mut rest, mut is_text) = (String::with_capacity(bytes.len()), bytes.as_slice(), true);
    loop {
        let error = match std::str::from_utf8(rest) {
            Ok(all) => {
                text.push_str(all);
                return (text, is_text);
            }
            Err(error) => error,
        };
        let (good, bad) = rest.split_at(error.valid_up_to());
        text.push_str(&String::from_utf8_lossy(good));
        let Some(length) = error.error_len() else {
            *carried = bad.to_vec();
            return (text, is_text);
        };
        text.push(char::REPLACEMENT_CHARACTER);
        is_text = false;
        rest = bad.get(length..).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_the_same_wherever_it_is_cut() {
        for whole in ["aä€😀z".as_bytes(), b"a\xffb\xe2\x82", b"\xf0\x9f\x98", b"", b"\xe4\xe4\xc3\xa4"]
        {
            for cut in 0..=whole.len() {
                let (mut carried, mut text, mut is_text) = (Vec::new(), String::new(), true);
                let (one, two) = whole.split_at(cut);
                for chunk in [Some(Bytes::copy_from_slice(one)), Some(Bytes::copy_from_slice(two)), None] {
                    let (more, exact) = decode(&mut carried, chunk.as_ref());
                    text += &more;
                    is_text &= exact;
                }
                assert_eq!(text, String::from_utf8_lossy(whole), "{whole:?} at {cut}");
                assert_eq!(is_text, std::str::from_utf8(whole).is_ok());
            }
        }
    }
}

//! Calls for files of a workspace. Paths are bytes and need not be UTF-8.

use bytes::Bytes;
use headwater_protocol::SessionId;
use headwater_protocol::api::{
    CopyBody, FileBody, MoveRequest, PageBody, PathEncoding, PathRequest, percent_encoded,
};
use reqwest::header::{IF_MATCH, IF_NONE_MATCH, RANGE};
use reqwest::{Body, Method, Url};

use crate::Result;
use crate::client::Client;
use crate::http::{CALL_TIMEOUT, json_body};
use crate::output::{ByteRange, Output};

/// Where a write puts its bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WriteAt {
    /// Replaces the file atomically.
    #[default]
    Whole,
    /// Appends to the file.
    End,
    /// Overwrites the file from this byte on.
    Byte(u64),
}

/// The condition of a write.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum WriteIf {
    /// No condition.
    #[default]
    Always,
    /// The file must not exist.
    New,
    /// The file must have this tag ([`FileBody::etag`]).
    Tag(String),
}

/// Which part of a folder to list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListOptions {
    /// 1 lists the folder, 2 its subfolders too, and so on.
    pub depth: Option<u32>,
    /// The maximum number of items on a page.
    pub limit: Option<u32>,
    /// The cursor of the page.
    pub cursor: Option<String>,
}

impl Client {
    /// Returns the entry at a path.
    pub async fn stat_file(&self, session: SessionId, path: &[u8]) -> Result<FileBody> {
        let url = self.file_url(session, "/stat", path, &[])?;
        self.json(self.send_idempotent(|| Ok(self.request(Method::GET, url.clone()).timeout(CALL_TIMEOUT))))
            .await
    }

    /// A page of a folder's entries.
    pub async fn list_files(
        &self,
        session: SessionId,
        path: &[u8],
        options: &ListOptions,
    ) -> Result<PageBody<FileBody>> {
        let number = |value: Option<u32>| value.map(|value| value.to_string());
        let more = [
            ("depth", number(options.depth)),
            ("limit", number(options.limit)),
            ("cursor", options.cursor.clone()),
        ];
        let url = self.file_url(session, "", path, &more)?;
        self.json(self.send_idempotent(|| Ok(self.request(Method::GET, url.clone()).timeout(CALL_TIMEOUT))))
            .await
    }

    /// The bytes of a file, or a part of them.
    pub async fn read_file(
        &self,
        session: SessionId,
        path: &[u8],
        range: Option<ByteRange>,
    ) -> Result<Output> {
        let url = self.file_url(session, "/content", path, &[])?;
        let answer = self.send_idempotent(|| {
            let request = self.request(Method::GET, url.clone());
            Ok(match range {
                Some(range) => request.header(RANGE, range.header()),
                None => request,
            })
        });
        Ok(Output::new(self.clone(), answer.await?))
    }

    /// Writes a file. A streaming body is sent once, as it is produced.
    pub async fn write_file(
        &self,
        session: SessionId,
        path: &[u8],
        body: impl Into<Body>,
        at: WriteAt,
        only: WriteIf,
    ) -> Result<FileBody> {
        let more = match at {
            WriteAt::Whole => [("mode", None), ("offset", None)],
            WriteAt::End => [("mode", Some("append".to_owned())), ("offset", None)],
            WriteAt::Byte(offset) => [("mode", None), ("offset", Some(offset.to_string()))],
        };
        let request = self.request(Method::PUT, self.file_url(session, "/content", path, &more)?).body(body);
        let request = match only {
            WriteIf::Always => request,
            WriteIf::New => request.header(IF_NONE_MATCH, "*"),
            WriteIf::Tag(tag) => request.header(IF_MATCH, tag),
        };
        self.json(self.send(request)).await
    }

    /// Creates a folder and its parents.
    pub async fn create_folder(&self, session: SessionId, path: &[u8]) -> Result<FileBody> {
        let (path, encoding) = encoded(path);
        self.file_call(session, "folders", &PathRequest { path, encoding }).await
    }

    /// Moves a file or a folder atomically.
    pub async fn move_file(
        &self,
        session: SessionId,
        from: &[u8],
        to: &[u8],
        overwrite: bool,
    ) -> Result<FileBody> {
        self.file_call(session, "move", &two(from, to, overwrite)).await
    }

    /// Copies a file, or a folder with its contents.
    pub async fn copy_file(
        &self,
        session: SessionId,
        from: &[u8],
        to: &[u8],
        overwrite: bool,
    ) -> Result<CopyBody> {
        self.file_call(session, "copy", &two(from, to, overwrite)).await
    }

    /// Removes a file, a link or a folder; a folder that is not empty requires `recursive`.
    pub async fn remove_file(&self, session: SessionId, path: &[u8], recursive: bool) -> Result<()> {
        let url = self.file_url(session, "", path, &[("recursive", Some(recursive.to_string()))])?;
        self.send(self.request(Method::DELETE, url).timeout(CALL_TIMEOUT)).await.map(drop)
    }

    async fn file_call<T: serde::de::DeserializeOwned>(
        &self,
        session: SessionId,
        what: &str,
        body: &impl serde::Serialize,
    ) -> Result<T> {
        let url = self.route(&format!("v1/sessions/{session}/files/{what}"))?;
        let body: Bytes = json_body(body)?;
        let request = self.request(Method::POST, url).timeout(CALL_TIMEOUT);
        let request = request.header(reqwest::header::CONTENT_TYPE, "application/json").body(body);
        self.json(self.send(request)).await
    }

    pub(crate) fn file_url(
        &self,
        session: SessionId,
        rest: &str,
        path: &[u8],
        more: &[(&str, Option<String>)],
    ) -> Result<Url> {
        let path = percent_encoded(path);
        let mut url = format!("v1/sessions/{session}/files{rest}?path={path}");
        for (name, value) in more {
            if let Some(value) = value {
                url.push_str(&format_args!("&{name}={}", percent_encoded(value.as_bytes())).to_string());
            }
        }
        self.route(&url)
    }
}

fn encoded(path: &[u8]) -> (String, Option<PathEncoding>) {
    (percent_encoded(path), Some(PathEncoding::Percent))
}

fn two(from: &[u8], to: &[u8], overwrite: bool) -> MoveRequest {
    let ((from, encoding), (to, _)) = (encoded(from), encoded(to));
    MoveRequest { from, to, overwrite, encoding }
}

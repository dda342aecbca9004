//! The calls of the files API, on a server with one session.

use anyhow::Result;
use headwater_tests::Fixture;
use headwater_tests::http::{Response, json_of};
use serde_json::Value;

/// The calls of the files API.
pub(crate) trait Files {
    /// A route about the session's files: `/content?path=x`, for example.
    fn route(&self, rest: &str) -> String;

    /// A `POST` about the session's files.
    async fn change(&self, what: &str, body: &Value) -> Result<Response>;

    /// Writes a file; `query` is its path and may have more parameters.
    async fn write(&self, query: &str, bytes: &[u8]) -> Result<Response>;

    /// Reads a file.
    async fn read(&self, path: &str) -> Result<Response>;

    /// The properties of a file.
    async fn stat(&self, path: &str) -> Result<Response>;

    /// A page of a folder.
    async fn list(&self, query: &str) -> Result<Value>;

    /// Removes a file or a folder.
    async fn remove(&self, query: &str) -> Result<Response>;
}

impl Files for Fixture {
    fn route(&self, rest: &str) -> String {
        self.path(&format!("files{rest}"))
    }

    async fn change(&self, what: &str, body: &Value) -> Result<Response> {
        self.post(&self.route(&format!("/{what}")), body).await
    }

    async fn write(&self, query: &str, bytes: &[u8]) -> Result<Response> {
        self.request("PUT", &self.route(&format!("/content?path={query}")), &[], bytes).await
    }

    async fn read(&self, path: &str) -> Result<Response> {
        self.get(&self.route(&format!("/content?path={path}"))).await
    }

    async fn stat(&self, path: &str) -> Result<Response> {
        self.get(&self.route(&format!("/stat?path={path}"))).await
    }

    async fn list(&self, query: &str) -> Result<Value> {
        json_of(&self.get(&self.route(&format!("?{query}"))).await?, 200)
    }

    async fn remove(&self, query: &str) -> Result<Response> {
        self.delete(&self.route(&format!("?path={query}"))).await
    }
}

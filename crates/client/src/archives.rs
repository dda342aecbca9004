//! Calls for archives of a workspace. Paths are bytes and need not be UTF-8.

use headwater_protocol::SessionId;
use headwater_protocol::api::UnpackedBody;
use reqwest::{Body, Method};

use crate::Result;
use crate::client::Client;
use crate::output::Output;

impl Client {
    /// Downloads a folder with everything in it as a tar archive; an empty path is the workspace.
    pub async fn pack(&self, session: SessionId, path: &[u8]) -> Result<Output> {
        let url = self.file_url(session, "/archive", path, &[])?;
        let answer = self.send_idempotent(|| Ok(self.request(Method::GET, url.clone()))).await?;
        Ok(Output::new(self.clone(), answer))
    }

    /// Unpacks a tar archive into a folder, all of it or nothing; an empty path is the workspace. Not repeated: the body is
    /// a stream. Has no timeout, because it may be long.
    pub async fn unpack(
        &self,
        session: SessionId,
        path: &[u8],
        archive: impl Into<Body>,
    ) -> Result<UnpackedBody> {
        let url = self.file_url(session, "/archive", path, &[])?;
        self.json(self.send(self.request(Method::PUT, url).body(archive))).await
    }
}

//! The calls of the builds API, and the files that builds read and write.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use anyhow::{Context, Result, ensure};
use headwater_tests::http::json_of;
use headwater_tests::{Api, Fixture};
use serde_json::{Value, json};

/// The calls of the builds API.
pub(crate) trait Builds {
    /// Writes a file into a workspace, as a program of the session would.
    fn write(&self, session: &str, path: &str, text: &str) -> Result<()>;

    /// Reads a file of a workspace.
    fn read(&self, session: &str, path: &str) -> Result<Vec<u8>>;

    /// A build, whatever its result.
    async fn build(&self, request: &Value) -> Result<Value>;

    /// A build that must succeed.
    async fn built(&self, request: &Value) -> Result<Value>;
}

impl Builds for Fixture {
    fn write(&self, session: &str, path: &str, text: &str) -> Result<()> {
        let path = self.folder_of(session).join("workspace").join(path);
        let folder = path.parent().context("no folder")?;
        if !folder.exists() {
            fs::create_dir_all(folder)?;
            fs::set_permissions(folder, fs::Permissions::from_mode(0o777))?; // the session has another user
        }
        fs::write(&path, text)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666))?;
        Ok(())
    }

    fn read(&self, session: &str, path: &str) -> Result<Vec<u8>> {
        fs::read(self.folder_of(session).join("workspace").join(path)).with_context(|| path.to_owned())
    }

    async fn build(&self, request: &Value) -> Result<Value> {
        build_as(&self.api, request).await
    }

    async fn built(&self, request: &Value) -> Result<Value> {
        let built = self.build(request).await?;
        ensure!(built["status"] == "success", "{built}");
        Ok(built)
    }
}

/// A build of this user, whatever its result.
pub(crate) async fn build_as(api: &Api, request: &Value) -> Result<Value> {
    json_of(&api.post("/v1/sessions/build/cpp", request).await?, 200)
}

/// A request for one source, `main.cpp`, into `build/main`.
pub(crate) fn one(session: &str, flags: &[&str]) -> Value {
    json!({"session_id": session, "source_files": ["main.cpp"], "output_binary": "build/main", "flags": flags})
}

//! Calls for languages and packages.

use std::time::Duration;

use headwater_protocol::SessionId;

use crate::client::Client;
use crate::error::ContractError;
use crate::v1;

impl Client {
    /// All languages in the registry. Waits at most this long for versions that have not been determined yet.
    pub async fn known_languages(&self, wait: Duration) -> Result<Vec<v1::KnownLanguage>, ContractError> {
        let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        let request = v1::ListLanguagesRequest { wait_ms };
        Ok(self.languages().list_languages(request).await?.into_inner().languages)
    }

    /// The tools of builds. A worker of an earlier version reports none.
    pub async fn build_tools(&self) -> Result<Vec<v1::BuildTool>, ContractError> {
        let request = v1::ListLanguagesRequest { wait_ms: 0 };
        Ok(self.languages().list_languages(request).await?.into_inner().build_tools)
    }

    /// The packages that are installed in a session's environment.
    pub async fn packages(
        &self,
        session: SessionId,
        ecosystem: v1::Ecosystem,
    ) -> Result<v1::ListPackagesResponse, ContractError> {
        let session_id = session.to_string();
        let request = v1::ListPackagesRequest { session_id, ecosystem: ecosystem.into() };
        Ok(self.languages().list_packages(request).await?.into_inner())
    }
}

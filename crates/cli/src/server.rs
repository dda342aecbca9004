//! The server that a command is for, if it is not for the worker on this machine: its URL and the token.

use std::path::Path;

use headwater_client::Client;

use crate::args::ServerArgs;
use crate::contexts::{Context, Contexts, LOCAL};
use crate::error::{CommandError, ErrorKind};

/// A server and the token for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// The URL.
    pub url: String,
    /// The API token.
    pub token: String,
}

impl Server {
    /// The server to use, if any: that of `--server` or `HEADWATER_URL`, else that of `--context` or
    /// `HEADWATER_CONTEXT`, else, unless a data folder is named, that of the current context. An empty value counts as
    /// not set.
    pub fn select(
        args: &ServerArgs,
        data: &Path,
        names_data: bool,
        contexts: impl FnOnce() -> Result<Contexts, CommandError>,
    ) -> Result<Option<Self>, CommandError> {
        let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        if let Some(url) = given(&args.server) {
            return Self::at(url, given(&args.token), data).map(Some);
        }
        let context = match given(&args.context) {
            Some(name) if name == LOCAL => None,
            Some(name) => Some(contexts()?.get(&name)?.clone()),
            None if names_data => None,
            None => contexts()?.current().cloned(),
        };
        Ok(context.map(|Context { url, token, .. }| Self { url, token: given(&args.token).unwrap_or(token) }))
    }

    /// The server at this URL.
    pub fn at(url: String, token: Option<String>, data: &Path) -> Result<Self, CommandError> {
        // The sign-in URL that `headwater serve` prints contains the token.
        let (url, in_url) = match url.split_once("/login?token=") {
            Some((url, token)) => (url.to_owned(), Some(token.to_owned())),
            None => (url, None),
        };
        let is_local = headwater_client::is_local(&url)?;
        let token = match token.or(in_url) {
            Some(token) => token,
            None if is_local => own_token(&data.join("token"))?,
            None => {
                return Err(CommandError::usage(format!("no token for the server `{url}`")).hint(
                    "pass it with `--token TOKEN` or in `HEADWATER_TOKEN`, or sign in with `headwater login`",
                ));
            }
        };
        Ok(Self { url, token })
    }

    /// A client for this server.
    pub fn client(&self) -> Result<Client, CommandError> {
        Ok(Client::new(&self.url, &self.token)?)
    }
}

/// The token that the server of this data folder created on its first start.
fn own_token(path: &Path) -> Result<String, CommandError> {
    let token = std::fs::read_to_string(path).map_err(|error| {
        let message = format!("no token given, and cannot read `{}`: {error}", path.display());
        CommandError::new(ErrorKind::Refused, message)
            .hint("pass one with `--token TOKEN` or in `HEADWATER_TOKEN`, or select the server's data folder with `--data DIR`")
    })?;
    Ok(token.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot;

    fn server(url: &str, token: Option<&str>, data: &Path) -> Result<Option<Server>, CommandError> {
        let token = token.map(ToOwned::to_owned);
        let args = ServerArgs { server: Some(url.to_owned()), token, context: None };
        Server::select(&args, data, true, || Ok(Contexts::default()))
    }

    #[test]
    fn the_token_comes_from_a_flag_the_address_or_the_data_folder() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("token"), "from_file\n").unwrap();
        let token = |url: &str, token: Option<&str>| {
            server(url, token, folder.path()).map(|found| found.unwrap().token)
        };
        assert_eq!(token("http://127.0.0.1:1", None).unwrap(), "from_file");
        assert_eq!(token("localhost:1", Some("given")).unwrap(), "given");
        assert_eq!(token("http://127.0.0.1:1/login?token=in_url", None).unwrap(), "in_url");
        assert_eq!(token("http://10.0.0.1:1", Some("given")).unwrap(), "given");
        // The local token is not sent to other machines.
        assert_eq!(token("http://10.0.0.1:1", None).unwrap_err().kind, ErrorKind::Usage);
    }

    #[test]
    fn a_context_is_used_unless_the_command_names_something_else() {
        let mut stored = Contexts { current: Some("prod".into()), ..Contexts::default() };
        for name in ["prod", "test"] {
            let (url, token) = (format!("http://{name}:1"), format!("token of {name}"));
            stored.contexts.insert(name.into(), Context { url, token, token_id: None });
        }
        let select = |server: Option<&str>, context: Option<&str>, names_data| {
            let args = ServerArgs {
                server: server.map(Into::into),
                token: server.map(|_| "given".into()),
                context: context.map(Into::into),
            };
            let found = Server::select(&args, Path::new("/d"), names_data, || Ok(stored.clone()));
            found.map(|found| found.map(|server| (server.url, server.token)))
        };
        let at = |name: &str| Ok(Some((format!("http://{name}:1"), format!("token of {name}"))));
        assert_eq!(select(None, None, false), at("prod"));
        assert_eq!(select(None, None, true), Ok(None), "a named data folder is on this machine");
        assert_eq!(select(None, Some("test"), true), at("test"));
        assert_eq!(select(None, Some(LOCAL), false), Ok(None));
        assert_eq!(
            select(Some("http://a:1"), Some("test"), false),
            Ok(Some(("http://a:1".into(), "given".into())))
        );
        assert_eq!(select(None, Some("gone"), false).unwrap_err().kind, ErrorKind::NotFound);
    }

    #[test]
    fn errors_match_their_snapshot() {
        let data = Path::new("/no/such/folder");
        let errors = ["http://10.0.0.1:1", "http://127.0.0.1:1", "ftp://x"];
        let errors = errors.map(|url| server(url, None, data).unwrap_err());
        snapshot::assert_errors("server-errors", &errors);
    }

    #[test]
    fn without_an_address_no_server_is_used() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(server("", None, folder.path()), Ok(None));
        assert_eq!(server("ftp://x", None, folder.path()).unwrap_err().kind, ErrorKind::Usage);
    }
}

//! The server that a command is for, if it is not for the engine on this machine: its address and the token.

use std::path::Path;

use headwater_client::Client;

use crate::args::ServerArgs;
use crate::error::{CommandError, ErrorKind};

/// A server, and how to get in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Where it is.
    pub url: String,
    /// Who we are.
    pub token: String,
}

impl Server {
    /// The server that is meant, if one is. What is set to nothing counts as not set.
    pub fn new(args: &ServerArgs, data: &Path) -> Result<Option<Self>, CommandError> {
        let Some(url) = args.server.clone().filter(|url| !url.is_empty()) else {
            return Ok(None);
        };
        // The address that `headwater serve` prints for browsers has the token in it.
        let (url, in_url) = match url.split_once("/login?token=") {
            Some((url, token)) => (url.to_owned(), Some(token.to_owned())),
            None => (url, None),
        };
        let told = args.token.clone().filter(|token| !token.is_empty()).or(in_url);
        let is_local = headwater_client::is_local(&url)?;
        let token = match told {
            Some(token) => token,
            None if is_local => own_token(&data.join("token"))?,
            None => {
                return Err(CommandError::usage(format!("no token for the server `{url}`"))
                    .hint("give it with `--token TOKEN` or in `HEADWATER_TOKEN`"));
            }
        };
        Ok(Some(Self { url, token }))
    }

    /// A client of it.
    pub fn client(&self) -> Result<Client, CommandError> {
        Ok(Client::new(&self.url, &self.token)?)
    }
}

/// The token that the server of this data folder made at its first start.
fn own_token(path: &Path) -> Result<String, CommandError> {
    let token = std::fs::read_to_string(path).map_err(|error| {
        let message = format!("no token, and `{}` cannot be read: {error}", path.display());
        CommandError::new(ErrorKind::Refused, message)
            .hint("give one with `--token TOKEN` or in `HEADWATER_TOKEN`, or name the server's folder with `--data DIR`")
    })?;
    Ok(token.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot;

    fn server(url: &str, token: Option<&str>, data: &Path) -> Result<Option<Server>, CommandError> {
        let args = ServerArgs { server: Some(url.to_owned()), token: token.map(ToOwned::to_owned) };
        Server::new(&args, data)
    }

    #[test]
    fn the_token_comes_from_a_flag_the_address_or_the_data_folder() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("token"), "from_file\n").unwrap();
        let token = |url: &str, token: Option<&str>| {
            server(url, token, folder.path()).map(|found| found.unwrap().token)
        };
        assert_eq!(token("http://127.0.0.1:1", None).unwrap(), "from_file");
        assert_eq!(token("localhost:1", Some("told")).unwrap(), "told");
        assert_eq!(token("http://127.0.0.1:1/login?token=in_url", None).unwrap(), "in_url");
        assert_eq!(token("http://10.0.0.1:1", Some("told")).unwrap(), "told");
        // Ours is not for others.
        assert_eq!(token("http://10.0.0.1:1", None).unwrap_err().kind, ErrorKind::Usage);
    }

    #[test]
    fn errors_read_like_this() {
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

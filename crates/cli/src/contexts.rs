//! Stored contexts: the servers that `headwater login` knows, with their tokens, in a file of the user.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{CommandError, ErrorKind};

/// The name that stands for the worker on this machine.
pub const LOCAL: &str = "local";

/// A server that the user has signed in to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Context {
    /// The URL.
    pub url: String,
    /// The API token.
    pub token: String,
    /// The id of a token that `login` created, which `logout` revokes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_id: Option<String>,
}

/// All contexts of a user.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Contexts {
    /// The context that commands use; the worker on this machine if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current: Option<String>,
    /// The contexts by name.
    pub contexts: BTreeMap<String, Context>,
}

impl Contexts {
    /// Reads the contexts of this user; none if there is no file yet.
    pub fn load() -> Result<Self, CommandError> {
        path().map_or_else(|| Ok(Self::default()), |path| Self::read(&path))
    }

    fn read(path: &Path) -> Result<Self, CommandError> {
        let broken = |error: &dyn std::fmt::Display| {
            CommandError::new(ErrorKind::Refused, format!("cannot use `{}`: {error}", path.display()))
                .hint("correct or delete the file, and sign in again with `headwater login`")
        };
        match std::fs::read(path) {
            Ok(text) => serde_json::from_slice(&text).map_err(|error| broken(&error)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(broken(&error)),
        }
    }

    /// Stores the contexts in a file that only the user can read. Returns its path.
    pub fn save(&self) -> Result<PathBuf, CommandError> {
        let path = path().ok_or_else(|| {
            CommandError::usage("no folder for contexts: `HOME` is not set")
                .hint("set `HEADWATER_CONTEXTS` to the path of a file")
        })?;
        self.write(&path).map_err(|error| {
            CommandError::new(ErrorKind::Refused, format!("cannot write `{}`: {error}", path.display()))
                .hint("set `HEADWATER_CONTEXTS` to the path of another file")
        })?;
        Ok(path)
    }

    /// Writes a new file and renames it, so that an interrupted write loses no context.
    fn write(&self, path: &Path) -> std::io::Result<()> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let new = path.with_extension(format!("{}.new", std::process::id()));
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&new)?;
        file.write_all(&serde_json::to_vec_pretty(self)?)?;
        file.write_all(b"\n")?;
        drop(file);
        std::fs::rename(&new, path)
    }

    /// The context of this name.
    pub fn get(&self, name: &str) -> Result<&Context, CommandError> {
        self.contexts.get(name).ok_or_else(|| {
            CommandError::new(ErrorKind::NotFound, format!("there is no context `{name}`"))
                .hint("`headwater context list` lists them, `headwater login URL` adds one")
        })
    }

    /// The context that is used if the command names none.
    pub fn current(&self) -> Option<&Context> {
        self.current.as_ref().and_then(|name| self.contexts.get(name))
    }
}

/// The file: `HEADWATER_CONTEXTS`, or `headwater/contexts.json` in the user's configuration folder.
fn path() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let below =
        |name: &str, folder: &str| set(name).filter(|path| path.is_absolute()).map(|path| path.join(folder));
    set("HEADWATER_CONTEXTS").or_else(|| {
        below("XDG_CONFIG_HOME", "headwater/contexts.json")
            .or_else(|| below("HOME", ".config/headwater/contexts.json"))
            .or_else(|| below("APPDATA", "headwater/contexts.json"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contexts_survive_a_round_trip_and_only_their_owner_can_read_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/contexts.json");
        assert_eq!(Contexts::read(&path).unwrap(), Contexts::default());
        let mut all = Contexts { current: Some("prod".into()), ..Contexts::default() };
        let prod = Context { url: "https://a.example".into(), token: "t".into(), token_id: None };
        all.contexts.insert("prod".into(), prod);
        all.write(&path).unwrap();
        assert_eq!(Contexts::read(&path).unwrap(), all);
        assert_eq!(all.current().unwrap().url, "https://a.example");
        assert_eq!(all.get("test").unwrap_err().kind, ErrorKind::NotFound);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        std::fs::write(&path, "{").unwrap();
        assert_eq!(Contexts::read(&path).unwrap_err().kind, ErrorKind::Refused);
    }
}

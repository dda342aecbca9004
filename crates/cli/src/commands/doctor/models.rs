//! Checks of the models of the chat: whether each can be reached with its key. Without models nothing is checked.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use headwater_agent::model::{ModelConfig, ModelConfigs, ModelError, Models};
use headwater_gateway::config::{Config, Overrides};
use headwater_sandbox::doctor::Check;

/// One check for each model, by name. A problem is a warning: code can be run all the same.
pub fn check(data: &Path, file: Option<&Path>) -> Vec<Check> {
    // The command line of the server decides who may connect, which is not checked here.
    let overrides = Overrides { allow_remote: Some(true), ..Overrides::default() };
    let configs = match Config::load(data, file, overrides) {
        Ok(config) => config.models,
        Err(error) => {
            let fix = "correct it; docs/configuration.md has all settings";
            return vec![Check::failure("configuration", error.to_string(), fix)];
        }
    };
    if configs.is_empty() {
        return Vec::new();
    }
    match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime.block_on(check_all(&configs)),
        Err(error) => vec![Check::fine("models", format!("unknown: {error}"))],
    }
}

async fn check_all(configs: &ModelConfigs) -> Vec<Check> {
    let mut checked = Models::from_config(configs).check().await;
    let of = |(name, config): (&String, &ModelConfig)| Some(result(name, config, checked.remove(name)?));
    configs.iter().filter_map(of).collect()
}

fn result(name: &str, config: &ModelConfig, checked: Result<(), ModelError>) -> Check {
    let title = format!("model {name}");
    match (checked, key_for_others(config)) {
        (Err(error), _) => {
            // The message ends with the advice.
            let (detail, fix) =
                error.message.rsplit_once("; ").unwrap_or((&error.message, "try again later"));
            Check::warning(title, detail, fix)
        }
        (Ok(()), Some(path)) => Check::warning(
            title,
            "reachable, but every user of this machine can read the file with its key",
            format!("chmod o-rwx {}", path.display()),
        ),
        (Ok(()), None) => {
            Check::fine(title, format!("reachable: `{}` by the API {}", config.model, config.api.name()))
        }
    }
}

/// The file with the key, if every user can read it.
fn key_for_others(config: &ModelConfig) -> Option<&Path> {
    let path = config.api_key_file.as_deref()?;
    let mode = std::fs::metadata(path).ok()?.permissions().mode();
    (mode & 0o004 != 0).then_some(path)
}

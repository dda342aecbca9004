//! The list of all settings: values and defaults from the configuration types, and the origin of each value.

use std::collections::BTreeMap;

use headwater_gateway::config::Config;
use headwater_protocol::settings::VARIABLES;
use headwater_worker::config::Config as WorkerConfig;
use serde::Serialize;
use serde_json::Value;

use super::secrets;
use crate::view;

/// Names of the tables and of the field: `["server", "listen"]`.
pub type KeyPath = Vec<String>;

/// One line of `headwater config`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Setting {
    /// The tables and the field, apart.
    #[serde(skip)]
    pub path: KeyPath,
    /// The same as written in the file: `server.listen`.
    pub key: String,
    /// The value in effect, as written in the file; null if not set.
    pub value: Value,
    /// The value without file, environment and flags.
    pub default: Value,
    /// The value in the running worker, if it is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub running: Option<Value>,
    /// Where the value comes from.
    #[serde(flatten)]
    pub origin: Origin,
}

impl Setting {
    /// The tables that the field is in.
    pub fn tables(&self) -> &[String] {
        self.path.split_last().map_or(&[], |(_, tables)| tables)
    }
}

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "source", content = "name", rename_all = "snake_case")]
pub enum Origin {
    /// The default of this version on this machine.
    Default,
    /// The configuration file.
    File,
    /// The environment variable of this name.
    Environment(String),
    /// The flag of this name.
    Flag(String),
}

/// What determines the origins of values. Flags take precedence over variables, and variables over the file.
pub struct Origins<'a> {
    /// The file as it is written.
    pub file: Value,
    /// The settings that were set by an argument of the command.
    pub flags: Vec<(&'static str, Origin)>,
    /// Looks up an environment variable.
    pub env: &'a dyn Fn(&str) -> Option<String>,
}

impl Origins<'_> {
    fn of(&self, path: &[String]) -> Origin {
        let key = path.join(".");
        if let Some((_, origin)) = self.flags.iter().find(|(flag, _)| *flag == key) {
            return origin.clone();
        }
        let is_set = |name: &str| (self.env)(name).is_some_and(|value| !value.is_empty());
        let mut variables = VARIABLES.iter().filter(|variable| variable.keys.contains(&key.as_str()));
        if let Some(variable) = variables.find(|variable| is_set(variable.name)) {
            return Origin::Environment(variable.name.to_owned());
        }
        let written = path.iter().try_fold(&self.file, |table, name| table.get(name));
        if written.is_some() { Origin::File } else { Origin::Default }
    }
}

/// All settings of the server and the worker, as tables of the file.
pub fn values(server: &Config, worker: &WorkerConfig) -> Value {
    let mut all = view::object(&worker.settings());
    merge(&mut all, view::object(&server.settings()));
    all
}

fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (name, value) in from {
                merge(into.entry(name).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from,
    }
}

/// Every setting: first those outside of tables, then table by table.
pub fn all(values: Value, defaults: Value, origins: &Origins<'_>) -> Vec<Setting> {
    let mut default_leaves = BTreeMap::new();
    leaves(Vec::new(), defaults, &mut |path, value| drop(default_leaves.insert(path, value)));
    let mut settings = Vec::new();
    leaves(Vec::new(), values, &mut |path, value| {
        let default = default_leaves.get(&path).cloned();
        // A field that is not set in an entry of a map, such as `languages.python.icon`.
        if value.is_null() && default.is_none() {
            return;
        }
        settings.push(Setting {
            key: path.iter().map(|name| key(name)).collect::<Vec<_>>().join("."),
            origin: origins.of(&path),
            default: secrets::hide(&path, default.unwrap_or_default()),
            value: secrets::hide(&path, value),
            running: None,
            path,
        });
    });
    settings.sort_by(|a, b| (a.tables(), &a.path).cmp(&(b.tables(), &b.path)));
    settings
}

/// Calls `found` for every value that is not a table with fields.
pub fn leaves(path: KeyPath, value: Value, found: &mut dyn FnMut(KeyPath, Value)) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, value) in fields {
                leaves([path.as_slice(), &[name]].concat(), value, found);
            }
        }
        value => found(path, value),
    }
}

/// A key of the file, quoted if necessary.
pub fn key(name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.chars().all(is_bare) {
        name.to_owned()
    } else {
        Value::from(name).to_string()
    }
}

//! Environment variables of IDE deployments (`SESSION_MAX_MEMORY=2Gi` and the like). Each stands for keys of
//! the configuration file and overrides them.

mod file_limits;
mod keys;

use serde::de::DeserializeOwned;
use toml::{Table, Value};

pub use self::file_limits::FileLimits;
pub use self::keys::keys;

/// How a variable's value is converted.
#[derive(Debug, Clone, Copy)]
enum Kind {
    /// To a text: sizes and durations are parsed where they are used.
    Text,
    /// To a number.
    Number,
    /// To the one Python version to use.
    Python,
    /// To the compiler of builds, and the only one of the languages.
    Compiler,
    /// Only this value is allowed.
    Only(&'static str),
}

/// A variable, and the keys of the file that it stands for.
#[derive(Debug)]
pub struct Variable {
    /// The name of the variable.
    pub name: &'static str,
    /// The keys: tables and fields, separated by dots.
    pub keys: &'static [&'static str],
    kind: Kind,
}

const fn variable(name: &'static str, keys: &'static [&'static str], kind: Kind) -> Variable {
    Variable { name, keys, kind }
}

/// The variables that stand for settings of the configuration file.
pub const VARIABLES: [Variable; 11] = [
    variable("SESSION_PYTHON_VERSION", &["languages.python.interpreters"], Kind::Python),
    variable(
        "SESSION_CPP_COMPILER",
        &["builds.compiler", "languages.cpp.interpreters", "languages.c.interpreters"],
        Kind::Compiler,
    ),
    variable("SESSION_WORKSPACE_PATH", &[], Kind::Only("/workspace")),
    variable("SESSION_BUILD_PATH", &["server.build_path"], Kind::Text),
    variable("SESSION_MAX_MEMORY", &["limits.memory", "max_limits.memory"], Kind::Text),
    variable("SESSION_MAX_CPU", &["limits.cpus", "max_limits.cpus"], Kind::Number),
    variable("PYTHON_MAX_RUNTIME", &["languages.python.max_runtime"], Kind::Text),
    variable("CPP_BUILD_TIMEOUT", &["builds.timeout"], Kind::Text),
    variable("BINARY_MAX_RUNTIME", &["server.binary_max_runtime"], Kind::Text),
    variable("TERMINAL_IDLE_TIMEOUT", &["terminals.idle_timeout"], Kind::Text),
    variable("TERMINAL_MAX_BUFFER", &["terminals.buffer"], Kind::Text),
];

/// Parses a configuration file. Variables of the environment override its values.
pub fn read<T: DeserializeOwned>(text: &str, lookup: impl Fn(&str) -> Option<String>) -> Result<T, String> {
    let set: Vec<_> = VARIABLES
        .iter()
        .filter_map(|variable| {
            lookup(variable.name).filter(|text| !text.is_empty()).map(|text| (variable, text))
        })
        .collect();
    if set.is_empty() {
        // Parsing the text directly reports mistakes with their lines.
        return toml::from_str(text).map_err(|error| error.to_string());
    }
    let mut table: Table = toml::from_str(text).map_err(|error| error.to_string())?;
    for (variable, text) in &set {
        let value = |key| variable.kind.value(key, text).map_err(|why| format!("{}: {why}", variable.name));
        value("")?; // a variable without a key is checked, too
        for key in variable.keys {
            put(&mut table, key, value(key)?).ok_or_else(|| format!("`{key}` is not a field of a table"))?;
        }
    }
    let names: Vec<_> = set.iter().map(|(variable, _)| variable.name).collect();
    table.try_into().map_err(|error| format!("{error} (with {} from the environment)", names.join(", ")))
}

/// The variable that makes a configuration invalid; `None` if it is invalid without the environment.
pub fn culprit<T, E>(
    lookup: impl Fn(&str) -> Option<String>,
    read: impl Fn(&dyn Fn(&str) -> Option<String>) -> Result<T, E>,
) -> Option<&'static str> {
    read(&|_| None).ok()?;
    let alone = |only: &'static str| {
        let value = lookup(only);
        read(&|name| value.clone().filter(|_| name == only)).is_err()
    };
    VARIABLES.iter().map(|variable| variable.name).find(|name| alone(name))
}

impl Kind {
    fn value(self, key: &str, text: &str) -> Result<Value, String> {
        let one = |text: String| Value::Array(vec![Value::String(text)]);
        match self {
            Self::Compiler => Ok(match key {
                "languages.cpp.interpreters" => one(text.to_owned()),
                "languages.c.interpreters" => one(c_compiler(text)),
                _ => Value::String(text.to_owned()),
            }),
            Self::Text => Ok(Value::String(text.to_owned())),
            Self::Number => match text.parse::<f64>() {
                Ok(number) if number.is_finite() => Ok(Value::Float(number)),
                _ => Err(format!("`{text}` is not a number: write for example `2` or `0.5`")),
            },
            Self::Python => {
                let is_version =
                    text.split('.').all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()));
                if !is_version {
                    return Err(format!("`{text}` is not a version: write for example `3.11`"));
                }
                Ok(one(python_of(text)))
            }
            Self::Only(only) if text.trim_end_matches('/') == only => Ok(Value::Boolean(true)),
            Self::Only(only) => {
                Err(format!("`{text}` is not supported: the workspace is always at `{only}`"))
            }
        }
    }
}

/// The program of a version of Python.
pub fn python_of(version: &str) -> String {
    format!("python{version}")
}

/// The C compiler beside one of C++: `gcc-12` beside `g++-12`, and `clang` beside `clang++`.
pub fn c_compiler(compiler: &str) -> String {
    compiler.replacen("clang++", "clang", 1).replacen("g++", "gcc", 1)
}

/// Sets a value at a key; `None` if something else is there.
fn put(table: &mut Table, key: &str, value: Value) -> Option<()> {
    let (tables, field) = key.rsplit_once('.').unwrap_or(("", key));
    let mut inner = table;
    for name in tables.split('.').filter(|name| !name.is_empty()) {
        let entry = inner.entry(name).or_insert_with(|| Value::Table(Table::new()));
        inner = entry.as_table_mut()?;
    }
    inner.insert(field.to_owned(), value);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(text: &str, set: &[(&str, &str)]) -> Result<Table, String> {
        read(text, |name| set.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn a_variable_wins_over_what_is_written_and_leaves_the_rest() {
        let text = "pool = 2\n[limits]\nmemory = \"1Gi\"\npids = 7\n";
        let table = with(text, &[("SESSION_MAX_MEMORY", "2Gi"), ("SESSION_MAX_CPU", "2")]).unwrap();
        assert_eq!(table["limits"]["memory"].as_str(), Some("2Gi"));
        assert_eq!(table["limits"]["cpus"].as_float(), Some(2.0));
        assert_eq!(table["max_limits"]["memory"].as_str(), Some("2Gi"));
        assert_eq!(table["max_limits"]["cpus"].as_float(), Some(2.0));
        assert_eq!((table["limits"]["pids"].as_integer(), table["pool"].as_integer()), (Some(7), Some(2)));
    }

    #[test]
    fn every_variable_has_its_place_in_the_forms_of_the_documents() {
        let set = [
            ("SESSION_PYTHON_VERSION", "3.11"),
            ("SESSION_CPP_COMPILER", "g++-12"),
            ("SESSION_WORKSPACE_PATH", "/workspace"),
            ("SESSION_BUILD_PATH", "/workspace/build"),
            ("PYTHON_MAX_RUNTIME", "300s"),
            ("CPP_BUILD_TIMEOUT", "120s"),
            ("BINARY_MAX_RUNTIME", "300s"),
            ("TERMINAL_IDLE_TIMEOUT", "1800s"),
            ("TERMINAL_MAX_BUFFER", "1MB"),
        ];
        let table = with("", &set).unwrap();
        assert_eq!(table["languages"]["python"]["interpreters"][0].as_str(), Some("python3.11"));
        assert_eq!(table["languages"]["python"]["max_runtime"].as_str(), Some("300s"));
        assert_eq!(table["builds"]["compiler"].as_str(), Some("g++-12"));
        assert_eq!(table["languages"]["cpp"]["interpreters"][0].as_str(), Some("g++-12"));
        assert_eq!(table["languages"]["c"]["interpreters"][0].as_str(), Some("gcc-12"));
        assert_eq!(table["server"]["build_path"].as_str(), Some("/workspace/build"));
        assert_eq!(table["terminals"]["buffer"].as_str(), Some("1MB"));
        assert_eq!(table["server"]["binary_max_runtime"].as_str(), Some("300s"));
    }

    #[test]
    fn the_variable_that_makes_a_configuration_invalid_is_found() {
        let lookup = |name: &str| match name {
            "SESSION_MAX_MEMORY" => Some("lots".to_owned()),
            "SESSION_MAX_CPU" => Some("2".to_owned()),
            _ => None,
        };
        let check = |text: &'static str| {
            move |lookup: &dyn Fn(&str) -> Option<String>| {
                let table: Table = read(text, lookup)?;
                let memory = table.get("limits").and_then(|limits| limits.get("memory")?.as_str());
                if memory == Some("lots") { Err("not a size".to_owned()) } else { Ok(()) }
            }
        };
        assert_eq!(culprit(lookup, check("")), Some("SESSION_MAX_MEMORY"));
        assert_eq!(culprit(lookup, check("pool = = 1")), None, "the file is invalid by itself");
    }

    #[test]
    fn errors_name_the_environment_variable() {
        for (name, value) in [
            ("SESSION_MAX_CPU", "many"),
            ("SESSION_MAX_CPU", "inf"),
            ("SESSION_PYTHON_VERSION", "3;rm"),
            ("SESSION_PYTHON_VERSION", "three"),
            ("SESSION_WORKSPACE_PATH", "/home"),
        ] {
            assert!(with("", &[(name, value)]).unwrap_err().contains(name), "{name}={value}");
        }
        assert!(with("limits = 1", &[("SESSION_MAX_MEMORY", "1Gi")]).unwrap_err().contains("limits.memory"));
    }
}

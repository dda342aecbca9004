//! Tests of `headwater config`.

use std::collections::BTreeSet;

use clap::{CommandFactory, FromArgMatches};
use serde_json::json;

use super::settings::Setting;
use super::*;
use crate::args::{Cli, Command};
use crate::snapshot;

/// A file with a value of every kind.
const FILE: &str = r#"
pool = 7
binds = [{ host = "/opt", optional = true }]
[limits]
cpus = 0.5
wall = "90s"
[server]
hosts = ["a.example"]
max_body = "1500"
trusted_proxies = ["10.0.0.0/8"]
[hibernation]
after = "never"
[retention]
age = "never"
all_bytes = "never"
[retention.rows]
audit = 0
[quotas.owners."ann@example.org"]
cpu_per_day = "2h"
[watchdog]
action = "stop"
[network.hosts]
"a.test" = "10.0.0.1"
[languages.python]
max_runtime = "300s"
[languages.python.limits]
memory = "1Gi"
[auth.jwt]
issuer = "https://issuer.example"
audience = "us"
jwks_url = "https://issuer.example/keys"
[models."fast-1.5"]
api = "openai-chat"
base_url = "http://localhost:11434/v1"
model = "small"
api_key_env = "FAST_KEY"
default = true
context_tokens = 8192
[models.large]
api = "anthropic"
base_url = "https://api.example"
model = "large"
api_key_file = "/run/secrets/key"
[mcp_servers.files]
command = ["files", "--all"]
[mcp_servers.web]
url = "https://mcp.example/mcp"
"#;

fn settings(data: &Path, line: &[&str], env: &dyn Fn(&str) -> Option<String>) -> Vec<Setting> {
    let line = [&["headwater", "config"], line].concat();
    let matches = Cli::command().get_matches_from(line);
    let Command::Config(args) = Cli::from_arg_matches(&matches).unwrap().command else { panic!() };
    let (server, worker) = (load(data, &args.config).unwrap(), load_worker(data, &args.config).unwrap());
    let origins = Origins {
        file: file(&data.join("headwater.toml")).unwrap(),
        flags: flags(&args.config, matches.subcommand_matches("config").unwrap()),
        env,
    };
    let defaults = settings::values(&Config::defaults(data), &WorkerConfig::defaults(data));
    settings::all(settings::values(&server, &worker), defaults, &origins)
}

#[test]
fn every_key_that_the_file_accepts_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let shown: BTreeSet<_> =
        settings(folder.path(), &[], &|_| None).into_iter().map(|setting| setting.key).collect();
    // The worker knows the tables of the gateway by name only.
    let keys: BTreeSet<_> = WorkerConfig::keys().into_iter().chain(Config::keys()).collect();
    let is_table = |key: &str| keys.iter().any(|other| other.starts_with(&format!("{key}.")));
    let missing: Vec<_> = keys.iter().filter(|key| !is_table(key) && !shown.contains(*key)).collect();
    assert_eq!(missing, Vec::<&String>::new());
    assert!(
        keys.len() > 100 && keys.contains("server.listen") && keys.contains("retention.rows.age"),
        "{keys:?}"
    );
}

#[test]
fn every_value_has_its_origin_and_its_default() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("headwater.toml"), FILE).unwrap();
    let line = ["--requests-per-second", "9", "--host", "b.example", "--sandbox", "none"];
    let env = |name: &str| (name == "TERMINAL_IDLE_TIMEOUT").then(|| "30m".to_owned());
    let settings = settings(folder.path(), &line, &env);
    let find = |key: &str| {
        let setting =
            settings.iter().find(|setting| setting.key == key).unwrap_or_else(|| panic!("no {key}"));
        (setting.value.clone(), setting.default.clone(), setting.origin.clone())
    };
    let flag = |name: &str| Origin::Flag(name.to_owned());
    let variable = Origin::Environment("TERMINAL_IDLE_TIMEOUT".to_owned());
    for (key, expected) in [
        ("pool", (json!(7), json!(4), Origin::File)),
        ("limits.cpus", (json!(0.5), Value::Null, Origin::File)),
        ("limits.pids", (json!(512), json!(512), Origin::Default)),
        ("hibernation.after", (json!("never"), json!("5m"), Origin::File)),
        ("server.max_body", (json!("1500"), json!("16Mi"), Origin::File)),
        ("server.requests_per_second", (json!(9), json!(2000), flag("--requests-per-second"))),
        ("server.hosts", (json!(["a.example", "b.example"]), json!([]), flag("--host"))),
        ("sandbox", (json!("none"), json!("full"), flag("--sandbox"))),
        ("terminals.idle_timeout", (json!("30m"), json!("30m"), variable)),
        ("quotas.owners.\"ann@example.org\".cpu_per_day", (json!("2h"), Value::Null, Origin::File)),
        ("languages.python.max_runtime", (json!("5m"), Value::Null, Origin::File)),
        ("models.\"fast-1.5\".context_tokens", (json!(8192), Value::Null, Origin::File)),
        ("models.large.api", (json!("anthropic"), Value::Null, Origin::File)),
        ("models.large.default", (json!(false), Value::Null, Origin::Default)),
        ("mcp_servers.files.command", (json!(["files", "--all"]), Value::Null, Origin::File)),
        ("auth.jwt.owner_claim", (json!("sub"), Value::Null, Origin::Default)),
    ] {
        assert_eq!(find(key), expected, "{key}");
    }
    assert!(settings.iter().all(|setting| setting.key != "languages.python.icon"));
}

#[test]
fn the_text_is_a_file_that_gives_the_same_configuration() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let path = data.join("headwater.toml");
    for file in ["", FILE] {
        std::fs::write(&path, file).unwrap();
        let load = || {
            let mut server = Config::load(data, None, Overrides::default()).unwrap();
            server.max_connections_of_address = Some(server.connections_of_address()); // shown as it is used
            (server, WorkerConfig::load(data, None).unwrap())
        };
        let before = load();
        let text = text::lines(data, &path, &settings(data, &[], &|_| None)).join("\n");
        std::fs::write(&path, &text).unwrap();
        assert_eq!(load(), before, "{text}");
    }
}

#[test]
fn the_text_matches_its_snapshot() {
    let mut worker = WorkerConfig::new("/data");
    worker.retention.rules.all.bytes = Some(10 << 30); // less on a small disk
    let defaults = settings::values(&Config::new("/data"), &worker);
    let mut server = Config::new("/data");
    server.heartbeat = std::time::Duration::from_secs(5);
    worker.limits.memory_bytes = Some(1 << 30);
    worker.max_limits.memory_bytes = Some(1 << 30);
    worker.packages.python_index = Some("https://user:secret@index.example/simple".parse().unwrap());
    let file = json!({ "server": { "heartbeat": "5s" }, "packages": { "python_index": "..." } });
    let flags = vec![("server.listen", Origin::Flag("--listen".into()))];
    let env = |name: &str| (name == "SESSION_MAX_MEMORY").then(|| "1Gi".to_owned());
    let origins = Origins { file, flags, env: &env };
    let settings = settings::all(settings::values(&server, &worker), defaults, &origins);
    let (data, path) = (Path::new("/data"), Path::new("/data/headwater.toml"));
    snapshot::assert("config", &text::lines(data, path, &settings).join("\n"));
    let json: Vec<_> = settings.iter().map(crate::view::object).collect();
    let heartbeat = json!({"key": "server.heartbeat", "value": "5s", "default": "15s", "source": "file"});
    assert!(json.contains(&heartbeat));
    assert!(!json.iter().any(|line| line.to_string().contains("secret")));
}

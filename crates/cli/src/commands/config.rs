//! `headwater config`: the configuration in effect, including defaults.

use std::path::Path;

use headwater_gateway::config::{Config, ConfigError, KeySource, Quota};
use headwater_worker::config::Config as WorkerConfig;
use serde_json::{Value, json};

use crate::args::ConfigArgs;
use crate::error::CommandError;

/// Reads and validates the server's configuration.
pub fn load(data: &Path, args: &ConfigArgs) -> Result<Config, CommandError> {
    Config::load(data, args.config.as_deref(), args.overrides()).map_err(|error| {
        let hint = match error {
            ConfigError::NotLoopback(_) => "docs/configuration.md explains what else is needed",
            _ => "see docs/configuration.md for all settings",
        };
        CommandError::usage(error.to_string()).hint(hint)
    })
}

/// Prints the configuration.
pub fn config(data: &Path, args: &ConfigArgs) -> Result<u8, CommandError> {
    let server = load(data, args)?;
    let worker = WorkerConfig::load(data, args.config.as_deref()).map_err(|error| {
        CommandError::usage(error.to_string()).hint("see docs/configuration.md for all settings")
    })?;
    let shown = show(&server, &worker);
    println!("{}", serde_json::to_string_pretty(&shown).unwrap_or_default());
    Ok(0)
}

fn show(server: &Config, worker: &WorkerConfig) -> Value {
    let ms = |time: std::time::Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    json!({
        "data": server.data,
        "server": {
            "listen": server.listen,
            "allow_remote": server.allow_remote,
            "hosts": server.hosts,
            "origins": server.origins,
            "trusted_proxies": server.trusted_proxies.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "log_format": server.log_format.name(),
            "max_connections": server.max_connections,
            "max_body_bytes": server.max_body_bytes,
            "max_stdin_bytes": server.max_stdin_bytes,
            "header_timeout_ms": ms(server.header_timeout),
            "max_connections_of_address": server.connections_of_address(),
            "write_timeout_ms": ms(server.write_timeout),
            "max_unread_bytes": server.max_unread_bytes,
            "requests_per_second": server.requests_per_second,
            "failures_per_second": server.failures_per_second,
            "heartbeat_ms": ms(server.heartbeat),
            "shutdown_grace_ms": ms(server.shutdown_grace),
            "key_lifetime_ms": ms(server.key_lifetime),
            "requests_per_second_of_user": server.requests_per_second_of_user,
            "requests_per_second_of_address": server.requests_per_second_of_address,
            "build_path": server.build_path,
            "binary_max_runtime_ms": server.binary_max_runtime.map(ms),
        },
        "quotas": quotas(server),
        "watchdog": {
            "interval_ms": ms(server.watchdog.interval),
            "after_ms": server.watchdog.after.map(ms),
            "cpus": server.watchdog.cpus,
            "names": server.watchdog.names,
            "action": server.watchdog.action.name(),
        },
        "auth": {
            "access_lifetime_ms": ms(server.auth.access_lifetime),
            "refresh_lifetime_ms": ms(server.auth.refresh_lifetime),
            "cookie_lifetime_ms": ms(server.auth.cookie_lifetime),
            "jwt": server.auth.jwt.as_ref().map(|jwt| json!({
                "issuer": jwt.issuer,
                "audience": jwt.audience,
                "jwks": match &jwt.keys {
                    KeySource::Url(url) => url.clone(),
                    KeySource::File(path) => path.display().to_string(),
                },
                "owner_claim": jwt.owner_claim,
                "role_claim": jwt.role_claim,
                "jwks_refresh_ms": ms(jwt.refresh),
                "jwks_unknown_refresh_ms": ms(jwt.unknown_refresh),
            })),
        },
        "retention": retention(server, worker),
        "worker": {
            "sandbox": worker.sandbox,
            "pool": worker.pool,
            "orphan_timeout_ms": ms(worker.orphan_timeout),
            "lossless_hold_ms": ms(worker.holds.patience),
            "lossless_grace_ms": ms(worker.holds.grace),
            "limits": worker.limits,
            "max_limits": worker.max_limits,
            "uid_base": worker.uid_base,
            "allow_aio": worker.allow_aio,
            "max_running": worker.max_running.of_all,
            "max_running_of_owner": worker.max_running.of_owner,
            "max_running_of_session": worker.max_running.of_session,
            "hibernation": {
                "after_ms": worker.hibernation.after.map(ms),
                "running_after_ms": worker.hibernation.running_after.map(ms),
                "warning_ms": ms(worker.hibernation.warning),
            },
            "builds": {
                "compiler": worker.builds.compiler,
                "compilers": worker.builds.compilers,
                "timeout_ms": ms(worker.builds.timeout),
                "cache_bytes": worker.builds.cache_bytes,
            },
            "terminals": {
                "idle_timeout_ms": worker.terminals.idle_timeout.map(ms),
                "buffer_bytes": worker.terminals.buffer_bytes,
                "of_session": worker.terminals.of_session,
                "of_owner": worker.terminals.of_owner,
            },
            "network": network(worker),
            "packages": packages(worker),
            "languages": worker.languages.keys().collect::<Vec<_>>(),
        },
    })
}

fn quotas(server: &Config) -> Value {
    let ms = |time: std::time::Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let one = |quota: &Quota| {
        json!({
            "sessions": quota.sessions,
            "executions": quota.executions,
            "cpu_per_day_ms": quota.cpu_per_day.map(ms),
            "disk_bytes": quota.disk_bytes,
        })
    };
    let quotas = &server.quotas;
    let owners: serde_json::Map<_, _> =
        quotas.owners.iter().map(|(owner, quota)| (owner.clone(), one(quota))).collect();
    json!({
        "everybody": one(&quotas.everybody),
        "owners": owners,
        "executions_of_all": quotas.executions_of_all,
        "queue_length": quotas.queue_length,
        "queue_wait_ms": ms(quotas.queue_wait),
    })
}

fn retention(server: &Config, worker: &WorkerConfig) -> Value {
    let ms = |time: std::time::Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let (rules, rows) = (&worker.retention.rules, &server.rows);
    json!({
        "age_ms": rules.age.map(ms),
        "keep_at_least_ms": ms(rules.keep_at_least),
        "session_logs": rules.session.logs,
        "session_bytes": rules.session.bytes,
        "owner_logs": rules.owner.logs,
        "owner_bytes": rules.owner.bytes,
        "all_logs": rules.all.logs,
        "all_bytes": rules.all.bytes,
        "worker_log_bytes": worker.retention.worker_log_bytes,
        "worker_log_files": worker.retention.worker_log_files,
        "rows": {
            "age_ms": rows.age.map(ms),
            "of_owner": rows.of_owner,
            "in_all": rows.in_all,
            "audit_age_ms": rows.audit_age.map(ms),
            "audit": rows.audit,
            "credentials_ms": rows.credentials.map(ms),
        },
    })
}

fn network(worker: &WorkerConfig) -> Value {
    let network = &worker.network;
    let texts = |all: &mut dyn Iterator<Item = String>| all.collect::<Vec<_>>();
    json!({
        "allow_packages": network.allow_packages,
        "allow_full": network.allow_full,
        "max_connections_of_owner": network.max_connections_of_owner,
        "registries": texts(&mut network.registries.iter().map(ToString::to_string)),
        "allow_private": texts(&mut network.allow_private.iter().map(ToString::to_string)),
        "hosts": network.hosts,
    })
}

/// Passwords in URLs are not printed.
fn packages(worker: &WorkerConfig) -> Value {
    let shown = |url: &Option<_>| url.as_ref().map(headwater_worker::config::network::without_password);
    json!({
        "python_index": shown(&worker.packages.python_index),
        "npm_registry": shown(&worker.packages.npm_registry),
        "cache_bytes": worker.packages.cache_bytes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot;

    #[test]
    fn the_defaults_match_their_snapshot() {
        let mut worker = WorkerConfig::new("/data");
        worker.retention.rules.all.bytes = Some(10 << 30); // less on a small disk
        let shown = show(&Config::new("/data"), &worker);
        snapshot::assert("config", &serde_json::to_string_pretty(&shown).unwrap());
    }
}

//! `headwater doctor` on this host as it is, and where a wall really cannot be built.

use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result};
use headwater_scripted_model::ScriptedModel;
use headwater_tests::binary;
use serde_json::Value;
use tempfile::TempDir;

/// An ordinary user that no other test uses.
const USER: u32 = 64_322;

/// Forbids new user namespaces to the command that it executes, inside a new user namespace: the host's setting stays.
const WITHOUT_USER_NAMESPACES: &str = "echo 0 > /proc/sys/user/max_user_namespaces && \
    exec setpriv --ambient-caps=-all --inh-caps=-all \"$@\"";

/// A folder for the data, and a copy of the binary where any user can reach it.
struct Installation {
    folder: TempDir,
}

impl Installation {
    fn new(owner: u32) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("hw-doctor-").tempdir()?;
        std::fs::copy(binary(), folder.path().join("headwater"))?;
        let data = folder.path().join("data");
        std::fs::create_dir(&data)?;
        for path in [folder.path(), &data] {
            std::fs::set_permissions(path, PermissionsExt::from_mode(0o700))?;
            chown(path, Some(owner), Some(owner))?;
        }
        Ok(Self { folder })
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Runs the binary through this command.
    fn run(&self, before: &[&str], arguments: &[&str]) -> Result<Output> {
        let program = self.folder.path().join("headwater");
        let words =
            before.iter().map(Path::new).chain([program.as_path()]).chain(arguments.iter().map(Path::new));
        let words: Vec<_> = words.collect();
        let (first, rest) = words.split_first().context("no command")?;
        let mut command = Command::new(first);
        command.args(rest).env("HEADWATER_DATA", self.data()).current_dir("/").stdin(Stdio::null());
        Ok(command.output()?)
    }

    /// What doctor says, and its exit code.
    fn doctor(&self, before: &[&str]) -> Result<(Value, Option<i32>)> {
        let output = self.run(before, &["doctor", "--json"])?;
        let text = String::from_utf8(output.stdout)?;
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        let report = serde_json::from_str(&text).with_context(|| format!("not JSON: `{text}` {errors}"))?;
        Ok((report, output.status.code()))
    }
}

/// Runs the following command as an ordinary user.
fn as_user() -> Vec<&'static str> {
    vec!["setpriv", "--reuid", "64322", "--regid", "64322", "--clear-groups"]
}

/// Runs the following command as an ordinary user who may not create user namespaces.
fn as_user_without_user_namespaces() -> Vec<&'static str> {
    let mut words = as_user();
    words.extend(["unshare", "-U", "--map-user=64322", "--map-group=64322", "--keep-caps"]);
    words.extend(["sh", "-c", WITHOUT_USER_NAMESPACES, "sh"]);
    words
}

/// The check of this name.
fn check<'a>(report: &'a Value, name: &str) -> &'a Value {
    let found =
        report["checks"].as_array().and_then(|checks| checks.iter().find(|check| check["name"] == name));
    found.unwrap_or_else(|| panic!("no check `{name}` in {report:#}"))
}

/// Every check has exactly the five fields, and a failed one has a fix.
fn assert_shape(report: &Value) {
    let mut fields: Vec<_> = report.as_object().unwrap().keys().collect();
    fields.sort();
    assert_eq!(fields, ["checks", "ok"]);
    let checks = report["checks"].as_array().unwrap();
    for check in checks {
        let mut fields: Vec<_> = check.as_object().unwrap().keys().collect();
        fields.sort();
        assert_eq!(fields, ["detail", "fix", "name", "ok", "status"]);
        let status = match (check["ok"] == true, check["fix"].is_null()) {
            (true, true) => "ok",
            (true, false) => "warning",
            (false, _) => "failed",
        };
        assert_eq!(check["status"], status, "{check}");
        assert!(check["detail"].as_str().is_some_and(|text| !text.is_empty()), "{check}");
        let fix = check["fix"].as_str();
        assert!(fix.is_some_and(|text| !text.is_empty()) || check["fix"].is_null(), "{check}");
        assert!(check["ok"] == true || fix.is_some(), "a failure without a fix: {check}");
    }
    assert_eq!(report["ok"], checks.iter().all(|check| check["ok"] == true), "{report:#}");
}

#[test]
fn the_file_that_the_environment_names_is_checked() -> Result<()> {
    let installation = Installation::new(0)?;
    let file = installation.folder.path().join("other.toml");
    std::fs::write(&file, "pool = \"many\"\n")?;
    let variable = format!("HEADWATER_CONFIG={}", file.display());
    let (report, code) = installation.doctor(&["env", &variable])?;
    let found = check(&report, "configuration");
    assert!(found["detail"].as_str().is_some_and(|text| text.contains("other.toml")), "{found}");
    assert_eq!(code, Some(1));
    Ok(())
}

const WALLS: [&str; 19] = [
    "user",
    "user namespace",
    "mount namespace",
    "pid namespace",
    "net namespace",
    "ipc namespace",
    "uts namespace",
    "cgroup namespace",
    "loopback",
    "read-only binds",
    "root on tmpfs",
    "proc",
    "terminals",
    "privileges",
    "seccomp",
    "openat2",
    "pidfd",
    "close_range",
    "session",
];

/// On any host, doctor says whether the kernel enforces the disk limit, and if not, how it can or why it cannot.
/// `make test-v2` shows it on file systems with and without project quotas.
fn assert_project_quotas_are_told(report: &Value, is_root: bool) {
    let quotas = check(report, "project quotas");
    assert_eq!(quotas["ok"], true, "{quotas}");
    let (detail, fix) = (quotas["detail"].as_str().unwrap(), quotas["fix"].as_str());
    let in_force = detail.starts_with("in force") && fix.is_none() && is_root;
    let can_be = detail.starts_with("not in force") && fix.is_some_and(|fix| fix.contains("prjquota"));
    let cannot_be = (detail.starts_with("not supported") || detail.contains("needs root")) && fix.is_none();
    assert!(in_force || (can_be && is_root) || cannot_be, "{quotas}");
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_says_which_models_can_be_reached_with_their_keys() -> Result<()> {
    let script = r#"{"key": "right"}"#.parse().map_err(anyhow::Error::msg)?;
    let endpoint = ScriptedModel::start(script).await?;
    let installed = Installation::new(0)?;
    let (private, public) = (installed.folder.path().join("private"), installed.folder.path().join("public"));
    for (path, mode) in [(&private, 0o600), (&public, 0o644)] {
        std::fs::write(path, "right")?;
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode))?;
    }
    let model = |name: &str, key: String| {
        let base_url = endpoint.base_url();
        format!("[models.{name}]\napi = \"openai-chat\"\nbase_url = \"{base_url}\"\nmodel = \"x\"\n{key}\n")
    };
    let file = |path: &Path| format!("api_key_file = \"{}\"", path.display());
    let models = [
        model("fine", file(&private)),
        model("open", file(&public)),
        model("wrong", "api_key_env = \"WRONG_KEY\"".to_owned()),
        model("missing", "api_key_env = \"NO_SUCH_KEY\"".to_owned()),
    ];
    std::fs::write(installed.data().join("headwater.toml"), models.concat())?;
    let (report, code) = tokio::task::block_in_place(|| installed.doctor(&["env", "WRONG_KEY=not-the-key"]))?;
    assert_shape(&report);
    assert_eq!((report["ok"].as_bool(), code), (Some(true), Some(0)), "code can be run: {report:#}");
    for (name, status, says) in [
        ("fine", "ok", "reachable"),
        ("open", "warning", "every user of this machine"),
        ("wrong", "warning", "the model `wrong` is refused by its provider: the key is wrong (401)"),
        ("missing", "warning", "`NO_SUCH_KEY` is not set"),
    ] {
        let found = check(&report, &format!("model {name}"));
        assert_eq!(found["status"], status, "{found}");
        assert!(found["detail"].as_str().is_some_and(|detail| detail.contains(says)), "{found}");
    }
    assert!(!report.to_string().contains("not-the-key"), "{report:#}");
    Ok(())
}

#[test]
fn every_wall_stands_on_this_host_for_root_and_for_an_ordinary_user() -> Result<()> {
    for (owner, before) in [(0, Vec::new()), (USER, as_user())] {
        let installed = Installation::new(owner)?;
        let (report, code) = installed.doctor(&before)?;
        assert_shape(&report);
        for wall in WALLS {
            assert_eq!(check(&report, wall)["ok"], true, "{wall}: {report:#}");
            assert!(check(&report, wall)["fix"].is_null(), "{wall}: {report:#}");
        }
        assert_eq!((report["ok"].as_bool(), code), (Some(true), Some(0)));
        for limit in ["cgroups", "memory limit", "cpu limit", "process limit", "disk limit", "open files"] {
            check(&report, limit);
        }
        assert_project_quotas_are_told(&report, owner == 0);
        assert!(check(&report, "language bash")["detail"].as_str().unwrap().contains("version"));
        assert_eq!(std::fs::read_dir(installed.data())?.count(), 0, "doctor leaves something behind");
    }
    Ok(())
}

#[test]
fn where_user_namespaces_are_forbidden_the_setting_is_named_and_nothing_runs() -> Result<()> {
    let installed = Installation::new(USER)?;
    let before = as_user_without_user_namespaces();
    let (report, code) = installed.doctor(&before)?;
    assert_shape(&report);
    assert_eq!((report["ok"].as_bool(), code), (Some(false), Some(1)));
    let wall = check(&report, "user namespace");
    assert_eq!(wall["ok"], false);
    assert!(wall["fix"].as_str().unwrap().starts_with("sysctl -w user.max_user_namespaces="), "{wall}");
    assert_eq!(check(&report, "session")["ok"], false);

    let table = installed.run(&before, &["doctor"])?;
    let text = String::from_utf8(table.stdout)?;
    assert!(text.contains("FAILED   user namespace"), "{text}");
    assert!(text.contains("fix: sysctl -w user.max_user_namespaces="), "{text}");

    let refused = installed.run(&before, &["run", "--", "echo", "it ran"])?;
    let errors = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(125), "{errors}");
    assert!(!String::from_utf8_lossy(&refused.stdout).contains("it ran"));
    assert!(
        errors.contains("user namespace") && errors.contains("sysctl -w user.max_user_namespaces="),
        "{errors}"
    );

    // The same for the current folder: it is not changed without walls.
    let project = installed.folder.path().join("project");
    std::fs::create_dir(&project)?;
    chown(&project, Some(USER), Some(USER))?;
    let here: Vec<_> =
        before.iter().copied().chain(["env", "-C", project.to_str().context("UTF-8")?]).collect();
    let refused = installed.run(&here, &["run", "--here", "--", "touch", "ran"])?;
    let errors = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(125), "{errors}");
    assert!(
        errors.contains("sysctl -w user.max_user_namespaces=") && errors.contains("danger-full-access"),
        "{errors}"
    );
    assert_eq!(std::fs::read_dir(&project)?.count(), 0, "nothing ran");
    installed.run(&as_user(), &["stop"])?;

    // The same words without the ban: it is the ban that was found.
    let (report, code) = installed.doctor(&as_user())?;
    assert_eq!((report["ok"].as_bool(), code), (Some(true), Some(0)), "{report:#}");
    Ok(())
}

#[test]
fn a_missing_capability_of_root_is_named_and_nothing_runs() -> Result<()> {
    let installed = Installation::new(0)?;
    let before = ["setpriv", "--bounding-set=-net_admin"];
    let (report, code) = installed.doctor(&before)?;
    assert_shape(&report);
    assert_eq!((report["ok"].as_bool(), code), (Some(false), Some(1)));
    assert!(check(&report, "user")["detail"].as_str().unwrap().ends_with("NET_ADMIN"));
    let loopback = check(&report, "loopback");
    assert_eq!(loopback["ok"], false);
    assert!(loopback["fix"].as_str().unwrap().contains("--cap-add NET_ADMIN"), "{loopback}");
    assert_eq!(check(&report, "mount namespace")["ok"], true, "only what is broken is named");

    let refused = installed.run(&before, &["run", "--", "echo", "it ran"])?;
    let errors = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(125), "{errors}");
    assert!(!String::from_utf8_lossy(&refused.stdout).contains("it ran"));
    assert!(errors.contains("loopback") && errors.contains("headwater doctor"), "{errors}");
    installed.run(&[], &["stop"])?;
    Ok(())
}

#[test]
fn a_data_folder_that_cannot_be_used_is_reported() -> Result<()> {
    let installed = Installation::new(USER)?;
    chown(installed.data(), Some(0), Some(0))?;
    let (report, code) = installed.doctor(&as_user())?;
    assert_shape(&report);
    assert_eq!(code, Some(1));
    let folder = check(&report, "data folder");
    assert_eq!(folder["ok"], false);
    assert!(folder["fix"].as_str().unwrap().contains("--data DIR"), "{folder}");
    Ok(())
}

#[test]
fn the_data_folder_its_free_space_its_logs_and_the_disk_limit_are_reported() -> Result<()> {
    let installed = Installation::new(0)?;
    let (report, _) = installed.doctor(&[])?;
    for name in ["data folder", "retention", "disk limit"] {
        assert!(check(&report, name)["fix"].is_null(), "the control: nothing is wrong: {report:#}");
    }
    assert!(
        check(&report, "disk space")["detail"]
            .as_str()
            .unwrap()
            .contains(" free on the disk of the data folder")
    );
    let kept = check(&report, "retention")["detail"].as_str().unwrap();
    assert!(kept.contains("30 days") && kept.contains("per owner 10000 logs,"), "{kept}");
    let limit = check(&report, "disk limit")["detail"].as_str().unwrap();
    assert!(limit.contains("measured"), "{limit}");

    // Others may look into it, and nothing bounds the logs.
    std::fs::set_permissions(installed.data(), PermissionsExt::from_mode(0o755))?;
    let config = "[retention]\nage = \"3d\"\nall_bytes = \"never\"\nowner_bytes = \"never\"\n";
    std::fs::write(installed.data().join("headwater.toml"), config)?;
    let (report, code) = installed.doctor(&[])?;
    assert_shape(&report);
    assert_eq!(code, Some(0), "warnings are no failures: {report:#}");
    assert!(check(&report, "data folder")["fix"].as_str().unwrap().starts_with("chmod 700"), "{report:#}");
    let kept = check(&report, "retention");
    assert!(kept["detail"].as_str().unwrap().contains("logs up to 3 days old"), "{kept}");
    assert!(kept["fix"].as_str().unwrap().contains("`all_bytes`"), "{kept}");

    // Disk use is listed by part.
    let printed = installed.run(&[], &["run", "--", "head", "-c", "3500000", "/dev/zero"])?;
    assert_eq!(printed.stdout.len(), 3_500_000);
    let (report, _) = installed.doctor(&[])?;
    installed.run(&[], &["stop", "--end-sessions", "--yes"])?;
    let used = check(&report, "disk use")["detail"].as_str().unwrap();
    assert!(used.contains("logs 3 MiB") && used.contains("workspaces 0 MiB"), "{used}");
    Ok(())
}

#[test]
fn a_missing_language_is_a_warning_in_json_and_the_store_is_checked() -> Result<()> {
    let installed = Installation::new(0)?;
    let config = "[languages.ruby]\ninterpreters = [\"no-such-program\"]\n";
    std::fs::write(installed.data().join("headwater.toml"), config)?;
    let (report, code) = installed.doctor(&[])?;
    assert_eq!(check(&report, "language ruby")["status"], "warning", "{report:#}");
    assert_eq!(check(&report, "language bash")["status"], "ok", "the control");
    assert_eq!((&check(&report, "store")["status"], code), (&Value::from("ok"), Some(0)));
    std::fs::write(installed.data().join("store.db"), "this is not a store".repeat(1000))?;
    let (report, code) = installed.doctor(&[])?;
    assert_shape(&report);
    assert_eq!((&check(&report, "store")["status"], code), (&Value::from("failed"), Some(1)), "{report:#}");
    Ok(())
}

//! The languages that code can be given in: which interpreter, which version.

use std::process::{Command, Stdio};

use headwater_sandbox::doctor::Check;
use headwater_worker::config::Config;
use headwater_worker::languages::Languages;

/// Looks for the interpreters.
pub fn check(config: &Config) -> Vec<Check> {
    let visible: Vec<_> = config.binds.iter().map(|bind| bind.inside.clone().into()).collect();
    let languages = Languages::find(&config.languages, &visible);
    let present = languages
        .present()
        .map(|language| Check::fine(format!("language {}", language.name), version(&language.interpreter)));
    let missing = languages.missing().map(|name| {
        let detail = format!("no interpreter in the folders that a session sees: `--lang {name}` is refused");
        Check::warning(format!("language {name}"), detail, fix(name))
    });
    present.chain(missing).collect()
}

/// The Debian package that brings it.
fn fix(language: &str) -> String {
    match language {
        "bash" => "apt-get install bash".to_owned(),
        "python" => "apt-get install python3".to_owned(),
        "node" => "apt-get install nodejs".to_owned(),
        other => format!(
            "install it in a system folder, or correct `languages.{other}.interpreters` (and `binds`) in the \
             configuration"
        ),
    }
}

/// The interpreter and what it calls itself.
fn version(interpreter: &str) -> String {
    let said = Command::new(interpreter).arg("--version").stdin(Stdio::null()).output();
    let said = said.map(|output| [output.stdout, output.stderr].concat()).unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    let first = said.lines().next().unwrap_or_default().trim();
    if first.is_empty() { interpreter.to_owned() } else { format!("{interpreter}: {first}") }
}

#[cfg(test)]
mod tests {
    use headwater_sandbox::doctor::Severity;

    use super::*;

    #[test]
    fn a_language_without_an_interpreter_is_told_with_its_fix_and_one_that_is_there_with_its_version() {
        let folder = tempfile::tempdir().unwrap();
        let text = "[languages.rare]\ninterpreters = [\"no-such-program\"]\nargs = []\n";
        std::fs::write(folder.path().join("headwater.toml"), text).unwrap();
        let checks = check(&Config::load(folder.path(), None).unwrap());
        let find = |name: &str| checks.iter().find(|check| check.name == name).unwrap();
        let rare = find("language rare");
        assert_eq!(rare.severity(), Severity::Warning);
        assert!(rare.fix.as_ref().unwrap().contains("languages.rare.interpreters"));
        let bash = find("language bash");
        assert!(bash.fix.is_none() && bash.detail.contains("version"), "{bash:?}");
    }

    #[test]
    fn a_missing_language_in_the_box_names_its_debian_package() {
        assert_eq!(fix("python"), "apt-get install python3");
        assert_eq!(fix("node"), "apt-get install nodejs");
    }
}

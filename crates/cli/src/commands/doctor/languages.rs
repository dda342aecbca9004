//! Checks of the languages that `--lang` accepts: the interpreter or compiler, and its version.

use headwater_sandbox::doctor::Check;
use headwater_worker::config::Config;
use headwater_worker::languages::{Entry, Languages};

/// Finds the tool of every language and asks for its version.
pub fn check(config: &Config) -> Vec<Check> {
    let languages = Languages::find(&config.languages, &config.binds);
    // In parallel: some take a while to print their version.
    std::thread::scope(|scope| {
        let asked: Vec<_> =
            languages.all().map(|entry| (entry, scope.spawn(|| entry.ask_version().is_some()))).collect();
        let checks = asked.into_iter().map(|(entry, asked)| {
            let _ = asked.join();
            result(entry)
        });
        checks.collect()
    })
}

fn result(entry: &Entry) -> Check {
    let name = format!("language {}", entry.name);
    let Some(language) = entry.language() else {
        let detail =
            format!("not installed in a folder that sessions can see: `--lang {}` is refused", entry.name);
        return Check::warning(name, detail, entry.remedy());
    };
    let tool = &language.interpreter;
    Check::fine(name, entry.version().map_or_else(|| tool.clone(), |version| format!("{tool}: {version}")))
}

#[cfg(test)]
mod tests {
    use headwater_sandbox::doctor::Severity;

    use super::*;
    use crate::commands::doctor::table::lines;
    use crate::snapshot;
    use crate::style::Style;

    #[test]
    fn a_missing_interpreter_is_reported_with_its_fix_and_an_installed_one_with_its_version() {
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
    fn a_missing_language_matches_its_snapshot() {
        let folder = tempfile::tempdir().unwrap();
        let text = "[languages.rare]\ninterpreters = [\"no-such-program\"]\nargs = []\n";
        std::fs::write(folder.path().join("headwater.toml"), text).unwrap();
        let mut checks = check(&Config::load(folder.path(), None).unwrap());
        checks.retain(|check| check.name == "language rare");
        snapshot::assert("doctor-language", &lines(&checks.into(), Style::plain()).join("\n"));
    }

    #[test]
    fn a_missing_language_names_its_debian_package() {
        let folder = tempfile::tempdir().unwrap();
        let text = "[languages.ruby]\ninterpreters = [\"no-such-program\"]\n";
        std::fs::write(folder.path().join("headwater.toml"), text).unwrap();
        let checks = check(&Config::load(folder.path(), None).unwrap());
        let ruby = checks.iter().find(|check| check.name == "language ruby").unwrap();
        assert_eq!(ruby.fix.as_deref(), Some("apt-get install ruby"));
    }
}

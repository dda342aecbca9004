//! The languages that code can be given in: which tool, which version.

use headwater_sandbox::doctor::Check;
use headwater_worker::config::Config;
use headwater_worker::languages::{Entry, Languages};

/// Looks for the tools.
pub fn check(config: &Config) -> Vec<Check> {
    let languages = Languages::find(&config.languages, &config.binds);
    // All at once: some take a while to tell their version.
    std::thread::scope(|scope| {
        let asked: Vec<_> =
            languages.all().map(|entry| (entry, scope.spawn(|| entry.ask_version().is_some()))).collect();
        let told = asked.into_iter().map(|(entry, asked)| {
            let _ = asked.join();
            look(entry)
        });
        told.collect()
    })
}

fn look(entry: &Entry) -> Check {
    let name = format!("language {}", entry.name);
    let Some(language) = entry.language() else {
        let detail =
            format!("its tool is in no folder that a session sees: `--lang {}` is refused", entry.name);
        return Check::warning(name, detail, entry.remedy());
    };
    let tool = &language.interpreter;
    Check::fine(name, entry.version().map_or_else(|| tool.clone(), |said| format!("{tool}: {said}")))
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
    fn a_missing_language_reads_like_this() {
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

//! An installed language: turns code or a file into a program and its arguments.

use headwater_protocol::{Limits, shell_quote};

use super::config::LanguageConfig;

const CODE: &str = "{code}";
const FILE: &str = "{file}";
/// The name of the built program in the temporary folder.
const PROGRAM: &str = "program";

/// A language that is installed on this host.
#[derive(Debug, Clone, PartialEq)]
pub struct Language {
    /// The name that requests use.
    pub name: String,
    /// The path of the interpreter or compiler in a session.
    pub interpreter: String,
    /// The file name suffix without the dot; may be empty.
    pub suffix: String,
    /// The limits of its code.
    pub limits: Limits,
    /// An interpreter in the workspace that is used instead if it exists.
    pub environment: Option<String>,
    /// Whether it is compiled before it runs.
    pub can_build: bool,
    args: Option<Vec<String>>,
    run_file: Vec<String>,
    run_long: Vec<String>,
    build: Option<Build>,
}

/// How a language is compiled.
#[derive(Debug, Clone, PartialEq)]
struct Build {
    args: Vec<String>,
    env: Vec<(String, String)>,
    run: Vec<String>,
}

/// A file that is compiled, and where.
#[derive(Debug)]
struct Places<'a> {
    file: &'a str,
    dir: &'a str,
}

impl Language {
    pub(super) fn new(name: &str, interpreter: String, config: &LanguageConfig) -> Self {
        let run_file = config.run_file.clone().unwrap_or_else(|| vec![FILE.to_owned()]);
        let wall_ms = config.max_runtime.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
        let build = config.build.as_ref().map(|args| Build {
            args: args.clone(),
            env: config
                .build_env
                .iter()
                .flatten()
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect(),
            run: config.run_built.clone().unwrap_or_else(|| vec!["{out}".to_owned()]),
        });
        Self {
            name: name.to_owned(),
            interpreter,
            suffix: config.all_suffixes().into_iter().next().unwrap_or_default(),
            limits: config.limits.tightest(&Limits { wall_ms, ..Limits::default() }),
            environment: config.environment.clone(),
            can_build: build.is_some() || config.compiles == Some(true),
            args: config.args.clone(),
            run_long: config.run_long.clone().unwrap_or_else(|| run_file.clone()),
            run_file,
            build,
        }
    }

    /// The language with another interpreter of the same kind.
    #[must_use]
    pub(crate) fn with_interpreter(mut self, interpreter: String) -> Self {
        self.interpreter = interpreter;
        self
    }

    /// Whether a run needs a temporary folder for compilation.
    pub fn needs_folder(&self) -> bool {
        self.build.is_some()
    }

    /// The command that runs this code, if the language accepts code as an argument.
    pub fn run_code(&self, code: &str, args: &[String]) -> Option<Vec<String>> {
        let pattern = self.args.as_ref().filter(|_| self.build.is_none())?;
        Some(self.argv(pattern, CODE, code, args))
    }

    /// The command that runs the code in this file as if it were an argument.
    pub fn run_long(&self, file: &str, args: &[String]) -> Vec<String> {
        let pattern = if self.args.is_some() { &self.run_long } else { &self.run_file };
        self.argv(pattern, FILE, file, args)
    }

    /// The command that runs this file, whose path is the one in a session; `dir` is the folder for compilation.
    pub fn run_file(&self, file: &str, dir: &str, args: &[String]) -> Vec<String> {
        match &self.build {
            Some(build) => self.build_and_run(build, &Places { file, dir }, args),
            None => self.argv(&self.run_file, FILE, file, args),
        }
    }

    fn argv(&self, pattern: &[String], place: &str, value: &str, args: &[String]) -> Vec<String> {
        let fill = |arg: &String| if arg == place { value.to_owned() } else { arg.clone() };
        let first = std::iter::once(self.interpreter.clone());
        first.chain(pattern.iter().map(fill)).chain(args.iter().cloned()).collect()
    }

    /// A shell command that compiles and then executes the program. The compiler's temporary files go into the same folder,
    /// and it does not read the program's input.
    fn build_and_run(&self, build: &Build, places: &Places<'_>, args: &[String]) -> Vec<String> {
        let mut words = vec![format!("TMPDIR={}", shell_quote(places.dir))];
        words.extend(build.env.iter().map(|(name, value)| format!("{name}={}", shell_quote(value))));
        words.push(shell_quote(&self.interpreter));
        words.extend(build.args.iter().map(|arg| shell_quote(&places.fill(arg))));
        let run: Vec<_> = build.run.iter().map(|arg| shell_quote(&places.fill(arg))).collect();
        let script = format!("{} </dev/null || exit $?\nexec {} \"$@\"", words.join(" "), run.join(" "));
        let shell = ["/bin/sh", "-c", &script, "build"].map(ToOwned::to_owned);
        shell.into_iter().chain(args.iter().cloned()).collect()
    }
}

impl Places<'_> {
    /// Replaces the placeholders in a word. The file's path last: it may contain text that looks like a placeholder.
    fn fill(&self, word: &str) -> String {
        let (folder, name) = self.file.rsplit_once('/').unwrap_or((".", self.file));
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        word.replace("{out}", &format!("{}/{PROGRAM}", self.dir))
            .replace("{dir}", self.dir)
            .replace("{folder}", folder)
            .replace("{stem}", stem)
            .replace(FILE, self.file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn language(text: &str) -> Language {
        Language::new("mine", "/usr/bin/mine".into(), &toml::from_str(text).unwrap())
    }

    #[test]
    fn a_compiled_language_is_compiled_by_a_shell_that_becomes_the_program() {
        let mine =
            language("build = [\"-o\", \"{out}\", \"{file}\"]\nbuild_env = { A = \"b c\" }\nsuffix = \"m\"");
        assert!(mine.needs_folder() && mine.can_build && mine.run_code("x", &[]).is_none());
        let argv = mine.run_file("/workspace/it's.m", "/tmp/d", &["x y".into()]);
        let script = "TMPDIR='/tmp/d' A='b c' '/usr/bin/mine' '-o' '/tmp/d/program' '/workspace/it'\\''s.m' </dev/null \
                      || exit $?\nexec '/tmp/d/program' \"$@\"";
        assert_eq!(argv, ["/bin/sh", "-c", script, "build", "x y"]);
    }

    #[test]
    fn a_built_program_can_be_run_by_another_program() {
        let mine = language("build = [\"{file}\"]\nrun_built = [\"node\", \"{dir}/{stem}.js\"]");
        let script = &mine.run_file("/a/b.c.ts", "/tmp/d", &[])[2];
        assert!(script.ends_with("exec 'node' '/tmp/d/b.c.js' \"$@\""), "{script}");
    }

    #[test]
    fn code_waits_in_a_file_where_nothing_says_how_it_is_an_argument() {
        let mine = language("run_file = [\"-f\", \"{file}\"]");
        assert_eq!(mine.run_code("x", &[]), None);
        assert_eq!(mine.run_long("f", &["a".into()])[1..], ["-f", "f", "a"]);
    }

    #[test]
    fn the_longest_run_is_a_limit() {
        let mine = language("args = []\nmax_runtime = \"300s\"\nlimits = { wall = \"10m\", pids = 9 }");
        assert_eq!((mine.limits.wall_ms, mine.limits.pids), (Some(300_000), Some(9)));
    }
}

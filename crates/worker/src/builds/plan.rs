//! From what was asked for to what has to be done: which compiler, which flags, which keys.

use std::path::Path;

use headwater_contract::{Fault, FaultKind};
use headwater_protocol::build::CompileSpec;
use headwater_workspace::{Workspace, WorkspacePath};
use serde::{Deserialize, Serialize};

use super::cache::{Cache, Entry, Kind, Told};
use super::compiler::{Compilers, choose, processor};
use super::config::{BuildsConfig, Share};
use super::flags::Flags;
use super::inputs::{Inputs, OURS, Scans, Taking, Unit};
use super::key::{Key, KeyMaker};
use super::system::{SystemFiles, host_path};

/// Sources of one build.
const MAX_SOURCES: usize = 2000;

/// One source, and what is known of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PlannedUnit {
    pub(crate) source: String,
    /// What its object is kept under, if it may be.
    pub(crate) key: Option<Key>,
    /// Files of the workspace that it may read without becoming something else.
    pub(crate) reads: Vec<String>,
    /// The cache has its object.
    pub(crate) hit: Option<Told>,
}

/// What has to be done.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Plan {
    pub(crate) compiler: String,
    pub(crate) is_clang: bool,
    /// `c++` or `c`.
    pub(crate) language: String,
    pub(crate) compile: Vec<String>,
    pub(crate) link: Vec<String>,
    pub(crate) plain: bool,
    pub(crate) units: Vec<PlannedUnit>,
    /// What the binary is kept under, if it may be.
    pub(crate) key: Option<Key>,
    /// Where in the workspace it goes.
    pub(crate) output: String,
    pub(crate) timeout_ms: u64,
}

/// What planning looks at.
pub(crate) struct Planner<'a> {
    pub(crate) config: &'a BuildsConfig,
    pub(crate) binds: &'a [headwater_sandbox::wire::Bind],
    pub(crate) cache: &'a Cache,
    pub(crate) compilers: &'a Compilers,
    pub(crate) files: &'a SystemFiles,
    pub(crate) scans: &'a Scans,
}

/// What a build comes to before anything is run.
pub(crate) enum Outlook {
    /// The cache has it all.
    Whole(Box<Plan>, Entry),
    /// Something must be done, with these files. The objects that the cache has are read when they are needed, one at a
    /// time: all at once may be more than there is memory for.
    Work(Box<Plan>, Inputs),
}

impl Planner<'_> {
    /// Plans a build. Blocks.
    pub(crate) fn plan(
        &self,
        spec: &CompileSpec,
        owner: &str,
        workspace: &Workspace,
        home: &str,
    ) -> Result<Outlook, Fault> {
        let flags = Flags::parse(&spec.flags, &spec.sanitize)?;
        let name =
            choose(spec.compiler.as_deref(), spec.language, &self.config.compiler, &self.config.compilers)?;
        let (sources, output) = paths(spec, home)?;
        let compiler = self.compilers.find(&name, self.files)?;
        let inputs = Taking::new(workspace, home, self.scans, &flags, &output).take(&sources)?;
        let language = match spec.language {
            headwater_protocol::build::Compiled::Cpp => "c++",
            headwater_protocol::build::Compiled::C => "c",
        };
        let mut base = KeyMaker::new("object");
        let scope = if self.config.share == Share::All { "" } else { owner };
        base.part(scope.as_bytes())
            .part(compiler.identity.bytes())
            .part(language.as_bytes())
            .part(home.as_bytes());
        base.parts(flags.compile.iter().map(String::as_bytes));
        base.part(if flags.native { processor() } else { String::new() }.as_bytes());
        let unit = |unit: &Unit| PlannedUnit {
            source: unit.source.clone(),
            key: (flags.plain && !flags.timed && !unit.timed).then(|| object_key(&base, unit, &inputs)),
            reads: unit.reads.iter().cloned().collect(),
            hit: None,
        };
        let units: Vec<_> = inputs.units.iter().map(unit).collect();
        let keys: Option<Vec<Key>> = units.iter().map(|unit| unit.key).collect();
        let plan = Plan {
            key: keys.map(|keys| binary_key(&keys, &flags, &output)),
            compiler: compiler.path,
            is_clang: compiler.is_clang,
            language: language.to_owned(),
            compile: flags.compile,
            link: flags.link,
            plain: flags.plain,
            units,
            output,
            timeout_ms: self.timeout_ms(spec),
        };
        Ok(self.look_up(plan, inputs))
    }

    fn timeout_ms(&self, spec: &CompileSpec) -> u64 {
        let most = u64::try_from(self.config.timeout.as_millis()).unwrap_or(u64::MAX);
        spec.timeout_ms.unwrap_or(most).clamp(1, most)
    }

    fn look_up(&self, mut plan: Plan, inputs: Inputs) -> Outlook {
        if let Some(key) = plan.key
            && let Some(entry) = self.good(Kind::Binary, key)
        {
            return Outlook::Whole(Box::new(plan), entry);
        }
        for unit in &mut plan.units {
            unit.hit = unit.key.and_then(|key| self.good(Kind::Object, key)).map(|entry| entry.told);
        }
        Outlook::Work(Box::new(plan), inputs)
    }

    /// An entry whose files of the system are as they were.
    fn good(&self, kind: Kind, key: Key) -> Option<Entry> {
        let entry = self.cache.get(kind, key)?;
        let is_same = |(path, then): &(String, Key)| {
            let now = host_path(path, self.binds).and_then(|path| self.files.hash(&path).ok());
            now == Some(*then)
        };
        entry.told.system.iter().all(is_same).then_some(entry)
    }
}

fn object_key(base: &KeyMaker, unit: &Unit, inputs: &Inputs) -> Key {
    let mut maker = base.clone();
    maker.part(unit.source.as_bytes());
    for path in &unit.reads {
        if let Some(input) = inputs.files.get(path) {
            maker.part(path.as_bytes()).part(input.hash.bytes());
        }
    }
    maker.key()
}

/// The compiler is in the keys of the objects; the name of the output, because it may be part of it (`-shared`).
fn binary_key(objects: &[Key], flags: &Flags, output: &str) -> Key {
    let mut maker = KeyMaker::new("binary");
    maker.parts(objects.iter().map(|key| key.bytes().as_slice()));
    maker.parts(flags.link.iter().map(String::as_bytes));
    maker.part(Path::new(output).file_name().unwrap_or_default().as_encoded_bytes());
    maker.key()
}

/// The sources and the output, as paths in the workspace.
fn paths(spec: &CompileSpec, home: &str) -> Result<(Vec<String>, String), Fault> {
    let invalid = |message: String, hint: &str| Fault::new(FaultKind::Invalid, message).hint(hint);
    if spec.source_files.is_empty() || spec.source_files.len() > MAX_SOURCES {
        let message = format!("there are {} source files", spec.source_files.len());
        return Err(invalid(message, &format!("name between 1 and {MAX_SOURCES} in `source_files`")));
    }
    let mut sources: Vec<String> = Vec::new();
    for source in &spec.source_files {
        let source = WorkspacePath::parse(source, home)?.to_string();
        if sources.contains(&source) {
            return Err(invalid(format!("the source file `{source}` is named twice"), "name it once"));
        }
        sources.push(source);
    }
    let output = WorkspacePath::parse(&spec.output_binary, home)?.to_string();
    if sources.contains(&output) {
        return Err(invalid(
            format!("`{output}` is a source and the output"),
            "choose another `output_binary`",
        ));
    }
    let ours = |path: &&String| path.split('/').next() == Some(OURS);
    if let Some(path) = sources.iter().chain([&output]).find(ours) {
        return Err(invalid(
            format!("the path `{path}` is taken"),
            "builds keep what they make on the way there",
        ));
    }
    Ok((sources, output))
}

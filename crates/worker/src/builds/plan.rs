//! Plans a build: compiler, flags, inputs and keys.

use std::path::Path;

use headwater_contract::{Fault, FaultKind};
use headwater_protocol::build::CompileSpec;
use headwater_workspace::{Workspace, WorkspacePath};
use serde::{Deserialize, Serialize};

use super::cache::{Cache, CompileOutput, Entry, Kind};
use super::compiler::{Compilers, choose, processor};
use super::config::{BuildsConfig, Share};
use super::flags::Flags;
use super::inputs::{BUILD_DIR, InputCollector, Inputs, Scans, Unit};
use super::key::{Key, KeyBuilder};
use super::system::{SystemFiles, host_path};

/// The most sources of one build.
const MAX_SOURCES: usize = 2000;

/// One source of a plan.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PlannedUnit {
    pub(crate) source: String,
    /// The key of its object, if it may be cached.
    pub(crate) key: Option<Key>,
    /// The files of the workspace that its key includes.
    pub(crate) reads: Vec<String>,
    /// The output of the compiler, if its object is cached.
    pub(crate) hit: Option<CompileOutput>,
}

/// The plan of a build.
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
    /// The key of the binary, if it may be cached.
    pub(crate) key: Option<Key>,
    /// The path of the binary in the workspace.
    pub(crate) output: String,
    pub(crate) timeout_ms: u64,
}

/// What planning needs.
pub(crate) struct Planner<'a> {
    pub(crate) config: &'a BuildsConfig,
    pub(crate) binds: &'a [headwater_sandbox::wire::Bind],
    pub(crate) cache: &'a Cache,
    pub(crate) compilers: &'a Compilers,
    pub(crate) files: &'a SystemFiles,
    pub(crate) scans: &'a Scans,
}

/// The outcome of planning.
pub(crate) enum Planned {
    /// The binary is cached.
    Cached(Box<Plan>, Entry),
    /// A build is needed, with these inputs. Cached objects are read later, one at a time: all at once might not fit into
    /// memory.
    Needed(Box<Plan>, Inputs),
}

impl Planner<'_> {
    /// Plans a build. Blocks.
    pub(crate) fn plan(
        &self,
        spec: &CompileSpec,
        owner: &str,
        workspace: &Workspace,
        home: &str,
    ) -> Result<Planned, Fault> {
        let flags = Flags::parse(&spec.flags, &spec.sanitize)?;
        let name =
            choose(spec.compiler.as_deref(), spec.language, &self.config.compiler, &self.config.compilers)?;
        let (sources, output) = paths(spec, home)?;
        let compiler = self.compilers.find(&name, self.files)?;
        let inputs = InputCollector::new(workspace, home, self.scans, &flags, &output).collect(&sources)?;
        let language = match spec.language {
            headwater_protocol::build::Compiled::Cpp => "c++",
            headwater_protocol::build::Compiled::C => "c",
        };
        let mut base = KeyBuilder::new("object");
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

    fn look_up(&self, mut plan: Plan, inputs: Inputs) -> Planned {
        if let Some(key) = plan.key
            && let Some(entry) = self.valid_entry(Kind::Binary, key)
        {
            return Planned::Cached(Box::new(plan), entry);
        }
        for unit in &mut plan.units {
            unit.hit = unit.key.and_then(|key| self.valid_entry(Kind::Object, key)).map(|entry| entry.output);
        }
        Planned::Needed(Box::new(plan), inputs)
    }

    /// An entry whose system files are unchanged.
    fn valid_entry(&self, kind: Kind, key: Key) -> Option<Entry> {
        let is_same = |(path, then): &(String, Key)| {
            let now = host_path(path, self.binds).and_then(|path| self.files.hash(&path).ok());
            now == Some(*then)
        };
        let found = self.cache.get(kind, key).filter(|entry| entry.output.system.iter().all(is_same));
        self.cache.counter.count(found.is_some());
        found
    }
}

fn object_key(base: &KeyBuilder, unit: &Unit, inputs: &Inputs) -> Key {
    let mut builder = base.clone();
    builder.part(unit.source.as_bytes());
    for path in &unit.reads {
        if let Some(input) = inputs.files.get(path) {
            builder.part(path.as_bytes()).part(input.hash.bytes());
        }
    }
    builder.key()
}

/// The keys of the objects include the compiler. The name of the output may be part of the binary (`-shared`).
fn binary_key(objects: &[Key], flags: &Flags, output: &str) -> Key {
    let mut builder = KeyBuilder::new("binary");
    builder.parts(objects.iter().map(|key| key.bytes().as_slice()));
    builder.parts(flags.link.iter().map(String::as_bytes));
    builder.part(Path::new(output).file_name().unwrap_or_default().as_encoded_bytes());
    builder.key()
}

/// The sources and the output, as paths in the workspace.
fn paths(spec: &CompileSpec, home: &str) -> Result<(Vec<String>, String), Fault> {
    let invalid = |message: String, hint: &str| Fault::new(FaultKind::Invalid, message).hint(hint);
    if spec.source_files.is_empty() || spec.source_files.len() > MAX_SOURCES {
        let message = format!("the build has {} source files", spec.source_files.len());
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
    let is_reserved = |path: &&String| path.split('/').next() == Some(BUILD_DIR);
    if let Some(path) = sources.iter().chain([&output]).find(is_reserved) {
        return Err(invalid(
            format!("the path `{path}` is reserved"),
            "builds use this folder for intermediate files",
        ));
    }
    Ok((sources, output))
}

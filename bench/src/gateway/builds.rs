//! C++ builds through the API: cold, with the object in the cache, and fully cached; compared with plain g++,
//! with ccache, and with copying the binary and hashing its inputs.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::bench_server::{BenchServer, run_to_exit, session};
use super::http::Http;
use crate::bench_worker::Effort;
use crate::report::{Goal, Report};
use crate::stats::Samples;

/// A small file with some headers of the standard library.
const SOURCE: &str = "#include <algorithm>\n#include <iostream>\n#include <map>\n#include <string>\n#include <vector>\n\
    int main() {\n    std::map<std::string, std::vector<int>> all;\n    all[\"a\"] = {3, 1, 2};\n\
    \x20   std::sort(all[\"a\"].begin(), all[\"a\"].end());\n    std::cout << all[\"a\"].front() << std::endl;\n}\n";
const FLAGS: [&str; 2] = ["-std=c++17", "-O2"];

/// Runs the benchmark.
pub async fn measure(effort: Effort) -> Result<Report> {
    let (slow, fast) = (effort.pick(20, 5), effort.pick(300, 60));
    let site = BenchServer::start(4).await?;
    let mut http = site.http().await?;
    let session = session(&mut http).await?;
    let host = Host::new(site.scratch())?;
    let quoted = SOURCE.replace('\'', "'\\''");
    let write = json!({ "shell": format!("printf %s '{quoted}' > main.cpp") }).to_string();
    run_to_exit(&mut http, &session, &write).await?;
    let mut times = Times::default();
    for n in 0..slow {
        times.plain.time(|| host.plain())?;
        if host.has_ccache {
            times.ccache.time(|| host.ccache())?;
        }
        let unseen = format!("-DROUND={n}");
        times.cold.add(build(&mut http, &session, &unseen, "cold").await?);
        let linked_anew = format!("-Wl,-rpath,/{n}");
        times.object.add(build(&mut http, &session, &linked_anew, "object").await?);
    }
    build(&mut http, &session, "-DWHOLE", "cold").await?;
    for _ in 0..fast {
        times.floor.time(|| host.copy_and_hash())?;
        times.whole.add(build(&mut http, &session, "-DWHOLE", "whole").await?);
    }
    Ok(times.report(slow, fast, host.inputs.len(), host.has_ccache))
}

#[derive(Default)]
struct Times {
    plain: Samples,
    ccache: Samples,
    cold: Samples,
    object: Samples,
    whole: Samples,
    floor: Samples,
}

impl Times {
    fn report(&self, slow: usize, fast: usize, inputs: usize, has_ccache: bool) -> Report {
        let title =
            format!("C++ through the API, one source: {slow} rounds of compiles, {fast} of whole hits");
        let mut report = Report::new("builds", title);
        report.times("g++, compile and link", &self.plain);
        if has_ccache {
            report.times("ccache, object hit, and link", &self.ccache);
        } else {
            report.note("ccache is not installed (`scripts/setup.sh bench`)");
        }
        report.times("build, cold", &self.cold);
        report.times("build, object hit", &self.object);
        report.times("build, whole hit", &self.whole);
        report.times(format!("cp of the binary, and hashing its {inputs} inputs"), &self.floor);
        let beside = |one: &Samples, other: &Samples| one.p50() / other.p50();
        report.ratio("whole hit beside g++", beside(&self.whole, &self.plain), Goal::AtMost(0.05));
        report.ratio("whole hit beside cp and hashing", beside(&self.whole, &self.floor), Goal::AtMost(2.0));
        report.ratio("cold beside g++", beside(&self.cold, &self.plain), Goal::None);
        report.ratio("object hit beside g++", beside(&self.object, &self.plain), Goal::None);
        if has_ccache {
            report.ratio("object hit beside ccache and link", beside(&self.object, &self.ccache), Goal::None);
        }
        report
    }
}

/// Builds, and checks that the cache was used as this round expects.
async fn build(http: &mut Http, session: &str, flag: &str, expected: &str) -> Result<std::time::Duration> {
    let flags: Vec<_> = FLAGS.iter().copied().chain([flag]).collect();
    let request = json!({
        "session_id": session, "source_files": ["main.cpp"], "output_binary": "main", "flags": flags,
    });
    let body = request.to_string();
    let begun = Instant::now();
    let built: Value = http.call("POST", "/v1/sessions/build/cpp", &body, 200).await?;
    let took = begun.elapsed();
    let found = match (built["cached"].as_bool(), built["cached_objects"].as_u64()) {
        (Some(true), _) => "whole",
        (_, Some(1)) => "object",
        _ => "cold",
    };
    // The first build with the object's flags is cold.
    let first = expected == "object" && flag.ends_with("/0");
    ensure!(built["status"] == "success" && (found == expected || first), "{expected}: {built}");
    Ok(took)
}

/// The same commands on the host.
struct Host {
    folder: PathBuf,
    has_ccache: bool,
    inputs: Vec<PathBuf>,
}

impl Host {
    fn new(scratch: &Path) -> Result<Self> {
        let folder = scratch.join("by-hand");
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join("main.cpp"), SOURCE)?;
        let has_ccache = Command::new("ccache").arg("--version").stdout(Stdio::null()).status().is_ok();
        let mut host = Self { folder, has_ccache, inputs: Vec::new() };
        host.plain()?;
        if host.has_ccache {
            host.ccache()?;
        }
        let listed = host.command("g++").args(FLAGS).args(["-M", "main.cpp"]).output()?;
        let listed = String::from_utf8(listed.stdout)?;
        let files = listed.split_once(':').context("no dependencies")?.1;
        let files = files.split_whitespace().filter(|word| *word != "\\");
        host.inputs = files.map(|file| host.folder.join(file)).collect();
        Ok(host)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.folder).env("CCACHE_DIR", self.folder.join("ccache"));
        command
    }

    fn run(&self, program: &str, args: &[&str]) -> Result<()> {
        let status = self.command(program).args(args).status()?;
        ensure!(status.success(), "{program} ended with {status}");
        Ok(())
    }

    fn plain(&self) -> Result<()> {
        self.run("g++", &[FLAGS[0], FLAGS[1], "main.cpp", "-o", "main"])
    }

    fn ccache(&self) -> Result<()> {
        self.run("ccache", &["g++", FLAGS[0], FLAGS[1], "-c", "main.cpp", "-o", "main.o"])?;
        self.run("g++", &["main.o", "-o", "main"])
    }

    fn copy_and_hash(&self) -> Result<()> {
        for input in &self.inputs {
            std::hint::black_box(blake3::hash(&std::fs::read(input)?));
        }
        self.run("cp", &["main", "copy"])
    }
}

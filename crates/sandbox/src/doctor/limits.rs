//! Limits on memory, processors and processes: exceeded in a cgroup, to check that the kernel enforces them.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use headwater_protocol::Limits;
use rustix::fs::Access;

use super::Check;
use super::child::in_child;
use super::facts::Facts;
use super::refusal::{Finding, OrRefused, Refusal};
use super::rlimits::{self, count_forks};
use crate::cgroup::{CgroupRoot, Discovered, SessionCgroup, Unusable, WORKERS_FOLDER};

/// The memory limit of a program that allocates twice as much.
const MEMORY_BYTES: u64 = 32 << 20;
/// The CPU limit: a tenth of a processor, throttled after 10 ms.
const CPUS: f64 = 0.1;
/// Long enough to be throttled for certain, even on a busy machine.
const BURN_TIME: Duration = Duration::from_millis(150);
/// The process limit of a program that starts more.
const MAX_PIDS: u32 = 8;

/// Checks the cgroup limits, or the resource limits that replace them.
pub(super) fn check(facts: &Facts) -> Vec<Check> {
    match CgroupRoot::discover() {
        Discovered::Ready(root) => with_cgroups(&root, facts),
        Discovered::Nothing { reasons, .. } => without_cgroups(&shortened(&reasons), facts),
    }
}

/// The checks on a host without cgroups.
fn without_cgroups(why: &str, facts: &Facts) -> Vec<Check> {
    let detail = format!("none: {why}; resource limits of each process are used instead");
    vec![
        Check::warning("cgroups", detail, fix(facts)),
        memory_without(facts),
        cpu_without(facts),
        pids_without(facts),
        ending_without(),
    ]
}

/// The first reason that matters, and the number of others.
fn shortened(reasons: &[Unusable]) -> String {
    let mut matter = reasons.iter().filter(|reason| !matches!(reason, Unusable::NoController(_)));
    let first = matter.next().map(ToString::to_string).unwrap_or_default();
    match matter.count() {
        0 => first,
        more => format!("{first} (and {more} more)"),
    }
}

/// How to get cgroups.
fn fix(facts: &Facts) -> String {
    let systemd = fs::exists("/run/systemd/system").unwrap_or(false);
    match (systemd, facts.root) {
        (true, false) => {
            "start the worker where cgroups are delegated to it: \
             systemd-run --user --scope -p Delegate=yes headwater worker"
        }
        (true, true) => {
            "start the worker in its own scope: systemd-run --scope -p Delegate=yes headwater worker"
        }
        (false, false) => "start the worker as root",
        // It is writable, so other processes in our cgroup are the obstacle.
        (false, true) if rustix::fs::access("/sys/fs/cgroup/cgroup.procs", Access::WRITE_OK).is_ok() => {
            "start the worker in its own cgroup: mkdir -p /sys/fs/cgroup/headwater && \
             sh -c 'echo 0 >/sys/fs/cgroup/headwater/cgroup.procs && exec headwater worker'"
        }
        (false, true) => {
            "mount a writable cgroup file system (mount -t cgroup2 none /sys/fs/cgroup), in a container \
             with --cgroupns=private and /sys/fs/cgroup writable"
        }
    }
    .to_owned()
}

/// Does what the worker does: if it cannot create a folder for its sessions it runs without cgroups, but a
/// session that cannot get its cgroup is refused.
fn with_cgroups(root: &CgroupRoot, facts: &Facts) -> Vec<Check> {
    // Removed together with the session in it.
    let place = match root.below(&format!("{WORKERS_FOLDER}doctor-{}", std::process::id())) {
        Ok(place) => place,
        Err(error) => return without_cgroups(&error.to_string(), facts),
    };
    let trial = match TrialCgroup::new(&place, root.missing()) {
        Ok(trial) => trial,
        Err(error) => {
            let detail =
                format!("the cgroup of a session cannot be created, so no session can start: {error}");
            let fix = "`grep cgroup /proc/self/mountinfo` shows the hierarchies: umount what is mounted twice or \
                       elsewhere than below /sys/fs/cgroup, and make the rest writable";
            return vec![Check::failure("cgroups", detail, fix)];
        }
    };
    let has = root.controllers();
    let cgroups = trial.found();
    vec![
        cgroups,
        limit("memory limit", has.memory, || trial.memory(), || memory_without(facts), facts),
        limit("cpu limit", has.cpu, || trial.cpu(), || cpu_without(facts), facts),
        limit("process limit", has.pids, || trial.pids(), || pids_without(facts), facts),
        trial.ending(),
    ]
}

/// Checks a limit in its cgroup, or its replacement.
fn limit(
    name: &str,
    there: bool,
    try_it: impl FnOnce() -> Finding,
    without: impl FnOnce() -> Check,
    facts: &Facts,
) -> Check {
    if !there {
        return without();
    }
    match try_it() {
        Ok(detail) => Check::fine(name, detail),
        Err(refusal) => {
            let detail = format!("the cgroup does not enforce it: {}", refusal.message);
            Check::warning(name, detail, fix(facts))
        }
    }
}

/// A session's cgroup with low limits; removed on drop.
struct TrialCgroup {
    cgroup: SessionCgroup,
    folders: Vec<PathBuf>,
    unusable: Vec<Unusable>,
    controllers: String,
}

impl TrialCgroup {
    fn new(place: &CgroupRoot, unusable: &[Unusable]) -> io::Result<Self> {
        let name = "session";
        let cgroup = place.create_session(name)?;
        let trial = Self {
            cgroup,
            folders: place.paths().map(|path| path.join(name)).collect(),
            unusable: unusable.to_vec(),
            controllers: place.controllers().names().collect::<Vec<_>>().join(", "),
        };
        let limits = Limits {
            memory_bytes: Some(MEMORY_BYTES),
            cpus: Some(CPUS),
            pids: Some(MAX_PIDS.into()),
            ..Limits::default()
        };
        trial.cgroup.set_limits(&limits)?;
        Ok(trial)
    }

    fn found(&self) -> Check {
        let parents = self.folders.iter().filter_map(|folder| folder.parent()?.parent());
        let places = parents.map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
        let versions = match (self.unified().is_some(), self.folders.len()) {
            (true, 1) => "version 2",
            (true, _) => "versions 1 and 2",
            (false, _) => "version 1",
        };
        let rest = match shortened(&self.unusable) {
            why if why.is_empty() => why,
            why => format!("; {why}"),
        };
        let controllers = if self.controllers.is_empty() { "nothing" } else { &self.controllers };
        Check::fine("cgroups", format!("{versions}, counting {controllers}, in {places}{rest}"))
    }

    /// The folder of the version 2 hierarchy, if there is one.
    fn unified(&self) -> Option<&PathBuf> {
        self.folders.iter().find(|folder| folder.join("cgroup.controllers").exists())
    }

    /// Runs `work` in a child that has joined the cgroup.
    fn inside<T>(&self, work: impl FnOnce() -> Result<T, Refusal>) -> Result<T, Refusal>
    where
        T: serde::Serialize + serde::de::DeserializeOwned,
    {
        let files = self.cgroup.procs_files().or_refused("open the cgroup")?;
        in_child(|| {
            join(&files)?;
            work()
        })
    }

    fn memory(&self) -> Finding {
        let before = self.cgroup.oom_kills();
        let taken = self.inside(|| {
            let wanted = usize::try_from(2 * MEMORY_BYTES).unwrap_or(usize::MAX);
            Ok(vec![1_u8; wanted].iter().map(|byte| usize::from(*byte)).sum::<usize>())
        });
        match (taken, self.cgroup.oom_kills() > before) {
            (Err(_), true) => {
                Ok("cgroup, for the session as a whole; a program that exceeds it ends as `oom`".to_owned())
            }
            (Err(refusal), false) => Err(refusal),
            (Ok(_), _) => {
                Err(Refusal::unexpected("a program allocated twice the memory that its cgroup allows"))
            }
        }
    }

    fn cpu(&self) -> Finding {
        let before = self.throttled();
        self.inside(|| {
            let end = Instant::now() + BURN_TIME;
            while Instant::now() < end {
                std::hint::spin_loop();
            }
            Ok(())
        })?;
        if self.throttled() <= before {
            return Err(Refusal::unexpected(
                "a program that used a whole processor was not throttled to a tenth of one",
            ));
        }
        Ok("cgroup bandwidth, for the session as a whole".to_owned())
    }

    /// How often the kernel has throttled the programs in it.
    fn throttled(&self) -> u64 {
        let texts = self.folders.iter().filter_map(|folder| fs::read_to_string(folder.join("cpu.stat")).ok());
        texts.filter_map(|text| number_after(&text, "nr_throttled")).max().unwrap_or(0)
    }

    fn pids(&self) -> Finding {
        // The child itself counts, too; and one more attempt than the limit allows.
        let made = self.inside(|| count_forks(MAX_PIDS))?;
        if made >= MAX_PIDS {
            return Err(Refusal::unexpected(format_args!(
                "{made} more processes were started in a cgroup for {MAX_PIDS}"
            )));
        }
        Ok("cgroup, for the session as a whole".to_owned())
    }

    fn ending(&self) -> Check {
        let at_once = self.unified().is_some_and(|folder| folder.join("cgroup.kill").exists());
        let how = if at_once {
            "all processes at once by cgroup.kill"
        } else {
            "init ends, and with it its pid namespace"
        };
        Check::fine("end of a session", how)
    }
}

impl Drop for TrialCgroup {
    fn drop(&mut self) {
        let _ = self.cgroup.kill(); // it should be empty by now
        let _ = self.cgroup.remove();
    }
}

fn join(files: &[OwnedFd]) -> Result<(), Refusal> {
    files.iter().try_for_each(|file| rustix::io::write(file, b"0").map(drop)).or_refused("join the cgroup")
}

fn memory_without(facts: &Facts) -> Check {
    let detail = match in_child(rlimits::memory) {
        Ok(()) => "RLIMIT_DATA instead: for each process, not for the session as a whole; no `oom` verdict"
            .to_owned(),
        Err(refusal) => format!("not enforced: {}", refusal.message),
    };
    Check::warning("memory limit", detail, fix(facts))
}

fn cpu_without(facts: &Facts) -> Check {
    Check::warning("cpu limit", "not enforced: only the scheduler shares the processors", fix(facts))
}

fn pids_without(facts: &Facts) -> Check {
    let detail = match in_child(|| rlimits::processes(facts)) {
        Ok(()) => "RLIMIT_NPROC instead: it counts the processes of the session's user namespace".to_owned(),
        Err(refusal) => format!("not enforced: {}", refusal.message),
    };
    Check::warning("process limit", detail, fix(facts))
}

fn ending_without() -> Check {
    Check::fine("end of a session", "init ends, and with it its pid namespace")
}

/// The number after `key` in a text of `key number` lines.
fn number_after(text: &str, key: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' ')?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_reasons_the_most_important_is_reported() {
        let bare = || Unusable::NoController("/x".into());
        let other = |text: &str| Unusable::Other(text.to_owned());
        let reasons = [bare(), other("cannot create cgroups in `/a`: no"), other("cannot create `/b`: no")];
        assert_eq!(shortened(&reasons), "cannot create cgroups in `/a`: no (and 1 more)");
        assert_eq!(shortened(&[bare()]), "");
    }

    #[test]
    fn how_often_programs_were_held_back_is_read_from_either_version() {
        let two = "usage_usec 15\nnr_periods 3\nnr_throttled 2\nthrottled_usec 140\n";
        let one = "nr_periods 3\nnr_throttled 1\nthrottled_time 140\n";
        assert_eq!(
            (number_after(two, "nr_throttled"), number_after(one, "nr_throttled")),
            (Some(2), Some(1))
        );
        assert_eq!(number_after(two, "nr_thrott"), None);
    }
}

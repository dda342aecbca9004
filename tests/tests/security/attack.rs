//! Tables of attacks: each is a few lines of Python, and what the host would see if it had succeeded.
//!
//! All probes of a table run in one execution, each in its own child, which stays when it is done; then the
//! host looks. Without walls every one of them must be seen to succeed, with walls none.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use headwater_protocol::{ExecutionId, Limits};
use headwater_tests::host;
use serde_json::{Value, json};

use crate::target::{ENTRIES, Entry, Side, Target, WALLED, with_argument};

/// One attack.
pub(crate) struct Attack {
    /// A description of the attack.
    pub(crate) name: &'static str,
    /// Where it must succeed.
    pub(crate) control: Side,
    /// Python. It finds the helpers of [`PRELUDE`]; its working directory is the workspace.
    pub(crate) probe: &'static str,
    /// Whether the host sees that it succeeded.
    pub(crate) seen: fn(&Evidence<'_>) -> bool,
}

/// The evidence that the host has of one attack.
pub(crate) struct Evidence<'a> {
    /// Processes of the attack.
    pub(crate) pids: Vec<i32>,
    /// The session's workspace.
    pub(crate) workspace: PathBuf,
    /// A word that only this run has.
    pub(crate) token: &'a str,
    /// The values that the probe was given.
    pub(crate) info: &'a Value,
    /// The session's init.
    pub(crate) init: i32,
    /// The probe's number: it leaves what it found in `leak-N`.
    number: usize,
}

impl Evidence<'_> {
    /// Where the descriptors of the attack's processes lead.
    pub(crate) fn links(&self) -> Vec<String> {
        self.pids.iter().flat_map(|pid| descriptors(*pid)).map(|(_, link)| link).collect()
    }

    /// Whether one of them leads there.
    pub(crate) fn holds(&self, what: &str) -> bool {
        self.links().iter().any(|link| link.contains(what))
    }

    /// What the probe has written to its leak file.
    pub(crate) fn leak(&self) -> Vec<u8> {
        fs::read(self.workspace.join(format!("leak-{}", self.number))).unwrap_or_default()
    }

    /// Whether a field of the status of one of the processes is like this.
    pub(crate) fn status(&self, field: &str, like: impl Fn(&str) -> bool) -> bool {
        self.pids.iter().filter_map(|pid| host::status(*pid, field)).any(|value| like(&value))
    }

    /// A number that the probe was given.
    pub(crate) fn number(&self, name: &str) -> i32 {
        self.info[name].as_i64().and_then(|n| i32::try_from(n).ok()).expect("a given number")
    }

    /// A text that the probe was given.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.info[name].as_str().expect("a given text")
    }
}

/// The descriptors of a process: number and where it leads.
pub(crate) fn descriptors(pid: i32) -> Vec<(String, String)> {
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let link = |path: &Path| fs::read_link(path).map(|to| to.to_string_lossy().into_owned());
    entries
        .filter_map(|entry| Some((entry.file_name().into_string().ok()?, link(&entry.path()).ok()?)))
        .collect()
}

/// A namespace of a process.
pub(crate) fn namespace(pid: i32, kind: &str) -> String {
    fs::read_link(format!("/proc/{pid}/ns/{kind}")).map(|to| to.display().to_string()).unwrap_or_default()
}

/// The environment of probes: `V` has the values they are given, `N` is their number, `INIT` the first process of their session, `call`
/// a system call, `leak` writes down what was found, `put` writes a
/// file and reports a failure, `each` continues after a failure; `own_mounts` is for controls that mount.
const PRELUDE: &str = r#"
import ctypes, os, signal, socket, struct, subprocess, sys, time
C = ctypes.CDLL(None, use_errno=True)
HERE = os.getcwd()
def call(number, *args):
    args = [ctypes.c_long(a) if isinstance(a, int) else a for a in args]
    done = C.syscall(ctypes.c_long(number), *args)
    if done < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return done
def leak(data):
    with open(HERE + "/leak-%d" % N, "ab") as f:
        f.write(data if isinstance(data, bytes) else repr(data).encode())
def put(path, text):
    with open(path, "wb", 0) as f:
        f.write(text.encode())
def each(deeds):
    for deed in deeds:
        try:
            deed()
        except BaseException as error:
            print("case", N, repr(error))
def find_init(pid):
    while pid > 1:
        if open("/proc/%d/cmdline" % pid, "rb").read().startswith(b"headwater\0init\0"):
            break
        pid = int(open("/proc/%d/stat" % pid).read().rsplit(")")[-1].split()[1])
    return pid
INIT = find_init(os.getpid())
def own_mounts():
    "For controls: what is mounted from here on is not the host's."
    call(272, 0x20000)
    call(165, None, b"/", None, 0x44000, None)
def hold():
    while True:
        signal.pause()
for N, probe in enumerate(PROBES):
    there, done = os.pipe()
    if os.fork() == 0:
        os.close(there)
        C.prctl(15, b"case-%d" % N, 0, 0, 0)
        each([lambda: exec(probe, globals())])
        sys.stdout.flush()
        os.write(done, b"x")
        os.close(done)
        hold()
    os.close(done)
    os.read(there, 1)
    os.close(there)
print("all are " + "through", flush=True)
hold()
"#;

/// The values for the probes, and how to undo what they did to the host.
pub(crate) struct Brief {
    /// For `V`.
    pub(crate) values: Value,
    /// Undoes what a probe without walls has done to the host.
    pub(crate) undo: Box<dyn FnMut()>,
}

impl Brief {
    /// Values, and nothing to undo.
    pub(crate) fn values(values: Value) -> Self {
        Self { values, undo: Box::new(|| ()) }
    }
}

/// Makes all attacks of a table: where there are no walls, to see that they succeed there, and then through every
/// entry on both kinds of walls. `brief` prepares the host for each run, given the target and its user.
pub(crate) async fn attempt(
    class: u32,
    attacks: &[Attack],
    brief: impl Fn(&Target, u32) -> Result<Brief>,
) -> Result<()> {
    for side in [Side::OpenRoot, Side::OpenOrdinary] {
        if attacks.iter().any(|attack| attack.control == side) {
            let target = Target::new(side, class).await?;
            let seen = run(&target, Entry::Python, attacks, &brief).await?;
            for (attack, seen) in attacks.iter().zip(seen).filter(|(attack, _)| attack.control == side) {
                assert!(seen.0, "without walls ({side:?}) this must succeed: {}; {}", attack.name, seen.1);
            }
        }
    }
    for side in WALLED {
        let target = Target::new(side, class).await?;
        for entry in ENTRIES {
            let seen = run(&target, entry, attacks, &brief).await?;
            for (attack, seen) in attacks.iter().zip(seen) {
                assert!(!seen.0, "a hole ({side:?}, {entry:?}): {}; {}", attack.name, seen.1);
            }
        }
    }
    Ok(())
}

/// Runs the probes once; which were seen to succeed, and what they printed.
async fn run(
    target: &Target,
    entry: Entry,
    attacks: &[Attack],
    brief: &impl Fn(&Target, u32) -> Result<Brief>,
) -> Result<Vec<(bool, String)>> {
    let session = target.session(Limits::default()).await?;
    let mut info = brief(target, target.host_uid(session)?)?;
    let token = format!("token-{}", ExecutionId::random());
    info.values["token"] = json!(token);
    // Without walls some probes are for root alone, and some must not be made as root.
    let fits = |attack: &Attack| target.side.is_walled() || attack.control == target.side;
    let probes: Vec<_> =
        attacks.iter().map(|attack| if fits(attack) { attack.probe } else { "pass" }).collect();
    let code =
        format!("true, false = True, False\nV = {}\nPROBES = {}\n{PRELUDE}", info.values, json!(probes));
    let (id, mut watcher) = target.start(session, &entry.spec(&code)).await?;
    watcher.until_printed("all are through").await.with_context(|| format!("{:?} {entry:?}", target.side))?;
    let pids = with_argument(&token);
    let init = host::init_of(*pids.first().context("no process of the attack is there")?)?;
    let printed = format!("{}{}{}", watcher.seen.text(), watcher.seen.errors(), watcher.seen.screen());
    let seen = attacks.iter().enumerate().map(|(number, attack)| {
        let own = format!("case-{number}");
        let named = format!("{token}-{number}.");
        let mine = |pid: &i32| host::status(*pid, "Name").is_some_and(|name| name == own);
        let mut mine: Vec<_> = pids.iter().copied().filter(mine).collect();
        mine.extend(with_argument(&named));
        assert!(!mine.is_empty(), "the probe is gone: {}; {printed}", attack.name);
        let workspace = target.worker.workspace(session);
        let evidence = Evidence { pids: mine, workspace, token: &token, info: &info.values, init, number };
        let tells = format!("case {number} ");
        let lines = printed.lines().filter(|line| line.starts_with(&tells)).collect::<Vec<_>>().join("; ");
        ((attack.seen)(&evidence), lines)
    });
    let seen = seen.collect();
    // Programs of another user that the probes have started: without walls init cannot end them.
    for pid in with_argument(&format!("{token}-")) {
        let _ = host::signal(pid, rustix::process::Signal::KILL);
    }
    target.client.cancel(id, Some(std::time::Duration::ZERO)).await?;
    watcher.rest().await?;
    (info.undo)();
    target.end(session).await?;
    Ok(seen)
}

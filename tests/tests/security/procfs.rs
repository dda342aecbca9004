//! `/proc`, `/sys` and cgroups: they reveal nothing of the host or of init, and change nothing.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use anyhow::{Context, Result};
use headwater_protocol::Limits;
use headwater_tests::host;
use serde_json::json;

use crate::attack::{Attack, Brief, Evidence, attempt, descriptors};
use crate::target::{Entry, Side, Target, WALLED, with_argument};

const CLASS: u32 = 2;

/// A setting of the kernel that hardly matters, for the control to change.
const SETTING: &str = "/proc/sys/kernel/printk_ratelimit_burst";

fn leaked(evidence: &Evidence<'_>) -> bool {
    !evidence.leak().is_empty()
}

fn cgroup_of_the_attack(evidence: &Evidence<'_>) -> PathBuf {
    PathBuf::from(format!("/sys/fs/cgroup/{}/{}", evidence.text("hierarchy"), evidence.token))
}

const ATTACKS: [Attack; 9] = [
    Attack {
        name: "reads init's environment, memory, maps, descriptors or root",
        control: Side::OpenRoot,
        probe: "
each([lambda n=n: leak(open('/proc/%d/%s' % (INIT, n), 'rb').read(9)) for n in ('environ', 'maps', 'auxv', 'stack', 'syscall')]
    + [lambda n=n: leak(os.listdir('/proc/%d/%s/' % (INIT, n))) for n in ('root', 'cwd', 'fd', 'map_files')]
    + [lambda: leak(os.readlink('/proc/%d/exe' % INIT))])
memory = open('/proc/%d/mem' % INIT, 'rb', 0); memory.seek(0x400000); leak(memory.read(9))",
        seen: leaked,
    },
    Attack {
        name: "changes what the kernel thinks of init",
        control: Side::OpenRoot,
        probe: "
for name in ('oom_score_adj', 'timerslack_ns', 'coredump_filter', 'comm', 'autogroup'):
    each([lambda: put('/proc/%d/%s' % (INIT, name), '77')])",
        seen: |evidence| {
            let read = |name| fs::read_to_string(format!("/proc/{}/{name}", evidence.init)).unwrap_or_default();
            read("oom_score_adj").trim() == "77" || read("comm").trim() == "77"
        },
    },
    Attack {
        name: "changes a setting of the kernel",
        control: Side::OpenRoot,
        probe: "put('/proc/sys/kernel/printk_ratelimit_burst', '11')",
        seen: |_| fs::read_to_string(SETTING).is_ok_and(|value| value.trim() == "11"),
    },
    Attack {
        name: "reads the kernel's symbols, keys, timers, memory map or command line",
        control: Side::OpenRoot,
        probe: "
for name in ('kallsyms', 'kcore', 'keys', 'key-users', 'timer_list', 'iomem', 'cmdline', 'config.gz', 'slabinfo', 'vmallocinfo', 'kpageflags', 'modules', 'diskstats', 'partitions'):
    each([lambda: leak(open('/proc/' + name, 'rb').read(9))])",
        seen: leaked,
    },
    Attack {
        name: "reads /sys",
        control: Side::OpenRoot,
        probe: "leak(os.listdir('/sys/class/net'))",
        seen: leaked,
    },
    Attack {
        name: "makes a cgroup",
        control: Side::OpenRoot,
        probe: "os.mkdir('/sys/fs/cgroup/%s/%s' % (V['hierarchy'], V['token']))",
        seen: |evidence| {
            let place = cgroup_of_the_attack(evidence);
            let there = place.exists();
            let _ = fs::remove_dir(place); // the control's
            there
        },
    },
    Attack {
        name: "mounts the cgroups and leaves its own",
        control: Side::OpenRoot,
        probe: "
if V['open']: own_mounts()
os.mkdir('cg')
each([lambda: call(165, b'hw', b'cg', b'cgroup2', 0, None), lambda: call(165, b'hw', b'cg', b'cgroup', 0, b'pids'),
      lambda: leak(os.listdir('cg')[0])])",
        seen: leaked,
    },
    Attack {
        name: "opens the kernel's log",
        control: Side::OpenRoot,
        probe: "
kept = []
each([lambda p=p, m=m: kept.append(open(p, m, 0)) for p in ('/dev/kmsg', '/proc/kmsg') for m in ('rb', 'wb')])",
        seen: kernel_log_is_real,
    },
    Attack {
        name: "sees processes of others in /proc",
        control: Side::OpenRoot,
        probe: "
for pid in os.listdir('/proc'):
    if pid.isdigit(): each([lambda: leak(open('/proc/%s/cmdline' % pid, 'rb').read())])",
        seen: |evidence| host::contains(&evidence.leak(), b"headwater\0worker\0"),
    },
];

/// Whether one of the attack's descriptors is the kernel's log, and not what masks it.
fn kernel_log_is_real(evidence: &Evidence<'_>) -> bool {
    let null = fs::metadata("/dev/null").expect("a null device").rdev();
    let is_real = |pid: &i32| {
        descriptors(*pid).iter().filter(|(_, link)| link.ends_with("/kmsg")).any(|(number, _)| {
            fs::metadata(format!("/proc/{pid}/fd/{number}")).is_ok_and(|meta| meta.rdev() != null)
        })
    };
    evidence.pids.iter().any(is_real)
}

#[tokio::test]
async fn proc_and_sys_reveal_nothing_of_the_host_and_change_nothing() -> Result<()> {
    let before = fs::read_to_string(SETTING)?;
    let hierarchy = if fs::exists("/sys/fs/cgroup/pids")? { "pids" } else { "" };
    attempt(CLASS, &ATTACKS, |target, _| {
        let values = json!({ "hierarchy": hierarchy, "open": !target.side.is_walled() });
        let before = before.clone();
        Ok(Brief {
            values,
            undo: Box::new(move || fs::write(SETTING, &before).expect("the setting is restored")),
        })
    })
    .await
}

#[tokio::test]
async fn init_holds_no_secret_and_cannot_be_dumped() -> Result<()> {
    for side in WALLED {
        let target = Target::new(side, CLASS).await?;
        let session = target.session(Limits::default()).await?;
        let stay = format!("import signal; print('up', flush=True); signal.pause() # {session}");
        let (_, mut watcher) = target.start(session, &Entry::Python.spec(&stay)).await?;
        watcher.until_printed("up").await?;
        let program = with_argument(&session.to_string());
        let init = host::init_of(*program.first().context("the program is there")?)?;
        assert_eq!(fs::read(format!("/proc/{init}/environ"))?, b"", "init's environment");
        assert!(
            !fs::read(format!("/proc/{}/environ", target.worker.pid()))?.is_empty(),
            "the worker has one"
        );
        let owner = fs::metadata(format!("/proc/{init}/environ"))?.uid();
        assert_eq!(owner, 0, "what cannot be dumped is root's in /proc");
        assert_ne!(host::status(init, "Uid").unwrap_or_default().split_whitespace().next(), Some("0"));
    }
    Ok(())
}

#[tokio::test]
async fn no_path_of_the_host_is_in_mountinfo_but_the_workspace() -> Result<()> {
    for side in WALLED {
        let target = Target::new(side, CLASS).await?;
        let session = target.session(Limits::default()).await?;
        let seen =
            target.run(session, &Entry::Argv.spec("print(open('/proc/self/mountinfo').read())")).await?;
        let data = target.worker.data().to_string_lossy().into_owned();
        let lines: Vec<_> = seen
            .stdout
            .split(|byte| *byte == b'\n')
            .filter(|line| host::contains(line, data.as_bytes()))
            .collect();
        // The workspace's own, and those of /etc and of our tools, which are made in the same data folder.
        let ours: [&[u8]; 4] = [b" /workspace ", b" /etc ", b" /run/headwater ", b" /.cargo "];
        let known = |line: &&&[u8]| ours.iter().any(|place| host::contains(line, place));
        assert_eq!(lines.iter().filter(known).count(), lines.len(), "{}", seen.text());
        assert!(!lines.is_empty(), "the control: the workspace is there: {}", seen.text());
        // The control: the host's own table names much more.
        assert!(fs::read_to_string("/proc/self/mountinfo")?.contains(" - sysfs "));
        assert!(!seen.text().contains(" - sysfs ") && !seen.text().contains(" - cgroup"), "{}", seen.text());
    }
    Ok(())
}

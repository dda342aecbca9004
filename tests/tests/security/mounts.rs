//! Mounts and devices: the root cannot be changed or left, and there is no device of the host's.

use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;
use headwater_protocol::Limits;
use headwater_tests::host;
use serde_json::json;

use crate::attack::{Attack, Brief, Evidence, attempt, namespace};
use crate::target::{Entry, Side, Target, WALLED, with_argument};

const CLASS: u32 = 3;

const SECRET: &str = "what the host keeps";

/// Whether the mount of this attack is in the table of one of its processes.
fn mounted(evidence: &Evidence<'_>) -> bool {
    let table = |pid: &i32| fs::read_to_string(format!("/proc/{pid}/mountinfo")).unwrap_or_default();
    evidence.pids.iter().any(|pid| table(pid).contains(evidence.token))
}

fn knows_the_secret(evidence: &Evidence<'_>) -> bool {
    host::contains(&evidence.leak(), SECRET.as_bytes())
}

/// A file that is on the host if the system folders can be written.
fn planted(token: &str) -> Vec<PathBuf> {
    ["/usr", "/usr/local", "/etc", "/usr/bin"]
        .iter()
        .map(|folder| PathBuf::from(folder).join(token))
        .collect()
}

const ATTACKS: [Attack; 11] = [
    Attack {
        name: "mounts a file system",
        control: Side::OpenRoot,
        probe: "
if V['open']: own_mounts()
os.mkdir('mnt')
call(165, V['token'].encode(), b'mnt', b'tmpfs', 0, None)",
        seen: mounted,
    },
    Attack {
        name: "begins a mount by the newer calls",
        control: Side::OpenRoot,
        probe: "each([lambda: call(430, b'tmpfs', 0), lambda: call(428, -100, b'.', 1)])", // fsopen, open_tree
        seen: |evidence| evidence.holds("[fscontext]") || evidence.links().len() > 3,
    },
    Attack {
        name: "writes to the system's folders, after making them writable",
        control: Side::OpenRoot,
        probe: "
if not V['open']:
    each([lambda p=p: call(165, None, p, None, 0x1020, None) for p in (b'/', b'/usr', b'/etc/ssl')])
    attributes = ctypes.create_string_buffer(struct.pack('QQQQ', 0, 1, 0, 0))
    each([lambda: call(442, -100, b'/usr', 0, attributes, 32), lambda: call(166, b'/usr', 2)])
for folder in ('/usr', '/usr/local', '/etc', '/usr/bin'):
    each([lambda: open(folder + '/' + V['token'], 'w').close()])",
        seen: |evidence| {
            let there = planted(evidence.token).iter().any(|path| path.exists());
            for path in planted(evidence.token) {
                let _ = fs::remove_file(path); // the control's
            }
            there
        },
    },
    Attack {
        name: "reads a file of the host by every path that may lead there",
        control: Side::OpenRoot,
        probe: "
for root in ('', '/proc/1/root', '/proc/self/root', '/proc/self/cwd/../../../../../..', '/../../..', '/workspace/../..'):
    each([lambda: leak(open(root + V['path'], 'rb').read())])
os.symlink(V['path'], 'way')
each([lambda: leak(open('way', 'rb').read())])",
        seen: knows_the_secret,
    },
    Attack {
        name: "climbs out by a second root",
        control: Side::OpenRoot,
        probe: "
def climb():
    out = os.open('.', os.O_RDONLY)
    os.mkdir('jail')
    if not V['open']: call(161, b'jail')
    os.fchdir(out)
    for _ in range(64): os.chdir('..')
    leak(open(V['path'][1:], 'rb').read())
climb()",
        seen: knows_the_secret,
    },
    Attack {
        name: "opens a file by its handle",
        control: Side::OpenRoot,
        probe: "
handle = ctypes.create_string_buffer(struct.pack('Ii', 128, 0) + bytes(128))
mount = ctypes.c_int()
call(303, -100, b'.', handle, ctypes.byref(mount), 0)
fd = call(304, os.open('.', os.O_RDONLY), handle, os.O_RDONLY)
leak(os.listdir(fd) or 'opened')",
        seen: |evidence| !evidence.leak().is_empty(),
    },
    Attack {
        name: "enters a namespace of the host's, or is in one",
        control: Side::OpenRoot,
        probe: "
for kind in ('mnt', 'pid', 'net', 'ipc', 'uts', 'cgroup', 'user'):
    each([lambda: call(308, os.open('/proc/1/ns/' + kind, os.O_RDONLY), 0)])",
        seen: |evidence| {
            let own = i32::try_from(std::process::id()).expect("a pid");
            let kinds = ["mnt", "pid", "net", "ipc", "uts", "cgroup", "user"];
            kinds.iter().any(|kind| evidence.pids.iter().any(|pid| namespace(*pid, kind) == namespace(own, kind)))
        },
    },
    Attack {
        name: "makes a device",
        control: Side::OpenRoot,
        probe: "
for place in ('zero', '/tmp/' + V['token'], '/dev/' + V['token'], '/dev/shm/' + V['token']):
    if place == 'zero' or not V['open']:
        each([lambda: os.mknod(place, 0o20666, os.makedev(1, 5))])
        each([lambda: os.mknod(place + '2', 0o60666, os.makedev(7, 0))])",
        seen: |evidence| {
            let is_device = |path: PathBuf| {
                fs::symlink_metadata(path).is_ok_and(|meta| meta.file_type().is_char_device() || meta.file_type().is_block_device())
            };
            let inside = format!("/proc/{}/root", evidence.pids[0]);
            ["/tmp/", "/dev/", "/dev/shm/"].iter().any(|folder| is_device(format!("{inside}{folder}{}", evidence.token).into()))
                || is_device(evidence.workspace.join("zero"))
                || is_device(evidence.workspace.join("zero2"))
        },
    },
    Attack {
        name: "opens a device of the host's",
        control: Side::OpenRoot,
        probe: "
held = []
for name in ('kmsg', 'mem', 'port', 'kvm', 'fuse', 'loop-control', 'loop0', 'vda', 'sda', 'nvme0n1', 'console', 'tty0', 'btrfs-control', 'vsock', 'hwrng', 'net/tun', 'autofs', 'input/event0', 'cpu/0/msr'):
    each([lambda: held.append(os.open('/dev/' + name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY))])",
        seen: |evidence| {
            let harmless = ["/dev/null", "/dev/pts/", "/dev/tty"];
            evidence.links().iter().any(|link| {
                link.starts_with("/dev/") && !harmless.iter().any(|name| link.starts_with(name) && link != "/dev/tty0")
            })
        },
    },
    Attack {
        name: "reads what only root may read, in the folders that are shown",
        control: Side::OpenRoot,
        probe: "
for folder in ('/etc', '/usr/local/etc', '/usr/sbin'):
    for at, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(at, name)
            try:
                with open(path, 'rb') as f: f.read(1)
                if not os.path.islink(path): leak(path.encode() + b'\\n')
            except OSError: pass",
        seen: |evidence| {
            let leak = String::from_utf8_lossy(&evidence.leak()).into_owned();
            assert!(leak.lines().count() > 100, "the probe reads: {leak}");
            let private = |path: &&str| fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o004 == 0);
            leak.lines().any(|path| private(&path))
        },
    },
    Attack {
        name: "changes the name of the machine",
        control: Side::OpenRoot,
        // A separate namespace for the control: the host keeps its name.
        probe: "
if V['open']: call(272, 0x04000000)
name = V['token'][-20:].encode()
call(170, name, len(name))",
        seen: |evidence| {
            // Processes in the same namespace would see it; entering it shows its `hostname`.
            let entered = Command::new("nsenter").arg(format!("--uts=/proc/{}/ns/uts", evidence.pids[0])).arg("hostname").output();
            let name = entered.expect("nsenter runs").stdout;
            host::contains(&name, &evidence.token.as_bytes()[evidence.token.len() - 20..])
        },
    },
];

#[tokio::test]
async fn the_root_is_neither_changed_nor_left_and_has_no_devices() -> Result<()> {
    let folder = tempfile::tempdir()?;
    std::os::unix::fs::chown(folder.path(), Some(0), Some(0))?;
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755))?;
    let canary = folder.path().join("canary");
    fs::write(&canary, SECRET)?;
    attempt(CLASS, &ATTACKS, |target, _| {
        Ok(Brief::values(json!({ "path": canary.to_string_lossy(), "open": !target.side.is_walled() })))
    })
    .await
}

#[tokio::test]
async fn every_mount_is_without_devices_and_set_user_ids_and_the_host_has_no_new_one() -> Result<()> {
    for side in WALLED {
        let target = Target::new(side, CLASS).await?;
        let before = fs::read_to_string("/proc/self/mountinfo")?;
        let session = target.session(Limits::default()).await?;
        let stay = format!("import signal; print('up', flush=True); signal.pause() # {session}");
        let (_, mut watcher) = target.start(session, &Entry::Python.spec(&stay)).await?;
        watcher.until_printed("up").await?;
        let pid = with_argument(&session.to_string())[0];
        let inside = fs::read_to_string(format!("/proc/{pid}/mountinfo"))?;
        let wrong = |text: &str| {
            let is_wrong = |line: &&str| {
                let device = line.contains(" - devtmpfs ") || line.contains(" - devpts ");
                let options = line.split(' ').nth(5).unwrap_or_default();
                !options.contains("nosuid") || !(device || options.contains("nodev"))
            };
            text.lines().filter(is_wrong).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(wrong(&inside), Vec::<String>::new());
        assert_ne!(wrong(&before), Vec::<String>::new(), "the control: the host's root allows both");
        assert!(
            !host::mounts(target.worker.data()).iter().any(|line| line.contains("/workspace")),
            "on the host"
        );
    }
    Ok(())
}

//! Who programs are: one unprivileged user, without capabilities, with no way to become another.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};

use anyhow::{Context, Result};
use headwater_protocol::{Limits, StartSpec};
use headwater_tests::host;
use serde_json::json;

use crate::attack::{Attack, Brief, Evidence, attempt};
use crate::target::{ENTRIES, Side, Target, WALLED, compile, with_argument};

const CLASS: u32 = 0;

/// Whether a process has 0 among its real, effective, saved and file system ids.
fn has_root(evidence: &Evidence<'_>, field: &str) -> bool {
    evidence.status(field, |ids| ids.split_whitespace().any(|id| id == "0"))
}

fn has_capability(evidence: &Evidence<'_>) -> bool {
    ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"]
        .iter()
        .any(|set| evidence.status(set, |bits| !bits.trim_matches('0').is_empty()))
}

const ATTACKS: [Attack; 9] = [
    Attack {
        name: "becomes root by every call that changes a user",
        control: Side::OpenRoot,
        probe: "each([lambda: os.setuid(0), lambda: os.setreuid(0, 0), lambda: os.setresuid(0, 0, 0), lambda: call(122, 0)])",
        seen: |evidence| has_root(evidence, "Uid"),
    },
    Attack {
        name: "becomes of root's group",
        control: Side::OpenRoot,
        probe: "each([lambda: os.setgroups([0, 42]), lambda: os.setgid(0), lambda: os.setresgid(0, 0, 0), lambda: call(123, 0)])",
        seen: |evidence| has_root(evidence, "Gid") || has_root(evidence, "Groups"),
    },
    Attack {
        name: "has or takes a capability in any set",
        control: Side::OpenRoot,
        probe: "
head = ctypes.create_string_buffer(struct.pack('Ii', 0x20080522, 0))
full = ctypes.create_string_buffer(b'\\xff' * 24)
each([lambda: call(126, head, full)] + [lambda c=c: call(157, 47, 2, c, 0, 0) for c in range(41)])",
        seen: has_capability,
    },
    Attack {
        name: "may gain privileges by executing",
        control: Side::OpenRoot,
        probe: "call(157, 38, 0, 0, 0, 0)",
        seen: |evidence| evidence.status("NoNewPrivs", |value| value == "0"),
    },
    Attack {
        name: "is without a filter of system calls, or sheds it",
        control: Side::OpenRoot,
        probe: "call(157, 22, 0, 0, 0, 0)",
        seen: |evidence| evidence.status("Seccomp", |mode| mode != "2"),
    },
    Attack {
        name: "becomes root by a set-user-id program of root's in its workspace",
        control: Side::OpenOrdinary,
        probe: "subprocess.Popen([os.environ['HOME'] + '/rooted', V['token'] + '-%d.' % N])",
        seen: |evidence| has_root(evidence, "Uid"),
    },
    Attack {
        name: "becomes root by the system's set-user-id programs",
        control: Side::OpenOrdinary,
        probe: "
there, here = os.pipe()
subprocess.Popen(['/usr/bin/su', '-c', 'true ' + V['token'] + '-%d.' % N], stdin=there)",
        seen: |evidence| has_root(evidence, "Uid"),
    },
    Attack {
        name: "gives a file to root",
        control: Side::OpenRoot,
        probe: "open('gift', 'w').close(); each([lambda: os.chown('gift', 0, 0), lambda: os.chown('gift', 0, -1)])",
        seen: |evidence| fs::metadata(evidence.workspace.join("gift")).is_ok_and(|file| file.uid() == 0),
    },
    Attack {
        name: "maps root into its user namespace",
        control: Side::OpenRoot,
        probe: "
if V['open']: call(272, 0x10000000)
each([lambda: put('/proc/self/setgroups', 'allow'), lambda: put('/proc/self/uid_map', '0 0 1')])",
        seen: |evidence| {
            let map = |pid: &i32| fs::read_to_string(format!("/proc/{pid}/uid_map")).unwrap_or_default();
            evidence.pids.iter().any(|pid| map(pid).split_whitespace().collect::<Vec<_>>() == ["0", "0", "1"])
        },
    },
];

/// A set-user-id program that shows its user by running on. `Popen` returns after its exec, so it has its user by then. The
/// test ends it: an ordinary init without walls cannot signal a process of root. The alarm is for a test that fails.
const ROOTED: &str = "int main(void) { alarm(120); for (;;) pause(); }";

#[tokio::test]
async fn nobody_becomes_more_than_an_unprivileged_user() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let rooted = compile(folder.path(), "rooted", ROOTED)?;
    attempt(CLASS, &ATTACKS, |target, _| {
        for entry in fs::read_dir(target.worker.data().join("sessions"))?.flatten() {
            let place = entry.path().join("workspace/rooted");
            if fs::copy(&rooted, &place).is_ok() {
                chown(&place, Some(0), Some(0))?;
                fs::set_permissions(&place, fs::Permissions::from_mode(0o4755))?;
            }
        }
        Ok(Brief::values(json!({ "open": !target.side.is_walled() })))
    })
    .await
}

/// Starts something that stays, and finds it on the host.
async fn someone(target: &Target, limits: Limits) -> Result<(headwater_protocol::SessionId, i32)> {
    let session = target.session(limits).await?;
    let word = format!("someone-{session}");
    let (_, mut watcher) = target
        .start(
            session,
            &StartSpec::argv(["bash", "-c", "touch f; echo up; exec -a \"$0\" sleep 1000", &word]),
        )
        .await?;
    watcher.until_printed("up").await?;
    // A process that is executing another program has no arguments for a moment.
    let mut pid = None;
    host::eventually("the program is there", async || {
        pid = with_argument(&word).first().copied();
        pid.is_some()
    })
    .await?;
    Ok((session, pid.context("no process")?))
}

#[tokio::test]
async fn every_session_of_a_root_worker_has_its_own_host_user_and_owns_its_files() -> Result<()> {
    let target = Target::new(Side::Root, CLASS).await?;
    let mut users = Vec::new();
    for _ in 0..3 {
        let (session, pid) = someone(&target, Limits::default()).await?;
        let ids = host::status(pid, "Uid").unwrap_or_default();
        let uid = target.host_uid(session)?;
        assert_eq!(ids.split_whitespace().collect::<Vec<_>>(), vec![uid.to_string(); 4], "all four ids");
        let file = fs::metadata(target.worker.workspace(session).join("f"))?;
        assert_eq!((file.uid(), file.gid()), (uid, uid));
        users.push(uid);
    }
    assert!(users.iter().all(|uid| *uid >= 65_536), "no user of the system: {users:?}");
    users.dedup();
    assert_eq!(users.len(), 3);
    let target = Target::new(Side::OpenRoot, CLASS).await?;
    let (_, pid) = someone(&target, Limits::default()).await?;
    assert_eq!(host::status(pid, "Uid").as_deref(), Some("0\t0\t0\t0"), "without walls it is root");
    Ok(())
}

#[tokio::test]
async fn inside_everybody_is_user_1000_from_every_entry() -> Result<()> {
    for side in WALLED {
        let target = Target::new(side, CLASS).await?;
        let session = target.session(Limits::default()).await?;
        for entry in ENTRIES {
            let code = "import os; print(*os.getresuid(), *os.getresgid(), os.getgroups())";
            let seen = target.run(session, &entry.spec(code)).await?;
            let text = format!("{}{}", seen.text(), seen.screen());
            assert!(text.starts_with("1000 1000 1000 1000 1000 1000"), "{side:?} {entry:?}: {text}");
        }
    }
    Ok(())
}

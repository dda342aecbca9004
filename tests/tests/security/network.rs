//! The network: a loopback device of the session's own. Canaries listen on the host's loopback.

use std::fs;
use std::io::ErrorKind;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::sync::Mutex;
use std::time::Duration;

use anyhow::Result;
use headwater_protocol::{ExecutionId, Limits};
use headwater_tests::host;
use serde_json::json;

use crate::attack::{Attack, Brief, Evidence, attempt, namespace};
use crate::target::{ENTRIES, Entry, Side, Target, WALLED, with_argument};

const CLASS: u32 = 6;

/// Services of the host that notice connections.
struct Canaries {
    tcp4: TcpListener,
    tcp6: TcpListener,
    udp4: UdpSocket,
    udp6: UdpSocket,
    hidden: UnixListener,
    shown: UnixListener,
    folder: tempfile::TempDir,
    name: String,
}

impl Canaries {
    fn new() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755))?;
        let name = format!("hw-canary-{}", ExecutionId::random());
        let shown = UnixListener::bind(folder.path().join("sock"))?;
        fs::set_permissions(folder.path().join("sock"), fs::Permissions::from_mode(0o777))?;
        let all = Self {
            tcp4: TcpListener::bind("127.0.0.1:0")?,
            tcp6: TcpListener::bind("[::1]:0")?,
            udp4: UdpSocket::bind("127.0.0.1:0")?,
            udp6: UdpSocket::bind("[::1]:0")?,
            hidden: UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name)?)?,
            shown,
            folder,
            name,
        };
        all.tcp4.set_nonblocking(true)?;
        all.tcp6.set_nonblocking(true)?;
        all.udp4.set_nonblocking(true)?;
        all.udp6.set_nonblocking(true)?;
        all.hidden.set_nonblocking(true)?;
        all.shown.set_nonblocking(true)?;
        Ok(all)
    }

    /// Which were reached since the last call: tcp4, tcp6, udp4, udp6, abstract, by path.
    fn visited(&self) -> [bool; 6] {
        let mut byte = [0; 1];
        [
            came(self.tcp4.accept()),
            came(self.tcp6.accept()),
            came(self.udp4.recv(&mut byte)),
            came(self.udp6.recv(&mut byte)),
            came(self.hidden.accept()),
            came(self.shown.accept()),
        ]
    }
}

/// Whether a connection arrived at a nonblocking socket.
fn came<T>(result: std::io::Result<T>) -> bool {
    match result {
        Ok(_) => true,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::WouldBlock);
            false
        }
    }
}

/// The canaries, where the table's functions find them, and what they noticed in this run.
static OUT: Mutex<Option<(Canaries, [bool; 6])>> = Mutex::new(None);

fn visited(which: usize) -> bool {
    let mut out = OUT.lock().expect("not poisoned");
    let (canaries, noticed) = out.as_mut().expect("canaries are out");
    for (old, new) in noticed.iter_mut().zip(canaries.visited()) {
        *old |= new;
    }
    noticed[which]
}

fn holds_a_socket(evidence: &Evidence<'_>) -> bool {
    evidence.holds("socket:[")
}

const ATTACKS: [Attack; 10] = [
    Attack {
        name: "makes a socket to the hypervisor", // which is never connected
        control: Side::OpenRoot,
        probe: "kept = socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)",
        seen: holds_a_socket,
    },
    Attack {
        name: "makes a raw socket",
        control: Side::OpenRoot,
        probe: "kept = []\neach([lambda: kept.append(socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)), lambda: kept.append(socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))])",
        seen: holds_a_socket,
    },
    Attack {
        name: "talks to parts of the kernel over netlink",
        control: Side::OpenRoot,
        probe: "kept = []\neach([lambda p=p: kept.append(socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, p)) for p in (4, 6, 9, 12, 15, 16)])",
        seen: holds_a_socket,
    },
    Attack {
        name: "reaches a service on 127.0.0.1",
        control: Side::OpenRoot,
        probe: "socket.create_connection(('127.0.0.1', V['tcp4']), 2)",
        seen: |_| visited(0),
    },
    Attack {
        name: "reaches a service on ::1",
        control: Side::OpenRoot,
        probe: "socket.create_connection(('::1', V['tcp6']), 2)",
        seen: |_| visited(1),
    },
    Attack {
        name: "sends a question for a name to 127.0.0.1",
        control: Side::OpenRoot,
        probe: "
question = b'\\x12\\x34\\x01\\0\\0\\x01\\0\\0\\0\\0\\0\\0\\x06canary\\x07invalid\\0\\0\\x01\\0\\x01'
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(question, ('127.0.0.1', V['udp4']))",
        seen: |_| visited(2),
    },
    Attack {
        name: "sends a question for a name to ::1",
        control: Side::OpenRoot,
        probe: "socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).sendto(b'?', ('::1', V['udp6']))",
        seen: |_| visited(3),
    },
    Attack {
        name: "reaches an abstract socket",
        control: Side::OpenRoot,
        probe: "socket.socket(socket.AF_UNIX).connect('\\0' + V['name'])",
        seen: |_| visited(4),
    },
    Attack {
        name: "reaches a socket by its path",
        control: Side::OpenRoot,
        probe: "
for root in ('', '/proc/1/root', '/proc/self/cwd/../../..'):
    each([lambda: socket.socket(socket.AF_UNIX).connect(root + V['path'])])",
        seen: |_| visited(5),
    },
    Attack {
        name: "is in the host's network, or gives its own another device",
        control: Side::OpenRoot,
        probe: "
import fcntl
if not V['open']:
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    each([lambda: fcntl.ioctl(s, 0x8914, struct.pack('16sh14x', b'lo', 0)),
          lambda: fcntl.ioctl(s, 0x8916, struct.pack('16sHH4s8x', b'lo', 2, 0, bytes([10, 9, 8, 7]))),
          lambda: call(165, b'none', b'/sys', b'sysfs', 0, None)])",
        seen: |evidence| {
            let own = i32::try_from(std::process::id()).expect("a pid");
            let devices =
                fs::read_to_string(format!("/proc/{}/net/dev", evidence.pids[0])).unwrap_or_default();
            let devices: Vec<_> = devices.lines().skip(2).filter_map(|line| line.split(':').next()).collect();
            let addresses =
                fs::read_to_string(format!("/proc/{}/net/fib_trie", evidence.pids[0])).unwrap_or_default();
            namespace(evidence.pids[0], "net") == namespace(own, "net")
                || devices.iter().any(|name| name.trim() != "lo")
                || addresses.contains("10.9.8.7")
        },
    },
];

#[tokio::test]
async fn nothing_of_the_hosts_network_is_reached() -> Result<()> {
    attempt(CLASS, &ATTACKS, |target, _| {
        let canaries = Canaries::new()?;
        let values = json!({
            "tcp4": canaries.tcp4.local_addr()?.port(),
            "tcp6": canaries.tcp6.local_addr()?.port(),
            "udp4": canaries.udp4.local_addr()?.port(),
            "udp6": canaries.udp6.local_addr()?.port(),
            "name": canaries.name,
            "path": canaries.folder.path().join("sock").to_string_lossy(),
            "open": !target.side.is_walled(),
        });
        *OUT.lock().expect("not poisoned") = Some((canaries, [false; 6]));
        Ok(Brief::values(values))
    })
    .await
}

/// Listens on a port and on an abstract name, and prints each connection.
const LISTEN: &str = "
import select, socket
tcp = socket.create_server(('127.0.0.1', PORT)); unix = socket.socket(socket.AF_UNIX); unix.bind('\\0NAME'); unix.listen()
print('listening', flush=True)
while True:
    for ready in select.select([tcp, unix], [], [])[0]:
        print('visited', ready.family.name, flush=True)
        ready.accept()
";

const VISIT: &str = "
import socket
for deed in (lambda: socket.create_connection(('127.0.0.1', PORT), 1), lambda: socket.socket(socket.AF_UNIX).connect('\\0NAME')):
    try: deed()
    except OSError as error: print(error)
print('tried')
";

#[tokio::test]
async fn sessions_do_not_reach_each_other() -> Result<()> {
    for side in WALLED {
        let target = Target::new(side, CLASS).await?;
        let (first, second) =
            (target.session(Limits::default()).await?, target.session(Limits::default()).await?);
        let fill = |text: &str| text.replace("PORT", "4711").replace("NAME", "hw-neighbour");
        let (id, mut watcher) = target.start(first, &Entry::Python.spec(&fill(LISTEN))).await?;
        watcher.until_printed("listening").await?;
        for entry in ENTRIES {
            target.run(second, &entry.spec(&fill(VISIT))).await?;
        }
        // The control: from the same session both are reached. Earlier connections would have been printed before.
        target.run(first, &Entry::Argv.spec(&fill(VISIT))).await?;
        watcher.until_printed("visited AF_UNIX").await?;
        target.client.cancel(id, Some(Duration::ZERO)).await?;
        let info = watcher.rest().await?.text();
        assert_eq!(info, "listening\nvisited AF_INET\nvisited AF_UNIX\n", "{side:?}");
    }
    Ok(())
}

#[tokio::test]
async fn each_session_has_a_network_without_name_servers() -> Result<()> {
    for side in WALLED {
        let target = Target::new(side, CLASS).await?;
        let mut networks = Vec::new();
        for _ in 0..2 {
            let session = target.session(Limits::default()).await?;
            let stay = format!("import signal; print('up', flush=True); signal.pause() # {session}");
            let (_, mut watcher) = target.start(session, &Entry::Python.spec(&stay)).await?;
            watcher.until_printed("up").await?;
            let pid = with_argument(&session.to_string())[0];
            networks.push(namespace(pid, "net"));
            assert_eq!(
                fs::read(format!("/proc/{pid}/root/etc/resolv.conf"))?,
                b"",
                "no name server is named"
            );
            let routes = fs::read_to_string(format!("/proc/{pid}/net/route"))?;
            assert_eq!(routes.lines().count(), 1, "no route: {routes}");
        }
        networks.push(namespace(i32::try_from(std::process::id())?, "net"));
        assert!(networks[0] != networks[1] && networks[0] != networks[2] && networks[1] != networks[2]);
        assert!(!networks.contains(&String::new()), "the control: each has one");
    }
    Ok(())
}

#[tokio::test]
async fn the_workers_own_socket_is_nobodys_but_its_owners() -> Result<()> {
    for side in WALLED {
        let target = Target::new(side, CLASS).await?;
        let socket = target.worker.data().join("worker.sock");
        let mode = fs::metadata(&socket)?.permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{side:?}: {mode:o}");
        let session = target.session(Limits::default()).await?;
        let code = format!(
            "import glob, os, socket\nfor p in ['{0}', '../worker.sock', '../init.sock', '/workspace/../init.sock'] + glob.glob('/proc/1/fd/*'):\n    try: socket.socket(socket.AF_UNIX, 5 if 'init' in p else 1).connect(p); open('reached', 'w').close()\n    except OSError: pass\nprint('tried')",
            socket.display()
        );
        for entry in ENTRIES {
            let seen = target.run(session, &entry.spec(&code)).await?;
            assert!(host::contains(&[seen.stdout, seen.output].concat(), b"tried"));
        }
        assert!(!target.worker.workspace(session).join("reached").exists(), "{side:?}");
        // The control: the one who started it is answered.
        assert!(target.worker.client().await?.info().await.is_ok());
    }
    Ok(())
}

//! `network: full`: allowed by the operator and requested by the user; some walls stay closed even then.

use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

use anyhow::{Context, Result};
use headwater_protocol::{ExecutionId, Network, SessionSpec};
use headwater_tests::{Options, ServerOptions, TestServer, TestWorker, host};
use serde_json::json;

use crate::outlet::{run, session, succeed};

async fn with(config: &str, no_walls: bool) -> Result<TestWorker> {
    TestWorker::with(Options { config: Some(config.into()), no_walls, ..Options::default() }).await
}

#[tokio::test]
async fn the_operator_decides_which_networks_there_are_and_a_refusal_says_so() -> Result<()> {
    for (config, no_walls, network, says) in [
        ("", false, Network::Full, "allow_full"),
        ("[network]\nallow_packages = false", false, Network::Packages, "allow_packages"),
        ("", true, Network::Packages, "isolation"),
    ] {
        let worker = with(config, no_walls).await?;
        let spec = SessionSpec { network, ..SessionSpec::default() };
        let refused = worker.client().await?.create_session(None, &spec).await.unwrap_err();
        let fault = refused.fault().context("a fault")?;
        let info = format!("{} {}", fault.message, fault.hint.clone().unwrap_or_default());
        assert!(info.contains(says), "{info}");
        // The control: without a network the session is created.
        session(&worker, Network::None).await?;
    }
    Ok(())
}

#[tokio::test]
async fn the_api_refuses_and_shows_a_sessions_network() -> Result<()> {
    let server = TestServer::with(ServerOptions::default()).await?;
    let api = server.api();
    let create = async |network: &str| api.post("/v1/sessions", &json!({ "network": network })).await;
    let refused = create("full").await?;
    let said = refused.json()?;
    assert_eq!(refused.status, 400, "{said}");
    assert!(said.to_string().contains("allow_full"), "{said}");
    assert_eq!(create("everything").await?.status, 400);
    let made = create("packages").await?;
    assert!(made.status == 201 || made.status == 200, "{}", made.text());
    assert_eq!(made.json()?["network"], "packages");
    Ok(())
}

#[tokio::test]
async fn a_full_session_is_in_the_hosts_network_and_within_all_other_walls() -> Result<()> {
    let canary = TcpListener::bind("127.0.0.1:0")?;
    canary.set_nonblocking(true)?;
    let name = format!("hw-canary-{}", ExecutionId::random());
    let hidden = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name)?)?;
    hidden.set_nonblocking(true)?;
    for uid in [None, Some(65_534)] {
        let config = Some("[network]\nallow_full = true\n".into());
        let worker = TestWorker::with(Options { uid, config, ..Options::default() }).await?;
        let id = session(&worker, Network::Full).await?;
        let info = worker.client().await?.session(id).await?;
        assert_eq!(info.spec.network, Network::Full);
        let knock = format!("bash -c 'exec 3<>/dev/tcp/127.0.0.1/{}'", canary.local_addr()?.port());
        succeed(&worker, id, &knock).await?;
        host::eventually("it connected", async || canary.accept().is_ok()).await?;
        let host = std::fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
        assert_eq!(succeed(&worker, id, "cat /etc/resolv.conf").await?, host);
        // Abstract sockets belong to the network, and are closed by another wall.
        let probe = format!(
            "import socket\ntry: socket.socket(socket.AF_UNIX).connect('\\0{name}')\nexcept OSError as e: print(e.errno)\n\
             for family in (socket.AF_PACKET, socket.AF_VSOCK):\n    try: print(socket.socket(family, socket.SOCK_RAW))\n    except OSError: print('no')"
        );
        let text = succeed(&worker, id, &format!("python3 - <<'E'\n{probe}\nE")).await?;
        assert_eq!(text, "1\nno\nno\n");
        assert!(hidden.accept().is_err(), "nothing connected");
        // Its own are its own.
        let own = "import socket\ns = socket.socket(socket.AF_UNIX); s.bind('\\0own-NAME'); s.listen()\nc = socket.socket(socket.AF_UNIX); c.connect('\\0own-NAME'); print('met')".replace("NAME", &name);
        assert_eq!(succeed(&worker, id, &format!("python3 - <<'E'\n{own}\nE")).await?, "met\n");
        let user = succeed(
            &worker,
            id,
            "id -u; grep -E 'CapEff|Seccomp:' /proc/self/status; ls /root /home; ls /proc | grep -c '^[0-9]'",
        )
        .await;
        let user = match user {
            Ok(text) => text,
            Err(error) => error.to_string(), // `ls /root` fails
        };
        assert!(
            user.contains("1000\n")
                && user.contains("CapEff:\t0000000000000000")
                && user.contains("Seccomp:\t2"),
            "{user}"
        );
        // Others are not in it: the pool's sessions have networks of their own.
        let other = session(&worker, Network::None).await?;
        assert_ne!(run(&worker, other, &knock).await?.verdict().code, Some(0));
        assert!(canary.accept().is_err(), "nothing connected");
    }
    // The control: without walls the abstract socket is reached.
    UnixStream::connect_addr(&SocketAddr::from_abstract_name(&name)?)?;
    assert!(hidden.accept().is_ok());
    Ok(())
}

#[tokio::test]
async fn ports_below_1024_are_a_sessions_own_and_stay_closed_in_the_hosts_network() -> Result<()> {
    let bind = "python3 -c 'import socket\ns = socket.socket(); s.bind((\"127.0.0.1\", PORT)); s.listen()\nprint(s.getsockname()[1])'";
    for uid in [None, Some(65_533)] {
        let config = Some("[network]\nallow_full = true\n".into());
        let worker = TestWorker::with(Options { uid, config, ..Options::default() }).await?;
        for network in [Network::None, Network::Packages] {
            let id = session(&worker, network).await?;
            for port in ["1", "80", "1023"] {
                let text = succeed(&worker, id, &bind.replace("PORT", port)).await?;
                assert_eq!(text.trim(), port);
            }
        }
        // The control: the host's own ports are the operator's.
        let full = session(&worker, Network::Full).await?;
        let seen = run(&worker, full, &bind.replace("PORT", "1023")).await?;
        assert!(seen.errors().contains("PermissionError"), "{}", seen.errors());
    }
    Ok(())
}

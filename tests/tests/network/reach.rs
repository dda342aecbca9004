//! Which hosts are reached and which are not.

use anyhow::Result;
use headwater_protocol::{Network, StartSpec};
use headwater_tests::{Options, TestWorker};

use crate::outlet::{OUTLET, config, connect, plain, run, say, session, status, succeed, worker};
use crate::registry::{NAME, Registry};

#[tokio::test]
async fn without_a_word_a_session_has_no_outlet_and_nothing_that_points_to_one() -> Result<()> {
    let registry = Registry::new().await?;
    let worker = worker(&registry).await?;
    let knock = format!(
        "env | grep -i -E 'proxy|index|registry'; bash -c 'exec 3<>/dev/tcp/127.0.0.1/{OUTLET}' && echo open"
    );
    let closed = session(&worker, Network::None).await?;
    assert_eq!(run(&worker, closed, &knock).await?.text(), "");
    // The control: with `packages` both exist.
    let open = session(&worker, Network::Packages).await?;
    let text = run(&worker, open, &knock).await?.text();
    for part in [
        "open",
        "HTTPS_PROXY=",
        "http_proxy=",
        "NO_PROXY=127.0.0.1",
        "PIP_INDEX_URL=",
        "npm_config_registry=",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    // Of the world both have only their own loopback device.
    for id in [closed, open] {
        let devices =
            succeed(&worker, id, "tail -n +3 /proc/net/dev | cut -d: -f1; cat /etc/resolv.conf").await?;
        assert_eq!(devices.trim(), "lo");
    }
    Ok(())
}

#[tokio::test]
async fn a_listed_host_is_reached_plainly_and_by_a_tunnel_and_sees_nothing_of_us() -> Result<()> {
    let registry = Registry::new().await?;
    registry.put("/hello?x=1", "text/plain", "hello");
    // As an ordinary user too, whose walls are built differently.
    for uid in [None, Some(65_534)] {
        let options = Options { uid, config: Some(config(&registry)), ..Options::default() };
        let worker = TestWorker::with(options).await?;
        let id = session(&worker, Network::Packages).await?;
        let request = format!(
            "GET {} HTTP/1.1\r\nHost: evil.test\r\nConnection: close, X-Mine\r\nX-Mine: 1\r\nProxy-Authorization: Basic eA==\r\n\
             Accept: a/b\r\n\r\n",
            registry.url("/hello?x=1")
        );
        let answer = say(&worker, id, &request, None).await?;
        assert!(status(&answer)? == 200 && answer.ends_with("hello"), "{answer}");
        assert!(!answer.to_lowercase().contains("keep-alive: 7"), "of the other connection: {answer}");
        let through = "GET /hello?x=1 HTTP/1.1\r\nHost: tunnelled\r\n\r\n";
        let target = format!("{NAME}:{}", registry.port);
        let answer = say(&worker, id, &connect(&target), Some(through)).await?;
        assert!(status(&answer)? == 200 && answer.ends_with("hello"), "{answer}");
    }
    let asked = registry.asked();
    let mut plain: Vec<_> = asked[0].trim_end().split("\r\n").map(str::to_lowercase).collect();
    plain.sort();
    let host = format!("host: {NAME}:{}", registry.port);
    assert_eq!(plain, ["accept: a/b", "get /hello?x=1 http/1.1", &host]);
    assert_eq!(asked[1], "GET /hello?x=1 HTTP/1.1\r\nHost: tunnelled\r\n\r\n", "a tunnel changes nothing");
    assert_eq!(asked.len(), 4);
    Ok(())
}

#[tokio::test]
async fn no_other_host_no_address_and_no_name_of_a_private_one_is_reached() -> Result<()> {
    let registry = Registry::new().await?;
    registry.put("/", "text/plain", "reached");
    let worker = worker(&registry).await?;
    let id = session(&worker, Network::Packages).await?;
    let port = registry.port;
    for target in [
        // Not listed: other names, other ports, addresses in every form.
        "example.test:443".to_owned(),
        format!("a.{NAME}:{port}"),
        format!("{NAME}:443"),
        format!("{NAME}.evil.test:{port}"),
        format!("127.0.0.1:{port}"),
        format!("[::ffff:127.0.0.1]:{port}"),
        "169.254.169.254:80".to_owned(),
        "[fd00:ec2::254]:80".to_owned(),
        // Listed, and still private.
        format!("localhost:{port}"),
        "private.test:443".to_owned(),
        "metadata.test:80".to_owned(),
        "mixed.test:80".to_owned(),
    ] {
        for request in [connect(&target), plain(&format!("http://{target}/"))] {
            let answer = say(&worker, id, &request, None).await?;
            assert_eq!(status(&answer)?, 403, "{request}: {answer}");
            assert!(answer.contains("headwater: `") && answer.contains("operator"), "{answer}");
            assert!(
                !answer.contains("10.0.0.1"),
                "how the host's network looks is nobody's business: {answer}"
            );
        }
    }
    // Not a host at all.
    for target in
        [format!("127.1:{port}"), format!("2130706433:{port}"), format!("0x7f.1:{port}"), "a..b:80".into()]
    {
        let answer = say(&worker, id, &connect(&target), None).await?;
        assert_eq!(status(&answer)?, 400, "{target}: {answer}");
    }
    assert_eq!(registry.asked().len(), 0);
    let denied = worker.log().matches("network access denied").count();
    // Lines that repeat are written ten times a second and counted after that.
    assert!(denied >= 10, "{denied} denials in the log");
    // The control: the one that is excepted is reached.
    let answer = say(&worker, id, &plain(&registry.url("/")), None).await?;
    assert!(answer.ends_with("reached"), "{answer}");
    Ok(())
}

#[tokio::test]
async fn a_session_reaches_no_other_sessions_loopback_through_its_outlet() -> Result<()> {
    let registry = Registry::new().await?;
    let worker = worker(&registry).await?;
    let (first, second) =
        (session(&worker, Network::Packages).await?, session(&worker, Network::Packages).await?);
    let listen = "import socket\ns = socket.create_server(('127.0.0.1', 4711))\nprint('up', flush=True)\nprint(s.accept()[1])";
    let listening = worker.begin_in(first, &StartSpec::argv(["python3", "-c", listen])).await?;
    let mut watcher = worker.watch(listening).await?;
    watcher.until_printed("up\n").await?;
    for request in
        [plain("http://127.0.0.1:4711/"), plain("http://localhost:4711/"), connect("127.0.0.1:4711")]
    {
        assert_eq!(status(&say(&worker, second, &request, None).await?)?, 403);
    }
    assert_eq!(watcher.seen.text(), "up\n");
    // The control: from the same session it is reached.
    succeed(&worker, first, "bash -c 'exec 3<>/dev/tcp/127.0.0.1/4711'").await?;
    watcher.until_printed("127.0.0.1").await?;
    Ok(())
}

#[tokio::test]
async fn invalid_requests_are_refused_and_the_outlet_stays_open() -> Result<()> {
    let registry = Registry::new().await?;
    let worker = worker(&registry).await?;
    let id = session(&worker, Network::Packages).await?;
    let to = registry.url("/");
    let twice = format!("POST {to} HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab");
    let both = format!(
        "POST {to} HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n0\r\n\r\n"
    );
    let coded = format!(
        "POST {to} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, x\r\nConnection: close\r\n\r\n0\r\n\r\n"
    );
    let long = format!("GET {to} HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n", "x".repeat(20_000));
    let secure = "GET https://pypi.test/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    for (request, wanted) in [
        (twice.as_str(), 400),
        (&coded, 400),
        (&long, 431),
        (secure, 400),
        ("nonsense\r\n\r\n", 400),
        ("GET / HTTP/9.9\r\n\r\n", 400),
        ("CONNECT nobody HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 400),
        ("PUT /pypi/simple/a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", 405),
        ("GET /etc/passwd HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 404),
    ] {
        let answer = say(&worker, id, request, None).await?;
        let short: String = request.chars().take(100).collect();
        assert_eq!(status(&answer)?, wanted, "{short}: {answer}");
    }
    assert_eq!(registry.asked().len(), 0);
    let answer = say(&worker, id, &plain(&to), None).await?;
    assert_eq!(status(&answer)?, 404, "the registry itself has nothing there: {answer}");
    // Two lengths of different kinds: one of them counts, and the other does not go on.
    assert_eq!(status(&say(&worker, id, &both, None).await?)?, 404);
    let asked = registry.asked();
    assert_eq!(asked.len(), 2);
    assert!(!asked[1].to_lowercase().contains("content-length: 5"), "{}", asked[1]);
    Ok(())
}

/// Takes all permits with idle connections, and prints whether one more is answered, before and after one leaves.
const CROWD: &str = "
import socket
def come():
    s = socket.create_connection(('127.0.0.1', OUTLET), 60); return s
crowd = [come() for _ in range(64)]
late = come()
late.sendall(b'GET /npm/-/ping HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n')
late.settimeout(1)
try: print('served', late.recv(12))
except TimeoutError: print('waits')
crowd.pop().close()
late.settimeout(60)
print(late.recv(12).decode())
";

#[tokio::test]
async fn more_connections_than_a_session_may_have_wait_and_another_session_does_not_notice() -> Result<()> {
    let registry = Registry::new().await?;
    let worker = worker(&registry).await?;
    let id = session(&worker, Network::Packages).await?;
    let code = CROWD.replace("OUTLET", &OUTLET.to_string());
    let seen = worker.run_in(id, &StartSpec::argv(["python3", "-c", &code])).await?;
    assert_eq!(seen.text(), "waits\nHTTP/1.1 200\n", "{}", seen.errors());
    Ok(())
}

//! Networks that are left only through the operator's proxy.

use anyhow::Result;
use headwater_protocol::{Network, SessionId};
use headwater_tests::{Options, TestWorker, TlsProxy};
use serde_json::json;
use tempfile::TempDir;

use crate::corporate::{Corporate, FAR, PASSWORD};
use crate::outlet::{connect, plain, run, say, session, status};
use crate::registry::{NAME, Registry};
use crate::sample_packages::sha256;

const PAGE: &str = "GET /pypi/simple/tiny/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
const FILE: &str = "GET /pypi/files/tiny/tiny-1.tar.gz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

/// A registry that only the proxy reaches, by HTTP and by TLS.
struct Far {
    registry: Registry,
    corporate: Corporate,
    folder: TempDir,
    _tls: TlsProxy,
}

impl Far {
    async fn new() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let registry = Registry::new().await?;
        let page = json!({ "meta": { "api-version": "1.0" }, "name": "tiny", "files": [
            { "filename": "tiny-1.tar.gz", "url": "../../f", "hashes": { "sha256": sha256(b"tiny") } },
        ]});
        registry.put("/simple/tiny/", "application/vnd.pypi.simple.v1+json", page.to_string());
        registry.put("/f", "application/octet-stream", "tiny");
        let mut tls = TlsProxy::bind(FAR, &folder.path().join("authority.pem")).await?;
        tls.serve(format!("127.0.0.1:{}", registry.port));
        let corporate = Corporate::new(registry.port, tls.port()).await?;
        Ok(Self { registry, corporate, folder, _tls: tls })
    }

    /// A worker with these variables and lines of `[network]`.
    async fn worker(&self, scheme: &str, variables: &[String], network: &str) -> Result<TestWorker> {
        let config = format!(
            "[network]\nregistries = [\"{FAR}\", \"other.test\", \"10.0.0.7\"]\n{network}\n\
             [packages]\npython_index = \"{scheme}://{FAR}/simple\"\nnpm_registry = \"{scheme}://{FAR}/npm\"\n"
        );
        let authority = format!("SSL_CERT_FILE={}", self.folder.path().join("authority.pem").display());
        let unset = [
            "HTTP_PROXY",
            "HTTPS_PROXY",
            "http_proxy",
            "https_proxy",
            "NO_PROXY",
            "no_proxy",
            "SSL_CERT_DIR",
        ];
        let mut before = vec!["env".to_owned()];
        before.extend(unset.iter().flat_map(|name| ["-u".to_owned(), (*name).to_owned()]));
        before.extend(variables.iter().cloned().chain([authority]));
        TestWorker::with(Options { config: Some(config), before, pool: Some(0), ..Options::default() }).await
    }

    fn variables(&self, password: &str) -> Vec<String> {
        let url = self.corporate.url(password);
        vec![format!("HTTPS_PROXY={url}"), format!("http_proxy={url}")]
    }
}

async fn answers(worker: &TestWorker, id: SessionId, request: &str) -> Result<String> {
    say(worker, id, request, None).await
}

#[tokio::test]
async fn the_mirror_tunnels_and_forwarded_requests_go_through_the_operators_proxy() -> Result<()> {
    let far = Far::new().await?;
    let setting = format!("upstream_proxy = \"{}\"", far.corporate.url(PASSWORD));
    for (scheme, variables, network) in [
        ("https", far.variables(PASSWORD), ""),
        ("http", far.variables(PASSWORD), ""),
        ("https", Vec::new(), setting.as_str()),
    ] {
        let worker = far.worker(scheme, &variables, network).await?;
        let id = session(&worker, Network::Packages).await?;
        for request in [PAGE, FILE] {
            let answer = answers(&worker, id, request).await?;
            assert_eq!(status(&answer)?, 200, "{scheme}: {answer}");
        }
        let forwarded = answers(&worker, id, &plain(&format!("http://{FAR}/f"))).await?;
        assert!(forwarded.ends_with("\r\n\r\ntiny"), "{forwarded}");
        // What is not TLS makes the host close the tunnel.
        let tunnel = say(&worker, id, &connect(&format!("{FAR}:443")), Some("no TLS\r\n")).await?;
        assert_eq!(status(&tunnel)?, 200, "{tunnel}");
        let asked = far.corporate.asked();
        let has = |start: &str| asked.iter().any(|line| line.starts_with(start));
        assert!(has(&format!("CONNECT {FAR}:443 ")) && has(&format!("GET http://{FAR}")), "{asked:?}");
        // The password is for the worker alone.
        let env = run(&worker, id, "env").await?.text();
        assert!(!env.contains("s3cr") && !worker.log().contains("s3cr"), "{env}");
        let shown = worker.command().args(["config", "--data"]).arg(worker.data()).output()?;
        let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
        assert!(shown.contains("upstream_proxy") && !shown.contains("s3cr"), "{shown}");
    }
    assert!(far.registry.asked().iter().all(|head| !head.to_lowercase().contains("proxy-authorization")));
    Ok(())
}

#[tokio::test]
async fn hosts_that_are_excepted_or_have_a_fixed_address_are_reached_directly() -> Result<()> {
    let far = Far::new().await?;
    let port = far.registry.port;
    let network = format!(
        "allow_private = [\"{NAME}:{port}\"]\nhosts = {{ \"{NAME}\" = \"127.0.0.1\", \"{FAR}\" = \"127.0.0.1\" }}"
    );
    let config = format!(
        "[network]\nregistries = [\"{NAME}:{port}\"]\n{network}\n[packages]\npython_index = \"http://{NAME}:{port}/simple\"\n"
    );
    let mut before = vec!["env".to_owned()];
    before.extend(far.variables(PASSWORD));
    let worker = TestWorker::with(Options { config: Some(config), before, ..Options::default() }).await?;
    let id = session(&worker, Network::Packages).await?;
    assert_eq!(status(&answers(&worker, id, PAGE).await?)?, 200);
    let forwarded = answers(&worker, id, &plain(&far.registry.url("/f"))).await?;
    assert!(forwarded.ends_with("\r\n\r\ntiny"), "{forwarded}");
    assert_eq!(far.corporate.asked(), [""; 0]);
    Ok(())
}

#[tokio::test]
async fn what_the_operators_proxy_refuses_is_reported_with_reason_and_remedy() -> Result<()> {
    let far = Far::new().await?;
    let worker = far.worker("https", &far.variables("wrong"), "").await?;
    let id = session(&worker, Network::Packages).await?;
    for request in [PAGE.to_owned(), connect(&format!("{FAR}:443")), plain(&format!("http://{FAR}/f"))] {
        let answer = answers(&worker, id, &request).await?;
        assert_eq!(status(&answer)?, 502, "{request}: {answer}");
        let line = answer.lines().next().unwrap_or_default();
        assert!(line.contains("asks for a password") && line.contains("network.upstream_proxy"), "{answer}");
    }
    let worker = far.worker("https", &far.variables(PASSWORD), "").await?;
    let id = session(&worker, Network::Packages).await?;
    let refused = answers(&worker, id, &connect("other.test:443")).await?;
    assert!(refused.contains("403 Not on the list") && refused.contains("network.no_proxy"), "{refused}");
    // An address is not hidden from the checks by a proxy.
    let private = answers(&worker, id, &connect("10.0.0.7:443")).await?;
    assert_eq!(status(&private)?, 403, "{private}");
    // A proxy that does not exist.
    let nowhere = ["HTTPS_PROXY=http://127.0.0.1:1".to_owned()];
    let worker = far.worker("https", &nowhere, "").await?;
    let id = session(&worker, Network::Packages).await?;
    let answer = answers(&worker, id, &connect(&format!("{FAR}:443"))).await?;
    assert!(
        answer.contains("the operator's proxy does not answer") && !answer.contains("127.0.0.1:1"),
        "{answer}"
    );
    Ok(())
}

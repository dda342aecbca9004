//! The mirror and registries behind TLS: their certificates are checked, by name and by who signed them.

use anyhow::Result;
use headwater_protocol::Network;
use headwater_tests::{Options, TestWorker, TlsProxy};
use serde_json::json;

use crate::outlet::{say, session, status};
use crate::registry::{NAME, Registry};
use crate::sample_packages::sha256;

#[tokio::test]
async fn packages_come_over_tls_if_the_registrys_certificate_is_valid() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let authority = folder.path().join("authority.pem");
    let registry = Registry::new().await?;
    let page = json!({ "meta": { "api-version": "1.0" }, "name": "tiny", "files": [
        { "filename": "tiny-1.tar.gz", "url": "../../f", "hashes": { "sha256": sha256(b"tiny") } },
    ]});
    registry.put("/simple/tiny/", "application/vnd.pypi.simple.v1+json", page.to_string());
    registry.put("/f", "application/octet-stream", "tiny");
    let mut proxy = TlsProxy::bind(NAME, &authority).await?;
    let port = proxy.port();
    proxy.serve(format!("127.0.0.1:{}", registry.port));
    let known = format!("SSL_CERT_FILE={}", authority.display());
    for (name, cert, wanted) in [
        (NAME, known.as_str(), 200),
        // Another name than the certificate's, and an unknown authority.
        ("other.test", &known, 502),
        (NAME, "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt", 502),
    ] {
        let config = format!(
            "[network]\nallow_private = [\"{name}:{port}\"]\n[network.hosts]\n\"{name}\" = \"127.0.0.1\"\n\
             [packages]\npython_index = \"https://{name}:{port}/simple\"\n"
        );
        let before = ["env", "-u", "SSL_CERT_DIR", cert].map(str::to_owned).to_vec();
        let options = Options { config: Some(config), before, ..Options::default() };
        let worker = TestWorker::with(options).await?;
        let id = session(&worker, Network::Packages).await?;
        for path in ["/pypi/simple/tiny/", "/pypi/files/tiny/tiny-1.tar.gz"] {
            let ask = format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
            let answer = say(&worker, id, &ask, None).await?;
            assert_eq!(status(&answer)?, wanted, "{name}, {cert}: {answer}");
            assert!(wanted != 200 || path.ends_with('/') || answer.ends_with("\r\n\r\ntiny"), "{answer}");
        }
    }
    Ok(())
}

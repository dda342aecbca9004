//! The mirror and registries behind TLS: their certificates are checked, by name and by who signed them.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use headwater_protocol::Network;
use headwater_tests::{Options, TestWorker};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use crate::made::sha256;
use crate::outlet::{say, session, status};
use crate::registry::{NAME, Registry};

/// An authority of our own, and a certificate for the registry that it signed.
fn certificates(authority: &Path) -> Result<ServerConfig> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate()?;
    std::fs::write(authority, params.self_signed(&key)?.pem())?;
    let issuer = Issuer::new(params, key);
    let own_key = KeyPair::generate()?;
    let own = CertificateParams::new(vec![NAME.to_owned()])?.signed_by(&own_key, &issuer)?;
    let secret = PrivateKeyDer::try_from(own_key.serialize_der()).map_err(anyhow::Error::msg)?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let config = config.with_safe_default_protocol_versions()?.with_no_client_auth();
    Ok(config.with_single_cert(vec![own.der().clone()], secret)?)
}

/// Takes TLS off and passes the rest on to the registry.
fn front(listener: TcpListener, config: ServerConfig, registry: u16) -> JoinHandle<()> {
    let acceptor = TlsAcceptor::from(Arc::new(config));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                // A worker that does not like the certificate leaves.
                let Ok(mut stream) = acceptor.accept(stream).await else { return };
                let Ok(mut server) = TcpStream::connect(("127.0.0.1", registry)).await else { return };
                let _ = tokio::io::copy_bidirectional(&mut stream, &mut server).await;
            });
        }
    })
}

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
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let port = listener.local_addr()?.port();
    let front = front(listener, certificates(&authority)?, registry.port);
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
    front.abort();
    Ok(())
}

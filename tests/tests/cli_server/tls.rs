//! A server behind TLS, as behind a proxy: its certificate is checked, by name and by who signed it.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use headwater_tests::{ServerOptions, TestServer};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use crate::command::{Done, Running, headwater};

/// An authority of our own, and a certificate for `localhost` that it signed.
fn certificates(authority: &Path) -> Result<ServerConfig> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate()?;
    std::fs::write(authority, params.self_signed(&key)?.pem())?;
    let issuer = Issuer::new(params, key);
    let own_key = KeyPair::generate()?;
    let own = CertificateParams::new(vec!["localhost".to_owned()])?.signed_by(&own_key, &issuer)?;
    let secret = PrivateKeyDer::try_from(own_key.serialize_der()).map_err(anyhow::Error::msg)?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let config = config.with_safe_default_protocol_versions()?.with_no_client_auth();
    Ok(config.with_single_cert(vec![own.der().clone()], secret)?)
}

/// Takes TLS off and passes the rest on.
fn proxy(listener: TcpListener, config: ServerConfig, to: String) -> JoinHandle<()> {
    let acceptor = TlsAcceptor::from(Arc::new(config));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, to) = (acceptor.clone(), to.clone());
            tokio::spawn(async move {
                // A client that does not like the certificate leaves.
                let Ok(mut stream) = acceptor.accept(stream).await else { return };
                let Ok(mut server) = TcpStream::connect(to).await else { return };
                let _ = tokio::io::copy_bidirectional(&mut stream, &mut server).await;
            });
        }
    })
}

async fn run(server: &TestServer, url: &str, authority: Option<&Path>) -> Result<Done> {
    let mut command = headwater(server, &["--server", url, "run", "--shell", "echo hi; cat; exit 4"]);
    command.env_remove("SSL_CERT_DIR");
    match authority {
        Some(path) => command.env("SSL_CERT_FILE", path),
        None => command.env_remove("SSL_CERT_FILE"),
    };
    // On a thread of its own: the proxy needs this one.
    tokio::task::spawn_blocking(move || {
        let mut running = Running::start(command)?;
        let _ = running.write(b"typed\n"); // it may have ended with an error by now
        running.finish()
    })
    .await?
}

#[tokio::test]
async fn a_server_behind_tls_is_used_if_its_certificate_is_valid() -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let port = listener.local_addr()?.port();
    let args = vec!["--host".to_owned(), format!("localhost:{port}")];
    let config = Some("pool = 1\n".to_owned());
    let server = TestServer::with(ServerOptions { args, config, ..ServerOptions::default() }).await?;
    let authority = server.scratch().join("authority.pem");
    let proxy = proxy(listener, certificates(&authority)?, server.address().to_owned());

    let good = run(&server, &format!("https://localhost:{port}"), Some(&authority)).await?;
    assert_eq!((good.code, good.text().as_str(), good.errors().as_str()), (Some(4), "hi\ntyped\n", ""));
    let unknown = run(&server, &format!("https://localhost:{port}"), None).await?;
    let other_name = run(&server, &format!("https://127.0.0.1:{port}"), Some(&authority)).await?;
    for refused in [unknown, other_name] {
        assert_eq!((refused.code, refused.text().as_str()), (Some(125), ""));
        assert!(refused.errors().contains("certificate"), "{}", refused.errors());
    }
    proxy.abort();
    Ok(())
}

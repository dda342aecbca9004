//! A proxy that terminates TLS with a certificate of a new authority.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

/// A TLS proxy on 127.0.0.1. It ends when it is dropped.
#[derive(Debug)]
pub struct TlsProxy {
    port: u16,
    config: Arc<ServerConfig>,
    listener: Option<TcpListener>,
    serving: Option<JoinHandle<()>>,
}

impl TlsProxy {
    /// Binds a port and creates an authority, written to a file, and a certificate for this name. Connections wait until
    /// [`Self::serve`].
    pub async fn bind(name: &str, authority: &Path) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        let config = Arc::new(certificates(name, authority)?);
        Ok(Self { port, config, listener: Some(listener), serving: None })
    }

    /// The port that it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Passes everything on to this address, without TLS.
    pub fn serve(&mut self, to: String) {
        let Some(listener) = self.listener.take() else { return };
        let acceptor = TlsAcceptor::from(Arc::clone(&self.config));
        self.serving = Some(tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(pass_on(acceptor.clone(), stream, to.clone()));
            }
        }));
    }
}

impl Drop for TlsProxy {
    fn drop(&mut self) {
        if let Some(serving) = &self.serving {
            serving.abort();
        }
    }
}

async fn pass_on(acceptor: TlsAcceptor, stream: TcpStream, to: String) {
    // A client that does not accept the certificate closes the connection.
    let Ok(mut stream) = acceptor.accept(stream).await else { return };
    let Ok(mut server) = TcpStream::connect(to).await else { return };
    let _ = tokio::io::copy_bidirectional(&mut stream, &mut server).await;
}

fn certificates(name: &str, authority: &Path) -> Result<ServerConfig> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate()?;
    std::fs::write(authority, params.self_signed(&key)?.pem())?;
    let issuer = Issuer::new(params, key);
    let own_key = KeyPair::generate()?;
    let own = CertificateParams::new(vec![name.to_owned()])?.signed_by(&own_key, &issuer)?;
    let secret = PrivateKeyDer::try_from(own_key.serialize_der()).map_err(anyhow::Error::msg)?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let config = config.with_safe_default_protocol_versions()?.with_no_client_auth();
    Ok(config.with_single_cert(vec![own.der().clone()], secret)?)
}

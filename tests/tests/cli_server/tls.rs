//! A server behind TLS, as behind a proxy: its certificate is checked, by name and by who signed it.

use std::path::Path;

use anyhow::Result;
use headwater_tests::{ServerOptions, TestServer, TlsProxy};

use crate::command::{Done, Running, headwater};

async fn run(server: &TestServer, url: &str, authority: Option<&Path>) -> Result<Done> {
    let mut command = headwater(server, &["--server", url, "run", "--shell", "echo hi; cat; exit 4"]);
    command.env_remove("SSL_CERT_DIR");
    match authority {
        Some(path) => command.env("SSL_CERT_FILE", path),
        None => command.env_remove("SSL_CERT_FILE"),
    };
    // On another thread: the proxy needs this one.
    tokio::task::spawn_blocking(move || {
        let mut running = Running::start(command)?;
        let _ = running.write(b"typed\n"); // it may have ended with an error by now
        running.finish()
    })
    .await?
}

#[tokio::test]
async fn a_server_behind_tls_is_used_if_its_certificate_is_valid() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let authority = folder.path().join("authority.pem");
    let mut proxy = TlsProxy::bind("localhost", &authority).await?;
    let port = proxy.port();
    let args = vec!["--host".to_owned(), format!("localhost:{port}")];
    let config = Some("pool = 1\n".to_owned());
    let server = TestServer::with(ServerOptions { args, config, ..ServerOptions::default() }).await?;
    proxy.serve(server.address().to_owned());

    let valid = run(&server, &format!("https://localhost:{port}"), Some(&authority)).await?;
    assert_eq!((valid.code, valid.text().as_str(), valid.errors().as_str()), (Some(4), "hi\ntyped\n", ""));
    let unknown = run(&server, &format!("https://localhost:{port}"), None).await?;
    let other_name = run(&server, &format!("https://127.0.0.1:{port}"), Some(&authority)).await?;
    for refused in [unknown, other_name] {
        assert_eq!((refused.code, refused.text().as_str()), (Some(125), ""));
        assert!(refused.errors().contains("certificate"), "{}", refused.errors());
    }
    Ok(())
}

//! MCP servers on the network.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use reqwest::header::{HeaderName, HeaderValue};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;

/// How long a connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The transport to a server. No error has the value of a header, which may be a token.
pub(super) fn transport(
    url: &str,
    headers: &BTreeMap<String, String>,
) -> Result<StreamableHttpClientTransport<reqwest::Client>, String> {
    // An error means that the process has a provider already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().connect_timeout(CONNECT_TIMEOUT).build();
    let client = client.map_err(|error| error.to_string())?;
    let custom = headers.iter().map(|(name, value)| {
        let name = HeaderName::try_from(name.as_str())
            .map_err(|_| format!("`{name}` is not the name of a header"))?;
        let mut value = HeaderValue::try_from(value.as_str())
            .map_err(|_| format!("the header `{name}` has a value with characters that are not allowed"))?;
        value.set_sensitive(true);
        Ok::<_, String>((name, value))
    });
    let custom = custom.collect::<Result<HashMap<_, _>, _>>()?;
    let config = StreamableHttpClientTransportConfig::with_uri(url).custom_headers(custom);
    Ok(StreamableHttpClientTransport::with_client(client, config))
}

//! Passes a request to a port of a session, and the program's response to the client.

use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::{HeaderValue, Request, StatusCode, Uri, Version, header};
use axum::response::{IntoResponse, Response};
use headwater_contract::ContractError;
use hyper::client::conn::http1;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;

use super::headers::{for_client, for_program};
use super::label::{Refused, Target};
use crate::auth::resolve_client;
use crate::routes::web_app::takes_html;
use crate::state::Gateway;

/// How often a browser tries again to show a port on which nothing listens yet.
const RETRY_SECONDS: u32 = 2;
/// The page of an error has no script and loads nothing.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// Serves a request whose host name is that of a preview.
pub(crate) async fn serve(
    gateway: &Gateway,
    target: Result<Target, Refused>,
    mut request: Request<Body>,
) -> Response {
    let html = takes_html(request.headers());
    resolve_client(&gateway.config.trusted_proxies, &mut request);
    let address = request.extensions().get::<ConnectInfo<std::net::SocketAddr>>().map(|info| info.0.ip());
    if let Err(error) = address.map_or(Ok(()), |address| gateway.rates.count_address(address)) {
        return error.into_response();
    }
    let target = match target {
        Ok(target) => target,
        Err(Refused::Expired) => return Problem::expired().response(html),
        Err(Refused::Unknown) => {
            let counted = address.map_or(Ok(()), |address| gateway.rates.count_failure(address));
            return counted.map_or_else(IntoResponse::into_response, |()| Problem::unknown().response(html));
        }
    };
    match forward(gateway, target, request).await {
        Ok(response) => response,
        Err(problem) => problem.response(html),
    }
}

async fn forward(gateway: &Gateway, target: Target, mut request: Request<Body>) -> Result<Response, Problem> {
    let upgrade = for_program(request.headers_mut(), target.port);
    let client_upgrade = upgrade.map(|_| hyper::upgrade::on(&mut request));
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    *request.uri_mut() = path.parse().unwrap_or_else(|_| Uri::from_static("/"));
    request.extensions_mut().clear();
    let connection = gateway.worker.connect_port(target.session, target.port).await;
    let connection = connection.map_err(|error| Problem::of(&error, target.port))?;
    let broken = |error: hyper::Error| Problem::broken(target.port, &error);
    let (mut sender, driver) = http1::handshake(TokioIo::new(connection)).await.map_err(broken)?;
    gateway.background.until_stopped(async move {
        // Its error is that of the request or of the body.
        let _ = driver.with_upgrades().await;
    });
    let mut response = sender.send_request(request).await.map_err(broken)?;
    let is_upgrade = response.status() == StatusCode::SWITCHING_PROTOCOLS;
    if let (true, Some(client)) = (is_upgrade, client_upgrade) {
        let program = hyper::upgrade::on(&mut response);
        gateway.background.until_stopped(relay(client, program));
    }
    *response.version_mut() = Version::HTTP_11;
    for_client(response.headers_mut(), is_upgrade);
    Ok(response.map(Body::new))
}

/// Moves the bytes of a WebSocket both ways until one side ends.
async fn relay(client: OnUpgrade, program: OnUpgrade) {
    if let (Ok(client), Ok(program)) = tokio::join!(client, program) {
        let (mut client, mut program) = (TokioIo::new(client), TokioIo::new(program));
        let _ = tokio::io::copy_bidirectional(&mut client, &mut program).await;
    }
}

/// Why a preview shows nothing.
#[derive(Debug)]
struct Problem {
    status: StatusCode,
    title: String,
    text: String,
    /// Whether it may work in a moment.
    is_temporary: bool,
}

impl Problem {
    fn unknown() -> Self {
        Self {
            status: StatusCode::NOT_FOUND,
            title: "This preview does not exist".into(),
            text: "Its address is wrong, or it belongs to another server.".into(),
            is_temporary: false,
        }
    }

    fn expired() -> Self {
        Self {
            status: StatusCode::GONE,
            title: "This preview has expired".into(),
            text: "Open the port again from its session.".into(),
            is_temporary: false,
        }
    }

    fn of(error: &ContractError, port: u16) -> Self {
        let text = match error {
            ContractError::Fault(fault) => fault.message.clone(),
            _ => "the worker does not answer".to_owned(),
        };
        Self {
            status: StatusCode::BAD_GATEWAY,
            title: format!("Port {port} does not answer"),
            text: format!("{text}. This page tries again by itself."),
            is_temporary: true,
        }
    }

    fn broken(port: u16, error: &hyper::Error) -> Self {
        Self {
            status: StatusCode::BAD_GATEWAY,
            title: format!("Port {port} sent no HTTP response"),
            text: format!("The connection to the program failed: {error}."),
            is_temporary: false,
        }
    }

    fn response(self, html: bool) -> Response {
        let (title, text) = (escaped(&self.title), escaped(&self.text));
        let (kind, body) = if html {
            ("text/html; charset=utf-8", page(&title, &text))
        } else {
            ("text/plain; charset=utf-8", format!("{}: {}\n", self.title, self.text))
        };
        let mut response = (self.status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
        headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if self.is_temporary {
            headers.insert("refresh", HeaderValue::from(RETRY_SECONDS));
        }
        for_client(headers, false);
        response
    }
}

fn page(title: &str, text: &str) -> String {
    format!(
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\">\
         <title>{title}</title><style>body{{font:16px/1.5 system-ui;margin:20vh auto;max-width:28rem;padding:0 1rem;\
         color-scheme:light dark}}h1{{font-size:20px}}</style><h1>{title}</h1><p>{text}</p></html>\n"
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

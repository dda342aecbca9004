//! The page at `/`: the web app, or, in a binary without it, a form to sign in and a page that says who is signed in.
//! Programs get JSON, or are redirected to the documentation.

use std::sync::{Arc, LazyLock};

use axum::Extension;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use headwater_protocol::ExecutionId;
use sha2::{Digest, Sha256};
use utoipa_axum::router::OpenApiRouter;

use super::web_app::{self, takes_html};
use crate::auth::{Identity, unauthenticated};
use crate::error::ApiError;
use crate::state::Gateway;

const PAGE: &str = include_str!("home.html");
/// The address of the pages that show an execution.
const LIVE_PAGE: &str = "/executions/";
/// The part of the page that says which of its two views is shown.
const SIGNED_OUT: &str = "<body data-state=\"signed-out\">";
const SIGNED_IN: &str = "<body data-state=\"signed-in\">";

/// The page for people who are signed in.
static PAGE_SIGNED_IN: LazyLock<String> = LazyLock::new(|| PAGE.replacen(SIGNED_OUT, SIGNED_IN, 1));

/// The content security policy: only this page's own style and script, by their hashes, and requests to this server.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    format!(
        "default-src 'none'; style-src {}; script-src {}; img-src data:; connect-src 'self'; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'",
        hash_of("style"),
        hash_of("script")
    )
});

pub(crate) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    OpenApiRouter::new()
        .route("/", axum::routing::get(home))
        .route("/executions/{id}", axum::routing::get(live))
}

/// Whether a browser asks for the page, which is shown to people who are not signed in, too.
pub(crate) fn is_page<B>(request: &axum::http::Request<B>) -> bool {
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    reads && request.uri().path() == "/" && takes_html(request.headers())
}

/// The hash of the page's element of this name, as a source of the policy.
fn hash_of(element: &str) -> String {
    let (begin, end) = (format!("<{element}>"), format!("</{element}>"));
    let inside =
        PAGE.split_once(&begin).and_then(|(_, rest)| rest.split_once(&end)).map(|(inside, _)| inside);
    let hash = Sha256::digest(inside.unwrap_or_default().as_bytes());
    format!("'sha256-{}'", STANDARD.encode(hash))
}

/// Whether this is the page that shows an execution live.
pub(crate) fn is_live_page(path: &str) -> bool {
    path.strip_prefix(LIVE_PAGE).is_some_and(|id| !id.contains('/'))
}

/// The address of the page that shows an execution live, below the origin of the server.
pub(crate) fn live_page(id: ExecutionId) -> String {
    format!("{LIVE_PAGE}{id}")
}

/// The page where a person lets a program use the server, and the page of an execution. Its script asks whether they are
/// signed in: a browser that comes from another site sends no cookie with its first request.
pub(crate) fn page_for_everybody() -> Response {
    let headers =
        [(header::CONTENT_SECURITY_POLICY, POLICY.as_str()), (header::REFERRER_POLICY, "no-referrer")];
    (headers, Html(PAGE)).into_response()
}

/// The page that shows an execution.
async fn live(State(gateway): State<Arc<Gateway>>, headers: HeaderMap) -> Response {
    web_app::page(&gateway, &headers).unwrap_or_else(page_for_everybody)
}

async fn home(
    State(gateway): State<Arc<Gateway>>,
    who: Option<Extension<Identity>>,
    request: Request,
) -> Result<Response, ApiError> {
    if !is_page(&request) {
        let redirect = || ([(header::VARY, "Accept")], Redirect::to("/docs")).into_response();
        return who.map(|_| redirect()).ok_or_else(unauthenticated);
    }
    if let Some(page) = web_app::page(&gateway, request.headers()) {
        return Ok(page);
    }
    let page = if who.is_some() { PAGE_SIGNED_IN.as_str() } else { PAGE };
    let headers = [
        (header::CONTENT_SECURITY_POLICY, POLICY.as_str()),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::VARY, "Accept, Cookie"),
    ];
    Ok((headers, Html(page)).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_browser_gets_the_page() {
        let asks = |method: &str, path: &str, accept: &str| {
            let request = axum::http::Request::builder().method(method).uri(path).header("accept", accept);
            is_page(&request.body(()).unwrap())
        };
        let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
        assert!(asks("GET", "/", browser) && asks("HEAD", "/", "TEXT/HTML;q=1"));
        assert!(!asks("GET", "/", "*/*") && !asks("GET", "/", "application/json"));
        assert!(!asks("POST", "/", browser) && !asks("GET", "/docs", browser));
    }

    #[test]
    fn the_policy_names_the_one_style_and_the_one_script() {
        assert_eq!((PAGE.matches("<style").count(), PAGE.matches("<script").count()), (1, 1));
        assert!(PAGE.contains(SIGNED_OUT) && PAGE_SIGNED_IN.contains(SIGNED_IN));
        assert_eq!((hash_of("style").len(), hash_of("script").len()), (53, 53));
        assert_ne!(hash_of("style"), hash_of("script"));
        assert!(!POLICY.contains("unsafe"), "{}", *POLICY);
    }
}

//! Serves the web app, which is embedded in the binary: its page for every address that the app shows, and its assets.
//!
//! Both are the same for everybody and need no credential: the app's script asks who is signed in. Assets have a hash in
//! their names and are stored compressed.

use std::borrow::Cow;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::response::{IntoResponse, Response};
use headwater_protocol::api::ErrorCode;
use utoipa_axum::router::OpenApiRouter;

use crate::error::ApiError;
use crate::previews;
use crate::state::Gateway;

/// The folder of the assets, in the address and below `web/dist`.
const ASSETS: &str = "/assets/";
/// Icons, which have fixed names.
const ICONS: [&str; 2] = ["/favicon.svg", "/favicon-running.svg"];
/// The first names of the addresses that the app shows, as in `web/src/lib/routes.ts`, besides the root.
const PAGES: [&str; 8] =
    ["chat", "sessions", "terminal", "executions", "history", "admin", "settings", "signin"];

/// Scripts of the app only. Editor and terminal set styles of elements, and the editor's workers are assets; images and
/// text of a workspace are shown from `blob:` addresses. Frames show previews only.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
    img-src 'self' data: blob:; media-src blob:; font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:; \
    manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const IMMUTABLE: &str = "public, max-age=31536000, immutable";

pub(crate) fn routes() -> OpenApiRouter<Arc<Gateway>> {
    let mut router = OpenApiRouter::new().route("/assets/{*path}", axum::routing::get(asset));
    for icon in ICONS {
        let serve = async move |headers: HeaderMap| serve(&icon[1..], &headers, "public, max-age=3600");
        router = router.route(icon, axum::routing::get(serve));
    }
    for page in PAGES.into_iter().filter(|page| *page != "executions") {
        router = router
            .route(&format!("/{page}"), axum::routing::get(page_or_missing))
            .route(&format!("/{page}/"), axum::routing::get(page_or_missing))
            .route(&format!("/{page}/{{*rest}}"), axum::routing::get(page_or_missing));
    }
    // A binary without the app has a page of an execution, too (`home`).
    router.route("/executions/{id}/{*rest}", axum::routing::get(page_or_missing))
}

/// Whether this address is the same for everybody: an asset, or a page that a browser asks for.
pub(crate) fn is_public<B>(request: &axum::http::Request<B>) -> bool {
    if !matches!(*request.method(), Method::GET | Method::HEAD) || !headwater_web::is_built() {
        return false;
    }
    let path = request.uri().path();
    path.starts_with(ASSETS) || ICONS.contains(&path) || is_page(path) && takes_html(request.headers())
}

fn is_page(path: &str) -> bool {
    path == "/" || path.split('/').nth(1).is_some_and(|first| PAGES.contains(&first))
}

/// Whether a browser asks for a page.
pub(crate) fn takes_html(headers: &HeaderMap) -> bool {
    let kinds = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    kinds
        .flat_map(|value| value.split(','))
        .any(|kind| kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("text/html"))
}

/// The page of the app, if it is built.
pub(crate) fn page(gateway: &Gateway, headers: &HeaderMap) -> Option<Response> {
    if !headwater_web::is_built() {
        return None;
    }
    // A new version has other assets: the page is asked for each time.
    let mut response = serve(headwater_web::INDEX, headers, "no-cache").into_response();
    let headers = response.headers_mut();
    let frames = previews::frame_source(gateway.config.preview_url.as_ref());
    if let Ok(policy) = HeaderValue::from_str(&format!("{POLICY}; frame-src {frames}")) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.append(header::VARY, HeaderValue::from_static("Accept"));
    Some(response)
}

async fn page_or_missing(
    State(gateway): State<Arc<Gateway>>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    page(&gateway, &headers).ok_or_else(|| {
        let message = "this binary was built without the web app";
        ApiError::new(
            ErrorCode::NoSuchRoute,
            message,
            "build it with Node: `make build`; `/docs` describes the API",
        )
    })
}

async fn asset(Path(path): Path<String>, headers: HeaderMap) -> Response {
    serve(&format!("assets/{path}"), &headers, IMMUTABLE)
}

/// A file of the app, in the best encoding that the client takes.
fn serve(path: &str, headers: &HeaderMap, caching: &'static str) -> Response {
    let encodings = [("br", ".br"), ("gzip", ".gz")];
    let encoded = encodings
        .into_iter()
        .filter(|(name, _)| takes_encoding(headers, name))
        .find_map(|(name, suffix)| Some((Some(name), headwater_web::file(&format!("{path}{suffix}"))?)));
    let Some((encoding, bytes)) = encoded.or_else(|| Some((None, headwater_web::file(path)?))) else {
        let message = format!("the web app has no file `{}`", path.chars().take(128).collect::<String>());
        return ApiError::new(
            ErrorCode::NoSuchRoute,
            message,
            "reload the page: the server has another version",
        )
        .into_response();
    };
    let body = match bytes {
        Cow::Borrowed(bytes) => Body::from(bytes),
        Cow::Owned(bytes) => Body::from(bytes),
    };
    let mut response = body.into_response();
    let fields = response.headers_mut();
    fields.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type(path)));
    fields.insert(header::CACHE_CONTROL, HeaderValue::from_static(caching));
    fields.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    if let Some(encoding) = encoding {
        fields.insert(header::CONTENT_ENCODING, HeaderValue::from_static(encoding));
    }
    response
}

/// Whether a client takes an encoding. A quality of 0 refuses it.
fn takes_encoding(headers: &HeaderMap, wanted: &str) -> bool {
    let values = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|part| {
        let (name, quality) = part.split_once(';').unwrap_or((part, ""));
        let quality = quality.trim().strip_prefix("q=").and_then(|quality| quality.parse::<f32>().ok());
        name.trim().eq_ignore_ascii_case(wanted) && quality.is_none_or(|quality| quality > 0.0)
    })
}

/// The content type of a file of the app.
fn content_type(path: &str) -> &'static str {
    match path.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" | "map" => "application/json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "ttf" => "font/ttf",
        "wasm" => "application/wasm",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: header::HeaderName, value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_static(value))])
    }

    #[test]
    fn an_encoding_is_used_only_if_the_client_takes_it() {
        let takes = |value, wanted| takes_encoding(&headers(header::ACCEPT_ENCODING, value), wanted);
        assert!(takes("gzip, deflate, br", "br") && takes("GZIP;q=0.5", "gzip"));
        assert!(!takes("gzip", "br") && !takes("br;q=0, gzip", "br") && !takes("", "gzip"));
        assert!(!takes_encoding(&HeaderMap::new(), "br"));
    }

    #[test]
    fn only_a_browser_gets_a_page() {
        let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
        assert!(takes_html(&headers(header::ACCEPT, browser)));
        assert!(takes_html(&headers(header::ACCEPT, "TEXT/HTML;q=1")));
        assert!(!takes_html(&headers(header::ACCEPT, "*/*")) && !takes_html(&HeaderMap::new()));
    }

    #[test]
    fn pages_are_known_by_their_first_name() {
        for page in ["/", "/sessions", "/sessions/ses_1/files", "/executions/exe_1", "/settings/"] {
            assert!(is_page(page), "{page}");
        }
        for other in ["/v1/sessions", "/docs", "/sessionsx", "/login", "//sessions", "/assets/x.js"] {
            assert!(!is_page(other), "{other}");
        }
    }

    #[test]
    fn every_page_of_the_app_has_a_route() {
        let table = include_str!("../../../../web/src/lib/routes.ts");
        let mut names: Vec<_> = table
            .split("pattern: '/")
            .skip(1)
            .map(|rest| rest.split(['\'', '/']).next().unwrap())
            .filter(|name| !name.is_empty())
            .collect();
        names.sort_unstable();
        names.dedup();
        let mut pages = PAGES;
        pages.sort_unstable();
        assert_eq!(names, pages);
    }

    #[test]
    fn every_file_of_the_app_has_a_content_type() {
        for path in headwater_web::paths() {
            let plain = path.trim_end_matches(".br").trim_end_matches(".gz");
            assert_ne!(content_type(plain), "application/octet-stream", "{path}");
        }
    }
}

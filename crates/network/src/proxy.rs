//! Routes a request to a session's outlet: a tunnel, a request to another host, or one to the mirror.

use std::convert::Infallible;
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::{Method, Request, Response, Uri};

use super::meter::add;
use super::outlet::Connection;
use super::response::{Body, Form, Refusal};
use super::target::{Host, Target};
use super::{PORT, forward, tunnel};

/// Answers one request.
pub(crate) async fn handle(
    connection: Arc<Connection>,
    request: Request<Incoming>,
) -> Result<Response<Body>, Infallible> {
    add(&connection.meter.requests, 1);
    let asked = format!("{} {}", request.method(), request.uri());
    let form = if request.uri().path().starts_with("/npm/") { Form::Json } else { Form::Text };
    let result = match route(request.method(), request.uri()) {
        Err(refusal) => Err(refusal),
        Ok(Route::Mirror) => connection.network.mirror.answer(&connection, &request).await,
        Ok(Route::Tunnel(target)) => match allowed(&connection, &target) {
            Ok(()) => tunnel::open(&connection, request, &target).await,
            Err(refusal) => Err(refusal),
        },
        Ok(Route::Forward(target)) => match allowed(&connection, &target) {
            Ok(()) => forward::forward(&connection, request, &target).await,
            Err(refusal) => Err(refusal),
        },
    };
    Ok(result.unwrap_or_else(|refusal| {
        connection.meter.refused(&asked, &refusal);
        refusal.response(form)
    }))
}

#[derive(Debug, PartialEq, Eq)]
enum Route {
    Mirror,
    Tunnel(Target),
    Forward(Target),
}

/// Where a request goes.
fn route(method: &Method, uri: &Uri) -> Result<Route, Refusal> {
    let target = |default_port| {
        let authority = uri.authority().map(hyper::http::uri::Authority::as_str).unwrap_or_default();
        Target::parse(authority, default_port).map_err(|error| Refusal::bad(error.to_string()))
    };
    if method == Method::CONNECT {
        return Ok(Route::Tunnel(target(None)?));
    }
    match uri.scheme_str() {
        None => Ok(Route::Mirror),
        Some("http") => {
            let target = target(Some(80))?;
            // A program that uses the proxy even for the mirror.
            let is_outlet = target.port == PORT
                && (target.host == Host::Name("localhost".into())
                    || target.host == Host::Address([127, 0, 0, 1].into()));
            Ok(if is_outlet { Route::Mirror } else { Route::Forward(target) })
        }
        Some(_) => Err(Refusal::bad("the proxy only forwards `http`; use CONNECT for `https`")),
    }
}

/// Whether the operator's list allows the target.
fn allowed(connection: &Connection, target: &Target) -> Result<(), Refusal> {
    if connection.network.rules.registries.iter().any(|pattern| pattern.admits(target)) {
        return Ok(());
    }
    Err(Refusal::denied(format!(
        "`{target}` is not among the registries that this session may reach; the operator can list it in `network.registries`"
    )))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn routed(method: &str, uri: &str) -> Option<Route> {
        route(&method.parse().unwrap(), &uri.parse().ok()?).ok()
    }

    #[test]
    fn a_request_is_a_tunnel_another_hosts_or_the_mirrors() {
        let target = |text| Target::parse(text, None).unwrap();
        assert_eq!(routed("CONNECT", "pypi.org:443"), Some(Route::Tunnel(target("pypi.org:443"))));
        assert_eq!(routed("GET", "http://PyPI.org/simple/"), Some(Route::Forward(target("pypi.org:80"))));
        assert_eq!(routed("GET", "http://a.example:81/"), Some(Route::Forward(target("a.example:81"))));
        assert_eq!(routed("GET", "/pypi/simple/x/"), Some(Route::Mirror));
        assert_eq!(routed("GET", "http://127.0.0.1:41080/npm/x"), Some(Route::Mirror));
        for (method, uri) in [
            ("CONNECT", "pypi.org"),
            ("GET", "https://pypi.org/"),
            ("GET", "ftp://pypi.org/"),
            ("GET", "http://user@pypi.org/"),
            ("GET", "http://evil.example#@pypi.org/"),
            ("GET", "http://127.1/"),
        ] {
            assert!(
                !matches!(routed(method, uri), Some(Route::Forward(t) | Route::Tunnel(t)) if t.host == Host::Name("pypi.org".into())),
                "{method} {uri}"
            );
        }
        assert_eq!(routed("GET", "http://127.1/"), None);
    }

    proptest! {
        #[test]
        fn no_target_breaks_it(method in "GET|POST|CONNECT|OPTIONS", uri in "[ -~]{0,60}") {
            let _ = routed(&method, &uri);
        }
    }
}

//! What a request to a session's outlet is: a tunnel, a request to another host, or one to the mirror.

use std::convert::Infallible;
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::{Method, Request, Response, Uri};

use super::answer::{Body, Refusal};
use super::meter::add;
use super::outlet::Visit;
use super::target::{Host, Target};
use super::{PORT, forward, tunnel};

/// Answers one request.
pub(crate) async fn answer(
    visit: Arc<Visit>,
    request: Request<Incoming>,
) -> Result<Response<Body>, Infallible> {
    add(&visit.meter.requests, 1);
    let asked = format!("{} {}", request.method(), request.uri());
    let answered = match direct(request.method(), request.uri()) {
        Err(refusal) => Err(refusal),
        Ok(Way::Mirror) => visit.network.mirror.answer(&visit, &request).await,
        Ok(Way::Tunnel(target)) => match allowed(&visit, &target) {
            Ok(()) => tunnel::open(&visit, request, &target).await,
            Err(refusal) => Err(refusal),
        },
        Ok(Way::Forward(target)) => match allowed(&visit, &target) {
            Ok(()) => forward::forward(&visit, request, &target).await,
            Err(refusal) => Err(refusal),
        },
    };
    Ok(answered.unwrap_or_else(|refusal| {
        visit.meter.refused(&asked, &refusal);
        refusal.response()
    }))
}

#[derive(Debug, PartialEq, Eq)]
enum Way {
    Mirror,
    Tunnel(Target),
    Forward(Target),
}

/// Where a request wants to go.
fn direct(method: &Method, uri: &Uri) -> Result<Way, Refusal> {
    let target = |default_port| {
        let authority = uri.authority().map(hyper::http::uri::Authority::as_str).unwrap_or_default();
        Target::parse(authority, default_port).map_err(|error| Refusal::bad(error.to_string()))
    };
    if method == Method::CONNECT {
        return Ok(Way::Tunnel(target(None)?));
    }
    match uri.scheme_str() {
        None => Ok(Way::Mirror),
        Some("http") => {
            let target = target(Some(80))?;
            // A program that knows the proxy and not what it is not for.
            let own = target.port == PORT
                && (target.host == Host::Name("localhost".into())
                    || target.host == Host::Address([127, 0, 0, 1].into()));
            Ok(if own { Way::Mirror } else { Way::Forward(target) })
        }
        Some(_) => Err(Refusal::bad("only `http` goes this way; for `https` ask with CONNECT")),
    }
}

/// Whether the operator lists it.
fn allowed(visit: &Visit, target: &Target) -> Result<(), Refusal> {
    if visit.network.rules.registries.iter().any(|pattern| pattern.admits(target)) {
        return Ok(());
    }
    Err(Refusal::denied(format!(
        "`{target}` is not among the registries that this session reaches; the operator can list it in `network.registries`"
    )))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn way(method: &str, uri: &str) -> Option<Way> {
        direct(&method.parse().unwrap(), &uri.parse().ok()?).ok()
    }

    #[test]
    fn a_request_is_a_tunnel_another_hosts_or_the_mirrors() {
        let target = |text| Target::parse(text, None).unwrap();
        assert_eq!(way("CONNECT", "pypi.org:443"), Some(Way::Tunnel(target("pypi.org:443"))));
        assert_eq!(way("GET", "http://PyPI.org/simple/"), Some(Way::Forward(target("pypi.org:80"))));
        assert_eq!(way("GET", "http://a.example:81/"), Some(Way::Forward(target("a.example:81"))));
        assert_eq!(way("GET", "/pypi/simple/x/"), Some(Way::Mirror));
        assert_eq!(way("GET", "http://127.0.0.1:41080/npm/x"), Some(Way::Mirror));
        for (method, uri) in [
            ("CONNECT", "pypi.org"),
            ("GET", "https://pypi.org/"),
            ("GET", "ftp://pypi.org/"),
            ("GET", "http://user@pypi.org/"),
            ("GET", "http://evil.example#@pypi.org/"),
            ("GET", "http://127.1/"),
        ] {
            assert!(
                !matches!(way(method, uri), Some(Way::Forward(t) | Way::Tunnel(t)) if t.host == Host::Name("pypi.org".into())),
                "{method} {uri}"
            );
        }
        assert_eq!(way("GET", "http://127.1/"), None);
    }

    proptest! {
        #[test]
        fn no_target_breaks_it(method in "GET|POST|CONNECT|OPTIONS", uri in "[ -~]{0,60}") {
            let _ = way(&method, &uri);
        }
    }
}

//! Dialling: a name is resolved once, and the addresses that were checked are the ones that are dialled.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;

use super::address::is_public;
use super::connect::{self, ConnectError};
use super::resolver::Resolver;
use super::target::{Host, Target};
use super::upstream::{Proxy, Scheme, Upstream};

/// How long a connection to one address may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The most addresses of a name that are tried.
const MAX_ADDRESSES: usize = 4;

/// Why a host could not be reached.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DialError {
    /// The host has a private address.
    #[error("`{target}` has the address `{address}`, which is not public")]
    Private {
        /// The host and port.
        target: Target,
        /// The address that is not public.
        address: IpAddr,
    },
    /// The name cannot be resolved.
    #[error("the name of `{target}` cannot be resolved: {source}")]
    Unresolved {
        /// The host and port.
        target: Target,
        /// The cause.
        source: io::Error,
    },
    /// The operator's proxy opens no tunnel to it.
    #[error("the upstream proxy opens no tunnel to `{target}`: {source}")]
    Proxy {
        /// The host and port.
        target: Target,
        /// The cause.
        source: ConnectError,
    },
    /// The operator's proxy cannot be reached.
    #[error("the upstream proxy `{proxy}` does not answer: {source}")]
    NoProxy {
        /// The host and port of the proxy.
        proxy: Target,
        /// The cause.
        source: io::Error,
    },
    /// No address accepts a connection.
    #[error("`{target}` does not answer: {source}")]
    Unreachable {
        /// The host and port.
        target: Target,
        /// The cause.
        source: io::Error,
    },
}

/// Opens all connections that leave the host.
#[derive(Debug, Clone)]
pub(crate) struct Dialler {
    names: Arc<dyn Resolver>,
    /// Hosts that may have a private address: the operator's exceptions.
    private: Arc<[Target]>,
    upstream: Arc<Upstream>,
}

impl Dialler {
    pub(crate) fn new(names: Arc<dyn Resolver>, private: &[Target], upstream: Upstream) -> Self {
        Self { names, private: private.into(), upstream: Arc::new(upstream) }
    }

    /// The operator's proxy for a target, if it is not reached directly.
    pub(crate) fn proxy_for(&self, scheme: Scheme, target: &Target) -> Option<&Proxy> {
        self.upstream.proxy_for(scheme, target)
    }

    /// Whether the operator allows this target a private address.
    pub(crate) fn is_exception(&self, target: &Target) -> bool {
        self.private.contains(target)
    }

    /// All addresses of a target, without the check; only for exceptions.
    pub(crate) async fn unchecked(&self, target: &Target) -> Result<Vec<SocketAddr>, DialError> {
        let found = match &target.host {
            Host::Address(address) => vec![*address],
            Host::Name(name) => {
                let found = self.names.addresses(name).await;
                found.map_err(|source| DialError::Unresolved { target: target.clone(), source })?
            }
        };
        if found.is_empty() {
            return Err(DialError::Unresolved {
                target: target.clone(),
                source: io::ErrorKind::NotFound.into(),
            });
        }
        Ok(found.into_iter().map(|address| SocketAddr::new(address, target.port)).collect())
    }

    /// The addresses of a target. One private address among them refuses all: such a name is probably an attack.
    pub(crate) async fn addresses(&self, target: &Target) -> Result<Vec<SocketAddr>, DialError> {
        let found = self.unchecked(target).await?;
        if !self.is_exception(target)
            && let Some(address) = found.iter().map(SocketAddr::ip).find(|address| !is_public(*address))
        {
            return Err(DialError::Private { target: target.clone(), address });
        }
        Ok(found)
    }

    /// A stream to the target: directly, or a tunnel through the operator's proxy. Through a proxy an address is
    /// refused as it would be directly; names are resolved by the proxy.
    pub(crate) async fn tunnel(&self, target: &Target) -> Result<TcpStream, DialError> {
        let Some(proxy) = self.proxy_for(Scheme::Https, target) else {
            return self.connect(target).await;
        };
        self.refuse_private_address(target)?;
        let stream = self.connect_to_proxy(proxy).await?;
        let failed = |source| DialError::Proxy { target: target.clone(), source };
        connect::tunnel(stream, proxy, target).await.map_err(failed)
    }

    /// Refuses a private address that the operator has not allowed.
    pub(crate) fn refuse_private_address(&self, target: &Target) -> Result<(), DialError> {
        match target.host {
            Host::Address(address) if !is_public(address) && !self.is_exception(target) => {
                Err(DialError::Private { target: target.clone(), address })
            }
            _ => Ok(()),
        }
    }

    /// Connects to the operator's proxy, whose address may be private.
    pub(crate) async fn connect_to_proxy(&self, proxy: &Proxy) -> Result<TcpStream, DialError> {
        let failed = |source| DialError::NoProxy { proxy: proxy.target.clone(), source };
        let addresses = self.unchecked(&proxy.target).await.map_err(|error| match error {
            DialError::Unresolved { source, .. } => failed(source),
            other => other,
        })?;
        first_that_answers(addresses).await.map_err(failed)
    }

    /// Connects to the first address that answers.
    pub(crate) async fn connect(&self, target: &Target) -> Result<TcpStream, DialError> {
        let addresses = self.addresses(target).await?;
        first_that_answers(addresses)
            .await
            .map_err(|source| DialError::Unreachable { target: target.clone(), source })
    }
}

async fn first_that_answers(addresses: Vec<SocketAddr>) -> io::Result<TcpStream> {
    let mut failure = io::Error::from(io::ErrorKind::NotFound);
    for address in addresses.into_iter().take(MAX_ADDRESSES) {
        match tokio::time::timeout(CONNECT_TIMEOUT, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                // The small messages of a handshake must not be delayed.
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Ok(Err(error)) => failure = error,
            Err(_) => failure = io::ErrorKind::TimedOut.into(),
        }
    }
    Err(failure)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::VecDeque;
    use std::sync::Mutex;

    use futures_util::FutureExt;
    use futures_util::future::BoxFuture;
    use tokio::net::TcpListener;

    use super::*;

    /// Answers each question with the next of these, and the last for ever.
    #[derive(Debug)]
    pub(crate) struct Changing(Mutex<VecDeque<Vec<IpAddr>>>);

    impl Changing {
        pub(crate) fn new(answers: &[&[&str]]) -> Arc<Self> {
            let read = |answer: &&[&str]| answer.iter().map(|text| text.parse().unwrap()).collect();
            Arc::new(Self(Mutex::new(answers.iter().map(read).collect())))
        }

        fn left(&self) -> usize {
            self.0.lock().unwrap().len()
        }
    }

    impl Resolver for Changing {
        fn addresses<'a>(&'a self, _: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
            let mut answers = self.0.lock().unwrap();
            let answer = if answers.len() > 1 { answers.pop_front() } else { answers.front().cloned() };
            async move { Ok(answer.unwrap()) }.boxed()
        }
    }

    fn target(text: &str) -> Target {
        Target::parse(text, None).unwrap()
    }

    #[tokio::test]
    async fn one_private_address_among_public_ones_spoils_them_all() {
        let names = Changing::new(&[&["1.1.1.1", "10.0.0.1"]]);
        let dialler = Dialler::new(names, &[], Upstream::default());
        let refused = dialler.connect(&target("registry.example:443")).await.unwrap_err();
        assert!(matches!(refused, DialError::Private { .. }), "{refused}");
        let refused = dialler.connect(&target("169.254.169.254:80")).await.unwrap_err();
        assert!(matches!(refused, DialError::Private { .. }), "{refused}");
    }

    #[tokio::test]
    async fn a_name_is_asked_once_and_what_was_checked_is_what_is_dialled() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        // Public when it is checked, ours when it is asked again: a dialler that asks twice would come to us.
        let names = Changing::new(&[&["1.1.1.1"], &["127.0.0.1"]]);
        let dialler =
            Dialler::new(Arc::<Changing>::clone(&names) as Arc<dyn Resolver>, &[], Upstream::default());
        let it = target(&format!("rebinding.example:{port}"));
        let addresses = dialler.addresses(&it).await.unwrap();
        assert_eq!(addresses, [SocketAddr::new("1.1.1.1".parse().unwrap(), port)]);
        assert_eq!(names.left(), 1);
        // From now on it says 127.0.0.1, and that is refused.
        let refused = dialler.connect(&it).await.unwrap_err();
        assert!(matches!(refused, DialError::Private { .. }), "{refused}");
        // The control: as an exception it is reached, by one question.
        let names = Changing::new(&[&["127.0.0.1"], &["10.0.0.1"], &["10.0.0.1"]]);
        let dialler = Dialler::new(
            Arc::<Changing>::clone(&names) as Arc<dyn Resolver>,
            std::slice::from_ref(&it),
            Upstream::default(),
        );
        let (stream, _) = tokio::join!(dialler.connect(&it), listener.accept());
        assert_eq!(stream.unwrap().peer_addr().unwrap().port(), port);
        assert_eq!(names.left(), 2);
    }

    #[tokio::test]
    async fn an_exception_is_one_host_and_one_port() {
        let names = Changing::new(&[&["10.0.0.1"]]);
        let dialler = Dialler::new(names, &[target("a.example:8080")], Upstream::default());
        assert!(dialler.addresses(&target("a.example:8080")).await.is_ok());
        for other in ["a.example:80", "b.example:8080", "10.0.0.1:8080"] {
            assert!(dialler.addresses(&target(other)).await.is_err(), "{other}");
        }
    }
}

//! Dialling: the addresses that were checked are the addresses that are dialled, whatever a name says a moment later.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;

use super::address::is_public;
use super::names::Names;
use super::target::{Host, Target};

/// How long one address may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// How many addresses of a name are tried.
const TRIED: usize = 4;

/// Why nobody was reached.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DialError {
    /// It has an address in somebody's own network.
    #[error("`{target}` has the address `{address}`, which is not one of the internet")]
    Private {
        /// Who was to be reached.
        target: Target,
        /// Where that would have been.
        address: IpAddr,
    },
    /// Its name leads nowhere.
    #[error("the name of `{target}` cannot be resolved: {source}")]
    Unknown {
        /// Who was to be reached.
        target: Target,
        /// Why not.
        source: io::Error,
    },
    /// It does not answer.
    #[error("`{target}` does not answer: {source}")]
    Silent {
        /// Who was to be reached.
        target: Target,
        /// Why not.
        source: io::Error,
    },
}

/// The one way out.
#[derive(Debug, Clone)]
pub(crate) struct Dialler {
    names: Arc<dyn Names>,
    /// Who may have a private address: the operator's exceptions.
    private: Arc<[Target]>,
}

impl Dialler {
    pub(crate) fn new(names: Arc<dyn Names>, private: &[Target]) -> Self {
        Self { names, private: private.into() }
    }

    /// Whether the operator excepted it.
    pub(crate) fn is_exception(&self, target: &Target) -> bool {
        self.private.contains(target)
    }

    /// All addresses, for a target that was found to be an exception.
    pub(crate) async fn unchecked(&self, target: &Target) -> Result<Vec<SocketAddr>, DialError> {
        let found = match &target.host {
            Host::Address(address) => vec![*address],
            Host::Name(name) => {
                let found = self.names.addresses(name).await;
                found.map_err(|source| DialError::Unknown { target: target.clone(), source })?
            }
        };
        if found.is_empty() {
            return Err(DialError::Unknown {
                target: target.clone(),
                source: io::ErrorKind::NotFound.into(),
            });
        }
        Ok(found.into_iter().map(|address| SocketAddr::new(address, target.port)).collect())
    }

    /// The addresses that may be dialled. One that may not spoils them all: a name that has both is up to something.
    pub(crate) async fn addresses(&self, target: &Target) -> Result<Vec<SocketAddr>, DialError> {
        let found = self.unchecked(target).await?;
        if !self.is_exception(target)
            && let Some(address) = found.iter().map(SocketAddr::ip).find(|address| !is_public(*address))
        {
            return Err(DialError::Private { target: target.clone(), address });
        }
        Ok(found)
    }

    /// A connection to one of them.
    pub(crate) async fn connect(&self, target: &Target) -> Result<TcpStream, DialError> {
        let mut failure = io::Error::from(io::ErrorKind::NotFound);
        for address in self.addresses(target).await?.into_iter().take(TRIED) {
            match tokio::time::timeout(PATIENCE, TcpStream::connect(address)).await {
                Ok(Ok(stream)) => {
                    // Small pieces of a handshake must not wait for each other.
                    let _ = stream.set_nodelay(true);
                    return Ok(stream);
                }
                Ok(Err(error)) => failure = error,
                Err(_) => failure = io::ErrorKind::TimedOut.into(),
            }
        }
        Err(DialError::Silent { target: target.clone(), source: failure })
    }
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

    impl Names for Changing {
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
        let dialler = Dialler::new(names, &[]);
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
        let dialler = Dialler::new(Arc::<Changing>::clone(&names) as Arc<dyn Names>, &[]);
        let it = target(&format!("rebinding.example:{port}"));
        let addresses = dialler.addresses(&it).await.unwrap();
        assert_eq!(addresses, [SocketAddr::new("1.1.1.1".parse().unwrap(), port)]);
        assert_eq!(names.left(), 1);
        // From now on it says 127.0.0.1, and that is refused.
        let refused = dialler.connect(&it).await.unwrap_err();
        assert!(matches!(refused, DialError::Private { .. }), "{refused}");
        // The control: as an exception it is reached, by one question.
        let names = Changing::new(&[&["127.0.0.1"], &["10.0.0.1"], &["10.0.0.1"]]);
        let dialler =
            Dialler::new(Arc::<Changing>::clone(&names) as Arc<dyn Names>, std::slice::from_ref(&it));
        let (stream, _) = tokio::join!(dialler.connect(&it), listener.accept());
        assert_eq!(stream.unwrap().peer_addr().unwrap().port(), port);
        assert_eq!(names.left(), 2);
    }

    #[tokio::test]
    async fn an_exception_is_one_host_and_one_port() {
        let names = Changing::new(&[&["10.0.0.1"]]);
        let dialler = Dialler::new(names, &[target("a.example:8080")]);
        assert!(dialler.addresses(&target("a.example:8080")).await.is_ok());
        for other in ["a.example:80", "b.example:8080", "10.0.0.1:8080"] {
            assert!(dialler.addresses(&target(other)).await.is_err(), "{other}");
        }
    }
}

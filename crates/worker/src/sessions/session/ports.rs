//! Connections to the ports that programs of a session listen on: init creates the socket inside the session, and the
//! worker connects it.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use headwater_contract::{Fault, FaultKind};
use headwater_sandbox::wire::ToInit;
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::oneshot;

use super::{ANSWER_TIMEOUT, Session};

/// How long a program may take to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A caller that waits for a socket of this kind.
type Request = (bool, oneshot::Sender<io::Result<OwnedFd>>);

/// The callers that wait for a socket, in the order of their requests.
#[derive(Debug, Default)]
pub(crate) struct SocketRequests(Mutex<Vec<Request>>);

impl SocketRequests {
    fn add(&self, ipv6: bool) -> oneshot::Receiver<io::Result<OwnedFd>> {
        let (answer, answered) = oneshot::channel();
        let mut requests = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        requests.retain(|(_, answer)| !answer.is_closed());
        requests.push((ipv6, answer));
        answered
    }

    /// Passes the answer of init to the first caller that waits for one of this kind. Sockets of a kind are all alike.
    pub(crate) fn answer(&self, ipv6: bool, answer: io::Result<OwnedFd>) {
        let mut requests = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        requests.retain(|(_, answer)| !answer.is_closed());
        if let Some(n) = requests.iter().position(|(kind, _)| *kind == ipv6) {
            // The caller may no longer wait.
            let _ = requests.remove(n).1.send(answer);
        }
    }
}

impl Session {
    /// Whether programs of the session have a network namespace of their own. One that cannot be read counts as shared.
    pub(crate) fn has_own_network(&self) -> bool {
        let namespace = |process: &str| std::fs::read_link(format!("/proc/{process}/ns/net"));
        let Some(init) = self.init_pid() else { return false };
        match (namespace(&init.to_string()), namespace("self")) {
            (Ok(its), Ok(ours)) => its != ours,
            _ => false,
        }
    }

    /// Connects to a port on the session's loopback device, by IPv4 and, if nothing listens there, by IPv6.
    pub(crate) async fn connect(&self, port: u16) -> Result<TcpStream, Fault> {
        if !self.has_own_network() {
            let fault = Fault::new(FaultKind::Conflict, "the session uses the network of the host");
            return Err(fault.hint("open the port at the address of the host"));
        }
        self.touch();
        match self.connect_to(IpAddr::V4(Ipv4Addr::LOCALHOST), port).await? {
            Ok(stream) => Ok(stream),
            Err(_) => self.connect_to(IpAddr::V6(Ipv6Addr::LOCALHOST), port).await?.map_err(|_| {
                Fault::new(FaultKind::Unavailable, format!("nothing listens on port {port} of the session"))
                    .hint("start the program, and let it listen on 127.0.0.1 or on all addresses")
            }),
        }
    }

    /// The inner error is that of the connection; the outer one is a failure of the session.
    async fn connect_to(&self, address: IpAddr, port: u16) -> Result<io::Result<TcpStream>, Fault> {
        let answered = self.socket_requests.add(address.is_ipv6());
        self.send(&ToInit::Socket { ipv6: address.is_ipv6() }).await?;
        let Ok(Ok(socket)) = tokio::time::timeout(ANSWER_TIMEOUT, answered).await else {
            return Err(Fault::new(FaultKind::Unavailable, "the session's init does not answer"));
        };
        let connecting = async {
            let socket = TcpSocket::from_std_stream(socket?.into());
            let stream = socket.connect(SocketAddr::new(address, port)).await?;
            stream.set_nodelay(true)?;
            Ok(stream)
        };
        let timed_out = || Err(io::ErrorKind::TimedOut.into());
        Ok(tokio::time::timeout(CONNECT_TIMEOUT, connecting).await.unwrap_or_else(|_| timed_out()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_answer_goes_to_the_first_caller_that_waits_for_its_kind() {
        let requests = SocketRequests::default();
        let (gone, v6, v4) = (requests.add(false), requests.add(true), requests.add(false));
        drop(gone);
        requests.answer(false, Err(io::Error::from_raw_os_error(4)));
        requests.answer(true, Err(io::Error::from_raw_os_error(6)));
        requests.answer(true, Err(io::Error::from_raw_os_error(7)));
        let errno = |answer: Result<io::Result<OwnedFd>, _>| answer.unwrap().unwrap_err().raw_os_error();
        assert_eq!((errno(v4.await), errno(v6.await)), (Some(4), Some(6)));
    }
}

//! The TCP ports that the programs of a session listen on.

use std::collections::BTreeSet;
use std::fs;

use headwater_contract::{Fault, v1};
use headwater_protocol::{Network, SessionId};

use crate::detached::blocking;
use crate::engine::Engine;
use crate::sessions::table::Active;

/// The state of a listening socket in the kernel's lists.
const LISTENING: &str = "0A";

/// The ports, ascending, each once, without that of the package mirror. A hibernated session has none, and stays
/// hibernated.
///
/// The lists are those of the network namespace of the session's init. Without isolation that is the host's.
pub(crate) async fn listening(engine: &Engine, id: SessionId) -> Result<v1::ListPortsResponse, Fault> {
    let Active::Live(session) = engine.sessions.active(id)? else {
        return Ok(v1::ListPortsResponse::default());
    };
    blocking(move || {
        let Some(init) = session.init_pid() else { return Ok(v1::ListPortsResponse::default()) };
        let lists = ["tcp", "tcp6"].map(|name| fs::read_to_string(format!("/proc/{init}/net/{name}")));
        let mut ports: BTreeSet<u16> = lists.iter().flatten().flat_map(|list| ports(list)).collect();
        if session.record().spec.network == Network::Packages {
            ports.remove(&headwater_network::PORT);
        }
        let tcp = ports.into_iter().map(u32::from).collect();
        Ok(v1::ListPortsResponse { tcp, can_connect: session.has_own_network() })
    })
    .await
}

/// The ports of the listening sockets in `/proc/PID/net/tcp` or `tcp6`.
fn ports(list: &str) -> impl Iterator<Item = u16> + '_ {
    list.lines().skip(1).filter_map(|line| {
        let mut fields = line.split_whitespace().skip(1);
        let (local, state) = (fields.next()?, fields.nth(1)?);
        let (_, port) = local.rsplit_once(':')?;
        if state == LISTENING { u16::from_str_radix(port, 16).ok() } else { None }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listening_sockets_of_the_kernels_list_count() {
        let list = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 1 1 0 100 0 0 10 0
   1: 0100007F:C350 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1000        0 2 1 0 20 4 30 10 -1
   2: 00000000000000000000000000000000:0050 00000000000000000000000000000000:0000 0A 0:0 0:0 0 0 0 3
nonsense
";
        assert_eq!(ports(list).collect::<Vec<_>>(), [8080, 80]);
    }
}

//! `NO_PROXY`: which hosts are reached without the operator's proxy.

use std::net::IpAddr;

use super::address::lies_in_block;
use super::target::{Host, Target, split};

/// A host or a block of addresses that is reached without the proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Exception {
    /// All hosts.
    All,
    /// A name and its subdomains, and only this port if one is given.
    Domain(String, Option<u16>),
    /// An address, or a block of them with the length of its prefix.
    Block(IpAddr, u32),
}

impl Exception {
    /// Parses an entry of `NO_PROXY`: `*`, `host`, `.domain`, `*.domain`, `host:port`, an address, or a block.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if text == "*" {
            return Some(Self::All);
        }
        if let Some((address, length)) = text.split_once('/') {
            return Some(Self::Block(address.parse().ok()?, length.parse().ok()?));
        }
        if let Ok(address) = text.trim_matches(['[', ']']).parse::<IpAddr>() {
            return Some(Self::Block(address, if address.is_ipv4() { 32 } else { 128 }));
        }
        let (host, port) = split(text);
        let name =
            host.trim_start_matches('*').trim_start_matches('.').trim_end_matches('.').to_ascii_lowercase();
        let port = port.map(str::parse).transpose().ok()?;
        (!name.is_empty()).then_some(Self::Domain(name, port))
    }

    /// Whether the target is reached without the proxy.
    pub(crate) fn matches(&self, target: &Target) -> bool {
        match (self, &target.host) {
            (Self::All, _) => true,
            (Self::Domain(domain, port), Host::Name(name)) => {
                let within = name
                    .strip_suffix(domain.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
                within && port.is_none_or(|port| port == target.port)
            }
            (Self::Block(block, length), Host::Address(address)) => lies_in_block(*address, *block, *length),
            (Self::Domain(..), Host::Address(_)) | (Self::Block(..), Host::Name(_)) => false,
        }
    }
}

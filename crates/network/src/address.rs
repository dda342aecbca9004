//! Which addresses are public. Sessions may not reach any other: those belong to private networks.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Blocks of IPv4 that are not on the internet, with the length of their prefix: this network, private, shared by carriers,
/// loopback, link-local (metadata services among it), protocol assignments, examples, 6to4 relays, benchmarks, multicast,
/// reserved and broadcast.
const NOT_PUBLIC_V4: [(Ipv4Addr, u32); 15] = [
    (Ipv4Addr::UNSPECIFIED, 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    (Ipv4Addr::new(240, 0, 0, 0), 4),
];

/// The block of IPv6 from which public addresses are allocated.
const GLOBAL_V6: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// Blocks within it that are not public: protocol assignments (with Teredo), examples, 6to4, more examples.
const NOT_PUBLIC_V6: [(Ipv6Addr, u32); 4] = [
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];

/// Addresses that contain one of IPv4 in their last 32 bits: IPv4-mapped, and those of NAT64 gateways.
const WITH_V4_INSIDE: [(Ipv6Addr, u32); 2] =
    [(Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0), 96), (Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96)];

/// Whether an address is public.
pub(crate) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let bits = address.to_bits();
    !NOT_PUBLIC_V4.iter().any(|(block, length)| (bits ^ block.to_bits()) >> (32 - length) == 0)
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    if WITH_V4_INSIDE.iter().any(|block| lies_in(address, *block)) {
        let [.., a, b, c, d] = address.octets();
        return is_public_v4(Ipv4Addr::new(a, b, c, d));
    }
    lies_in(address, GLOBAL_V6) && !NOT_PUBLIC_V6.iter().any(|block| lies_in(address, *block))
}

/// Whether an address lies in a block of the same kind.
pub(crate) fn lies_in_block(address: IpAddr, block: IpAddr, length: u32) -> bool {
    match (address, block) {
        (IpAddr::V4(address), IpAddr::V4(block)) => {
            length == 0 || length <= 32 && (address.to_bits() ^ block.to_bits()) >> (32 - length) == 0
        }
        (IpAddr::V6(address), IpAddr::V6(block)) => {
            length == 0 || length <= 128 && lies_in(address, (block, length))
        }
        _ => false,
    }
}

fn lies_in(address: Ipv6Addr, (block, length): (Ipv6Addr, u32)) -> bool {
    (address.to_bits() ^ block.to_bits()) >> (128 - length) == 0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn public(text: &str) -> bool {
        is_public(text.parse().unwrap())
    }

    #[test]
    fn addresses_of_the_internet_are_public() {
        for text in [
            "1.1.1.1",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "151.101.0.223",
            "172.15.255.255",
            "172.32.0.0",
            "192.167.255.255",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2606:4700::1111",
            "2a04:4e42::223",
            "64:ff9b::101:101",
            "::ffff:1.1.1.1",
        ] {
            assert!(public(text), "{text}");
        }
    }

    #[test]
    fn private_shared_local_and_special_addresses_are_not_whatever_their_form() {
        for text in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "100.100.100.200",
            "127.0.0.1",
            "127.255.255.254",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.192",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "::ffff:0:127.0.0.1",
            "64:ff9b::10.0.0.1",
            "64:ff9b::169.254.169.254",
            "64:ff9b:1::1.1.1.1",
            "100::1",
            "2001::1",
            "2001:0:7f00:1::",
            "2001:db8::1",
            "2002:7f00:1::",
            "2002:101:101::1",
            "3fff::1",
            "5f00::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(!public(text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn an_address_within_another_is_what_that_is(bits: u32) {
            let inner = Ipv4Addr::from_bits(bits);
            let mapped = IpAddr::V6(inner.to_ipv6_mapped());
            let through = IpAddr::V6(Ipv6Addr::from_bits((0x0064_ff9b_u128 << 96) | u128::from(bits)));
            prop_assert_eq!(is_public(mapped), is_public(IpAddr::V4(inner)));
            prop_assert_eq!(is_public(through), is_public(IpAddr::V4(inner)));
        }

        #[test]
        fn private_addresses_are_not_public(bits: u32) {
            let it = Ipv4Addr::from_bits(bits);
            let known = it.is_private() || it.is_loopback() || it.is_link_local() || it.is_multicast()
                || it.is_broadcast() || it.is_unspecified() || it.is_documentation();
            prop_assert!(!known || !is_public(IpAddr::V4(it)));
        }

        #[test]
        fn nothing_outside_the_block_of_the_internet_is_public_but_what_holds_ipv4(bits: u128) {
            let it = Ipv6Addr::from_bits(bits);
            let known = it.is_loopback() || it.is_multicast() || it.is_unspecified()
                || it.is_unique_local() || it.is_unicast_link_local();
            prop_assert!(!known || !is_public(IpAddr::V6(it)));
        }
    }
}

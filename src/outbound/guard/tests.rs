use proptest::prelude::*;

use super::*;

const INTERNET: Admission = Admission::Judged(Scope::Internet);

fn guard(scope: Scope, allowed: &[(&str, u16)]) -> Guard {
    let allowed = allowed
        .iter()
        .map(|(host, port)| AllowedDestination { host: String::from(*host), port: *port });
    Guard::new(scope, allowed.collect())
}

/// The networks that must be refused, written independently of the tables.
fn refused_v4() -> impl Strategy<Value = Ipv4Addr> {
    let high = |first: u8| (Just(first), any::<[u8; 3]>()).prop_map(|(a, [b, c, d])| [a, b, c, d]);
    let low = |a: u8, b: std::ops::RangeInclusive<u8>| {
        (Just(a), b, any::<[u8; 2]>()).prop_map(|(a, b, [c, d])| [a, b, c, d])
    };
    let small = |a: u8, b: u8, c: u8| any::<u8>().prop_map(move |d| [a, b, c, d]);
    let octets = prop_oneof![
        high(0),
        high(10),
        high(127),
        low(100, 64..=127),
        low(169, 254..=254),
        low(172, 16..=31),
        low(192, 168..=168),
        low(198, 18..=19),
        small(192, 0, 0),
        small(192, 0, 2),
        small(192, 88, 99),
        small(198, 51, 100),
        small(203, 0, 113),
        (224_u8..=255, any::<[u8; 3]>()).prop_map(|(a, [b, c, d])| [a, b, c, d]),
        Just([169, 254, 169, 254]),
        Just([100, 100, 100, 200]),
        Just([168, 63, 129, 16]),
        Just([192, 0, 0, 192]),
        Just([255, 255, 255, 255]),
    ];
    octets.prop_map(Ipv4Addr::from)
}

/// IPv6 addresses that contain this IPv4 address.
fn disguises(four: Ipv4Addr) -> Vec<Ipv6Addr> {
    let [a, b, c, d] = four.octets();
    let (high, low) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
    vec![
        four.to_ipv6_mapped(),
        // Compatible, translated, NAT64 of the world and of a site, 6to4, Teredo (inverted too),
        // ISATAP.
        Ipv6Addr::new(0, 0, 0, 0, 0, 0, high, low),
        Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, high, low),
        Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low),
        Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, high, low),
        Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1),
        Ipv6Addr::new(0x2001, 0, high, low, 0, 0, 0, 1),
        Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, !high, !low),
        Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0x5efe, high, low),
    ]
}

/// Spellings that some libraries read as this address.
fn spellings(four: Ipv4Addr) -> Vec<String> {
    let [a, b, c, d] = four.octets();
    let number = u32::from(four);
    let low = number & 0x00ff_ffff;
    vec![
        four.to_string(),
        format!("{a}.{b}.{}", number & 0xffff),
        format!("{a}.{low}"),
        number.to_string(),
        format!("0{a:o}.0{b:o}.0{c:o}.0{d:o}"),
        format!("0{number:o}"),
        format!("{number:#x}"),
        format!("{number:#X}"),
        format!("{a:#x}.{b:#x}.{c:#x}.{d:#x}"),
        format!("{a}.{b:#x}.{c}.0{d:o}"),
        format!("{a:#x}.{low}"),
        format!("{four}."),
        format!("::ffff:{four}"),
        format!("[::ffff:{four}]"),
        format!("::ffff:{four}%1"),
        format!("{four}%eth0"),
        format!("{four}%00"),
        format!(" {four}"),
        format!("{a}.{b}.{c}.{d}:443"),
        String::from("0x"),
        String::from("1."),
    ]
}

proptest! {
    #[test]
    fn an_address_that_is_not_public_is_refused_in_every_disguise(four in refused_v4()) {
        prop_assert!(!INTERNET.allows(&[IpAddr::V4(four)]));
        for six in disguises(four) {
            prop_assert!(!INTERNET.allows(&[IpAddr::V6(six)]), "{six}");
        }
    }

    #[test]
    fn an_address_is_no_host_name_in_any_spelling(number: u32) {
        let guard = guard(Scope::Internet, &[]);
        for host in spellings(Ipv4Addr::from(number)) {
            prop_assert_eq!(guard.admit(&host, 443), Err(NOT_A_NAME), "{}", host);
        }
        let six = Ipv6Addr::from(u128::from(number)).to_string();
        prop_assert_eq!(guard.admit(&six, 443), Err(NOT_A_NAME));
    }

    #[test]
    fn one_address_that_is_not_public_refuses_all(bad in refused_v4(), at in 0..4_usize) {
        let mut addresses = vec![IpAddr::from([93, 184, 216, 34]); 3];
        prop_assert!(INTERNET.allows(&addresses));
        addresses.insert(at, IpAddr::V4(bad));
        prop_assert!(!INTERNET.allows(&addresses));
        prop_assert!(Admission::Listed.allows(&addresses));
    }

    #[test]
    fn only_global_unicast_addresses_of_ipv6_are_public(number: u128) {
        let six = Ipv6Addr::from(number);
        let [first, ..] = six.segments();
        if !(0x2000..0x4000).contains(&first) && first != 0x64 {
            prop_assert!(!INTERNET.allows(&[IpAddr::V6(six)]), "{six}");
        }
    }

    #[test]
    fn names_are_admitted_on_port_443_alone(
        name in "[a-z][a-z0-9-]{0,20}(\\.[a-z0-9]{1,10}){0,3}\\.[a-z]{2,8}", port: u16,
    ) {
        let (strict, open) = (guard(Scope::Internet, &[]), guard(Scope::Development, &[]));
        let admitted = if port == 443 { Ok(INTERNET) } else { Err(PORT) };
        prop_assert_eq!(strict.admit(&name, port), admitted);
        prop_assert!(open.admit(&name, port).is_ok());
        let listed = guard(Scope::Internet, &[(&name.to_uppercase(), port)]);
        prop_assert_eq!(listed.admit(&name, port), Ok(Admission::Listed));
        prop_assert_ne!(listed.admit(&format!("x{name}"), port), Ok(Admission::Listed));
        prop_assert_ne!(listed.admit(&format!("{name}."), port), Ok(Admission::Listed));
        prop_assert_ne!(listed.admit(&name, port.wrapping_add(1)), Ok(Admission::Listed));
    }
}

#[test]
fn public_addresses_are_public() {
    for address in [
        "1.1.1.1",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.0",
        "168.63.129.15",
        "172.15.255.255",
        "172.32.0.0",
        "192.0.1.0",
        "192.167.255.255",
        "198.17.255.255",
        "198.20.0.0",
        "223.255.255.255",
        "2606:4700::1111",
        "2a00:1450:4001::5e",
        "2001:4860:4860::8888",
        "64:ff9b::101:101",
    ] {
        assert!(INTERNET.allows(&[address.parse().unwrap()]), "{address}");
    }
}

#[test]
fn addresses_of_this_machine_its_network_and_its_cloud_are_not_public() {
    for address in [
        "::",
        "::1",
        "fc00::1",
        "fd00:ec2::254",
        "fd20:ce::254",
        "fe80::1",
        "fec0::1",
        "ff02::1",
        "100::1",
        "2001:db8::1",
        "3fff::1",
        "5f00::1",
        "2001:2::1",
        "2001:20::1",
    ] {
        assert!(!INTERNET.allows(&[address.parse().unwrap()]), "{address}");
    }
    assert!(!INTERNET.allows(&[]));
}

#[test]
fn development_allows_this_machine_and_no_other_private_address() {
    let open = guard(Scope::Development, &[]);
    for host in ["localhost", "127.0.0.1", "::1", "psp.example"] {
        let admission = open.admit(host, 8_443).unwrap();
        assert!(admission.allows(&["127.0.0.1".parse().unwrap(), "::1".parse().unwrap()]));
        assert!(!admission.allows(&["10.0.0.1".parse().unwrap()]));
        assert!(!admission.allows(&["169.254.169.254".parse().unwrap()]));
    }
    for host in ["10.0.0.1", "1.1.1.1", "127.1", "0x7f000001", "::ffff:127.0.0.1"] {
        assert_eq!(open.admit(host, 443), Err(NOT_A_NAME), "{host}");
    }
}

#[test]
fn an_address_in_the_list_is_an_address_and_not_a_name_that_has_it() {
    let listed =
        guard(Scope::Internet, &[("10.0.0.1", 8_443), ("fd00::1", 443), ("In.Example", 9)]);
    assert_eq!(listed.admit("10.0.0.1", 8_443), Ok(Admission::Listed));
    assert_eq!(listed.admit("10.0.0.1", 443), Err(NOT_A_NAME));
    assert_eq!(listed.admit("FD00:0::1", 443), Ok(Admission::Listed));
    assert_eq!(listed.admit("in.example", 9), Ok(Admission::Listed));
    let other = listed.admit("psp.example", 443).unwrap();
    assert!(!other.allows(&["10.0.0.1".parse().unwrap()]));
}

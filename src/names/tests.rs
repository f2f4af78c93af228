use super::*;
use crate::waiting::{steps, within};

const ID: [u8; 2] = [7, 9];

/// An answer to the question, with these records of the given types.
fn answer(query: &[u8], flags: u16, records: &[(u16, &[u8])]) -> Vec<u8> {
    let mut bytes = query[..2].to_vec();
    bytes.extend(flags.to_be_bytes());
    bytes.extend(1_u16.to_be_bytes());
    bytes.extend(u16::try_from(records.len()).unwrap().to_be_bytes());
    bytes.extend([0; 4]);
    bytes.extend(&query[12..]);
    for (kind, data) in records {
        bytes.extend([0xc0, 12]);
        bytes.extend(kind.to_be_bytes());
        bytes.extend([0, 1, 0, 0, 0, 60]);
        bytes.extend(u16::try_from(data.len()).unwrap().to_be_bytes());
        bytes.extend(*data);
    }
    bytes
}

#[test]
fn addresses_are_taken_out_of_an_answer_and_other_records_passed_over() {
    let query = query(ID, "ds.example", RecordType::V4).unwrap();
    let alias = [2, b'x', b'y', 0];
    let told = answer(&query, 0x8180, &[(5, &alias), (1, &[10, 0, 0, 1]), (1, &[10, 0, 0, 2])]);
    let expected = vec![IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2])];
    assert_eq!(parse(&told, ID, RecordType::V4), Some(DnsAnswer::Addresses(expected)));
    assert_eq!(parse(&told, ID, RecordType::V6), Some(DnsAnswer::Addresses(Vec::new())));
    assert_eq!(parse(&told, [0, 0], RecordType::V4), None);
    // An address of the wrong length is ignored, whatever the type of its record.
    let told = answer(&query, 0x8180, &[(1, &[1; 16]), (28, &[1; 4])]);
    for kind in [RecordType::V4, RecordType::V6] {
        assert_eq!(parse(&told, ID, kind), Some(DnsAnswer::Addresses(Vec::new())));
    }
    // No such name; truncated; the server failed; a question.
    let told = |flags| parse(&answer(&query, flags, &[]), ID, RecordType::V4);
    assert_eq!(told(0x8183), Some(DnsAnswer::Addresses(Vec::new())));
    assert_eq!(told(0x8380), Some(DnsAnswer::Truncated));
    assert_eq!(told(0x8182), None);
    assert_eq!(told(0x0100), None);
}

#[test]
fn no_bytes_make_reading_an_answer_panic() {
    let query = query(ID, "ds.example", RecordType::V6).unwrap();
    let whole = answer(&query, 0x8180, &[(28, &[1; 16])]);
    for end in 0..whole.len() {
        assert_eq!(parse(&whole[..end], ID, RecordType::V6), None, "{end}");
    }
    proptest::proptest!(|(bytes: Vec<u8>)| {
        let bytes = [&ID[..], &bytes].concat();
        drop(parse(&bytes, ID, RecordType::V4));
    });
}

#[test]
fn names_that_no_question_can_hold_are_not_asked_for() {
    assert!(query(ID, "", RecordType::V4).is_none());
    assert!(query(ID, "a..b", RecordType::V4).is_none());
    assert!(query(ID, &"x".repeat(64), RecordType::V4).is_none());
    assert!(query(ID, "ds.example.", RecordType::V4).is_some());
}

#[test]
fn hosts_and_name_servers_are_read_as_usual() {
    let hosts = "127.0.0.1 localhost\n# 10.0.0.9 ds.example\n10.0.0.1\tother DS.example # x\n\
                 ::1 ds.example\nnonsense ds.example\n";
    assert_eq!(
        in_hosts(hosts, "ds.example"),
        [IpAddr::from([10, 0, 0, 1]), IpAddr::V6(Ipv6Addr::LOCALHOST)]
    );
    assert!(in_hosts(hosts, "example").is_empty());
    let servers = "search x\nnameserver 10.0.0.1\nnameserver fe80::1%eth0\nnameserver ::1\n\
                   nameserver 10.0.0.2\nnameserver 10.0.0.3\n";
    assert_eq!(name_servers(servers).len(), 3);
    assert_eq!(name_servers("options x"), [IpAddr::V4(Ipv4Addr::LOCALHOST)]);
}

/// A resolver that uses the test's own name server.
fn resolver(directory: &std::path::Path, port: u16) -> Resolver {
    let file = |name: &str, text: &str| {
        let path = directory.join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    Resolver {
        hosts: file("hosts", "10.9.9.9 known.example\n"),
        servers: file("resolv.conf", "nameserver 127.0.0.1\n"),
        port,
        random: Random::new(),
    }
}

#[tokio::test]
async fn a_name_is_looked_up_in_the_file_then_by_udp_and_a_long_answer_by_tcp() {
    let directory = std::env::temp_dir().join(format!("sr-names-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let mut tries = steps("a port that is free for both");
    let (tcp, udp, port) = loop {
        tries.next();
        let tcp = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = tcp.local_addr().unwrap().port();
        // A port that is free for TCP may be taken for UDP.
        if let Ok(udp) = UdpSocket::bind(("127.0.0.1", port)).await {
            break (tcp, udp, port);
        }
    };
    let resolver = resolver(&directory, port);
    assert_eq!(resolver.resolve("127.0.0.2").await, [IpAddr::from([127, 0, 0, 2])]);
    assert_eq!(resolver.resolve("known.example").await, [IpAddr::from([10, 9, 9, 9])]);
    assert!(resolver.resolve("localhost").await.iter().all(IpAddr::is_loopback));

    // The questions for the two kinds arrive at the same time; the short one is answered at once.
    let server = async {
        let mut buffer = [0; 512];
        for _ in 0..2 {
            let (length, from) = udp.recv_from(&mut buffer).await.unwrap();
            let query = &buffer[..length];
            let is_v6 = query.ends_with(&[0, 28, 0, 1]);
            let told = if is_v6 {
                answer(query, 0x8180, &[(28, &[1; 16])])
            } else {
                answer(query, 0x8380, &[])
            };
            udp.send_to(&told, from).await.unwrap();
        }
        let (mut stream, _) = tcp.accept().await.unwrap();
        let length = usize::from(stream.read_u16().await.unwrap());
        let mut query = vec![0; length];
        stream.read_exact(&mut query).await.unwrap();
        let told = answer(&query, 0x8180, &[(1, &[10, 0, 0, 1])]);
        stream.write_u16(u16::try_from(told.len()).unwrap()).await.unwrap();
        stream.write_all(&told).await.unwrap();
    };
    let both = async { tokio::join!(resolver.resolve("ds.example"), server) };
    let (found, ()) = within("the questions and their answers", both).await;
    assert_eq!(found, [IpAddr::from([10, 0, 0, 1]), IpAddr::from([1; 16])]);
    std::fs::remove_dir_all(&directory).ok();
}

#[test]
fn a_file_that_is_cut_off_or_not_text_names_no_machine() {
    let path = std::env::temp_dir().join(format!("sr-hosts-{}", std::process::id()));
    let bound = usize::try_from(NAME_FILE_BYTES_MAX).unwrap();
    let line = "\n10.0.0.25 ds.example";
    let cut = format!("{}{line}", "#".repeat(bound - "\n10.0.0.2".len()));
    std::fs::write(&path, &cut).unwrap();
    assert_eq!(read(&path), None);
    std::fs::write(&path, line).unwrap();
    assert_eq!(read(&path).as_deref(), Some(line));
    std::fs::write(&path, b"10.0.0.1 ds.example\n\xff").unwrap();
    assert_eq!(read(&path), None);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(read(&path).as_deref(), Some(""));
}

//! The fuzz target of the resolver: answers of name servers, and the files that it reads.

use std::net::IpAddr;

use super::{DnsAnswer, RecordType, in_hosts, name_servers, parse, query};
use crate::bounds::{NAME_ADDRESSES_MAX, NAME_ANSWER_BYTES_MAX, NAME_SERVERS_MAX};

/// The query id is taken from the answer, so that most inputs reach the records.
pub(crate) fn names(data: &[u8]) {
    if data.len() > NAME_ANSWER_BYTES_MAX {
        return;
    }
    let id = data.first_chunk().copied().unwrap_or_default();
    for kind in [RecordType::V4, RecordType::V6] {
        if let Some(DnsAnswer::Addresses(addresses)) = parse(data, id, kind) {
            assert!(addresses.len() <= NAME_ADDRESSES_MAX);
            // A record has a name, ten bytes and its address.
            assert!(addresses.len().saturating_mul(15) <= data.len());
            let is_kind = |address: &IpAddr| address.is_ipv4() == (kind == RecordType::V4);
            assert!(addresses.iter().all(is_kind), "an address of the other kind");
        }
        let [first, second] = id;
        assert_eq!(parse(data, [!first, second], kind), None, "an answer to another question");
    }
    let Ok(text) = std::str::from_utf8(data) else { return };
    let host = text.lines().next().unwrap_or_default();
    assert!(in_hosts(text, host).len() <= text.len());
    let servers = name_servers(text);
    assert!(!servers.is_empty() && servers.len() <= NAME_SERVERS_MAX);
    if let Some(question) = query(id, host, RecordType::V6) {
        // The question is not an answer, and contains the given name.
        assert_eq!(parse(&question, id, RecordType::V6), None);
        assert_eq!(question.len(), host.strip_suffix('.').unwrap_or(host).len().saturating_add(18));
    }
}

//! Small texts from outside: ids, times, containers, patterns, shares, settings, and the BIN table.

use std::net::IpAddr;
use std::time::Duration;

use serde_json::Value;

use crate::config::Config;
use crate::crypto::{AgeRecipients, MasterKey, Scheme, Share};
use crate::domain::card::bin_table::BinTable;
use crate::domain::container::Container;
use crate::domain::expires_at;
use crate::domain::id::TokenId;
use crate::domain::key_text::KeyText;
use crate::domain::mistakes::Mistakes;
use crate::domain::pattern::{Pattern, Steps};
use crate::domain::proxy::location::Location;
use crate::domain::proxy::mask::mask;
use crate::domain::proxy::read::read_transforms;
use crate::domain::proxy::transform::{Matcher, Side, Transform};
use crate::domain::quota::RateLimit;
use crate::domain::time::Timestamp;
use crate::domain::token::TokenName;
use crate::domain::web_origin::WebOrigin;
use crate::domain::{duration, hex, search_query, size};
use crate::fuzz::check_sentence;
use crate::limits::{Network, client_address};
use crate::secret::Secret;
use crate::store::DatabaseUrl;

/// A text in each of the small languages. Writing and reading a parsed one gives the same value.
pub fn words(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(container) = Container::parse(text) {
        assert_eq!(Container::parse(container.as_str()).ok().as_ref(), Some(&container));
        assert!(container.covers(&container) && Container::root().covers(&container));
    }
    if let Ok(origin) = WebOrigin::parse(text) {
        assert_eq!(WebOrigin::parse(origin.as_str()).ok().as_ref(), Some(&origin));
    }
    if let Some(id) = TokenId::parse(text) {
        assert_eq!(id.to_string(), text);
    }
    if let Some(bytes) = hex::decode_all(text) {
        assert_eq!(hex::encode(&bytes), text.to_ascii_lowercase());
    }
    if let Some(length) = duration::parse(text, Duration::from_secs(u64::MAX)) {
        let written = format!("{}ms", length.as_millis());
        assert_eq!(duration::parse(&written, length), Some(length));
        duration::render(length);
    }
    if let Some(bytes) = size::parse(text) {
        assert_eq!(size::parse(&format!("{}KiB", bytes >> 10)), Some(bytes));
        size::render(bytes);
    }
    if let Some(at) = expires_at::parse_time(text)
        && at.datetime().is_some_and(|at| (0..=9_999).contains(&at.year()))
    {
        assert_eq!(expires_at::parse_time(&at.to_wire()), Some(at));
    }
    expires_at::parse_expiry(text, Timestamp::from_seconds(1_700_000_000)).ok();
    Timestamp::parse_rfc3339(text);
    KeyText::parse(text);
    KeyText::import(text);
    if let Ok(name) = TokenName::choose(text) {
        assert_eq!(name.as_str(), text);
    }
    if let Ok(limit) = RateLimit::parse(text) {
        assert_eq!(RateLimit::parse(&limit.to_text()).ok(), Some(limit));
    }
    search_query::parse(text).ok();
    search_query::parse_legacy(text).ok();
    Scheme::parse(text);
    AgeRecipients::parse([text]).ok();
    DatabaseUrl::parse(text).ok();
}

/// The text of a share or of a master key.
pub fn shares(data: &[u8]) {
    MasterKey::parse(&Secret::new(data.to_vec())).ok();
    let Ok(text) = std::str::from_utf8(data) else { return };
    let shares: Vec<Share> = text.lines().filter_map(|line| Share::parse(line).ok()).collect();
    for share in &shares {
        let written = share.text();
        let again = written.as_ref().and_then(|written| Share::parse(written.expose()).ok());
        assert!(again.is_some_and(|again| again.hash() == share.hash()), "a share changed");
    }
    if let Ok(key) = MasterKey::combine(&shares) {
        let key = Secret::new(key.expose().clone().into_bytes());
        assert!(MasterKey::parse(&key).is_ok(), "a combined key is no key");
    }
}

/// A settings file. A mistake is a sentence with the name of the setting.
pub fn settings(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mistakes = match Config::parse_all(text) {
        Ok((_, mistakes)) => {
            assert_eq!(Config::parse(text).is_ok(), mistakes.is_empty());
            mistakes
        }
        Err(invalid) => {
            assert!(!invalid.0.is_empty());
            invalid.0
        }
    };
    // A mistake names its setting, and at most quotes the line.
    let longest = text.len().saturating_mul(4).saturating_add(1_000);
    assert!(mistakes.iter().all(|it| !it.is_empty() && it.len() <= longest));
    Config::parse_threeds(text).ok();
}

/// A BIN file, and after its last line a number to look up.
pub fn bins(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let number = text.lines().last().unwrap_or_default();
    match BinTable::parse(text) {
        Ok(table) => {
            assert!(table.ranges() <= text.len());
            let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
            assert!(is_number || table.find(number).is_none(), "a text that is no number is found");
            for first in ["4242424242424242", "5555555555554444", "42424242", ""] {
                table.find(first);
            }
        }
        Err(mistakes) => {
            assert!(!mistakes.is_empty());
            for mistake in mistakes {
                check_sentence(&mistake.to_string());
            }
        }
    }
}

/// A line with the trusted networks, then the lines of `X-Forwarded-For`.
pub fn forwarded_for(data: &[u8]) {
    let mut lines = data.split(|byte| *byte == b'\n');
    let first = String::from_utf8_lossy(lines.next().unwrap_or_default()).into_owned();
    let values: Vec<&[u8]> = lines.collect();
    let networks: Vec<Network> =
        first.split(' ').filter_map(|text| text.parse().ok()).take(16).collect();
    for network in &networks {
        assert_eq!(network.to_string().parse().ok(), Some(*network), "a network has one spelling");
    }
    let is_trusted = |address: IpAddr| networks.iter().any(|network| network.contains(address));
    for peer in [IpAddr::from([192, 0, 2, 1]), IpAddr::from([10, 0, 0, 1])] {
        let found = client_address(peer, values.iter(), &networks);
        assert_eq!(found, found.to_canonical());
        if !is_trusted(peer) {
            assert_eq!(found, peer, "an untrusted peer chose its address");
        }
        assert_eq!(client_address(peer, values.iter(), &[]), peer);
        // Entries that a stranger prepends change nothing once a hop is not trusted.
        if !is_trusted(found) {
            let mut more = vec![b"203.0.113.9, 203.0.113.10".as_slice()];
            more.extend(&values);
            assert_eq!(client_address(peer, more.iter(), &networks), found);
        }
    }
}

/// Three parts, separated by line feeds: a pattern, a text, and transforms of a proxy in JSON.
pub fn patterns(data: &[u8]) {
    const STEPS: usize = 200_000;
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut parts = text.splitn(3, '\n');
    let (pattern, text) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    if let Ok(pattern) = Pattern::parse(pattern) {
        let mut steps = Steps::new(STEPS);
        let mut at = 0;
        while let Ok(Some(found)) = pattern.find_at(text, at, &mut steps) {
            let (from, to) = found.whole;
            assert!(
                at <= from && from <= to && text.get(from..to).is_some(),
                "no part of the text"
            );
            assert!(found.groups.len() <= pattern.groups());
            for (start, end) in found.groups {
                assert!(from <= start && end <= to && text.get(start..end).is_some());
            }
            if to == from {
                break;
            }
            at = to;
        }
        check_mask(&Matcher::Pattern(pattern), text);
    }
    check_mask(&Matcher::ChaseStratusPan, text);
    let json = parts.next().unwrap_or_default();
    check_location(pattern, json);
    let Ok(Value::Object(members)) = serde_json::from_str(json) else { return };
    for side in [Side::Request, Side::Response] {
        let mut mistakes = Mistakes::new();
        let transforms = read_transforms(&members, side, &mut mistakes);
        for message in mistakes.by_path().values().flatten() {
            check_sentence(message);
        }
        for transform in transforms.list() {
            if let Transform::Mask { matcher, .. } = transform {
                assert!(side == Side::Response, "a mask of a request");
                check_mask(matcher, text);
            }
        }
    }
}

/// A mask keeps the number of characters.
fn check_mask(matcher: &Matcher, text: &str) {
    let Ok(masked) = mask(text, matcher, '*', &mut Steps::new(200_000)) else { return };
    let masked = masked.expose();
    assert_eq!(masked.chars().count(), text.chars().count(), "a mask changed the length");
    assert!(masked.chars().zip(text.chars()).all(|(shown, c)| shown == c || shown == '*'));
    let again = mask(masked, &Matcher::ChaseStratusPan, '*', &mut Steps::new(200_000));
    assert!(again.is_ok() || text.len() > 1_000);
}

/// A value that was set is found again, and a body without the place stays unchanged.
fn check_location(location: &str, json: &str) {
    let Some(location) = Location::parse(location) else { return };
    let Ok(body) = serde_json::from_str::<Value>(json) else { return };
    let mut changed = body.clone();
    match location.set(&mut changed, Value::from("set")) {
        Ok(()) => assert!(changed.to_string().contains("\"set\"")),
        Err(_) => assert_eq!(changed, body, "a body without the place was changed"),
    }
}

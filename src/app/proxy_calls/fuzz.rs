//! The fuzz targets of calls through proxies: bodies with expressions, and the joined URL.

use std::ops::Range;

use crate::app::proxy_calls::fill::{Expressions, Unfilled};
use crate::app::proxy_calls::slots::Slots;
use crate::app::proxy_calls::{form, json, target};
use crate::bounds;
use crate::domain::https_url::HttpsUrl;
use crate::expressions::Budget;
use crate::fuzz::check_sentence;

/// The first byte chooses the kind of body: a form, JSON or text.
pub(crate) fn bodies(data: &[u8]) {
    let Some((kind, body)) = data.split_first() else { return };
    let Ok(body) = std::str::from_utf8(body) else { return };
    let budget = Budget::of(bounds::EXPRESSION_WORK_WRITE_MAX);
    match kind % 3 {
        0 => check_slots(form::find(body, &budget), body, '='),
        1 => check_slots(json::find(body, &budget), body, '"'),
        _ => match Expressions::find(body, &budget) {
            Ok(expressions) => {
                assert_eq!(expressions.is_empty(), !body.contains("{{"));
                check_ranges(expressions.ranges(), body);
            }
            Err(unfilled) => check_unfilled(&unfilled),
        },
    }
}

/// Nothing is evaluated here, so nothing is guarded.
fn check_unfilled(unfilled: &Unfilled) {
    assert_ne!(unfilled, &Unfilled::Guarded);
    if let Unfilled::Invalid(sentence) = unfilled {
        check_sentence(sentence);
    }
}

/// The input has three lines: the base, the rest of the path, and the query.
pub(crate) fn urls(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut lines = text.split('\n');
    let (base, rest) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    let query = lines.next();
    check_url(base);
    // The path of a request has no question mark: the query begins there.
    if !rest.is_empty() && !rest.starts_with('/') || rest.contains('?') {
        return;
    }
    let Ok(joined) = target::join(base, rest, query) else { return };
    let Some(host) = HttpsUrl::parse_with_query(base) else {
        assert!(base.is_empty(), "a call to a base that is no URL");
        return;
    };
    assert_eq!((&joined.host, joined.port), (&host.host, host.port), "another host");
    let path = |url: &HttpsUrl| url.path.split('?').next().unwrap_or_default().to_owned();
    let inside = path(&host);
    let inside = inside.trim_end_matches('/');
    assert!(path(&joined).starts_with(inside), "the path left its base");
    let behind = path(&joined).strip_prefix(inside).unwrap_or_default().to_ascii_lowercase();
    assert!(!behind.replace("%2e", ".").contains("/../"), "a segment that leads upwards");
    assert!(joined.path.bytes().all(|byte| byte.is_ascii_graphic()));
    let query = joined.path.split_once('?').map_or("", |(_, query)| query);
    let goes_on = query.split('&').any(|pair| pair.starts_with("bt-proxy-key="));
    // The base belongs to the proxy, and keeps its own query.
    assert!(!goes_on || base.contains("bt-proxy-key="), "the key of the proxy went on");
}

fn check_url(text: &str) {
    let Some(url) = HttpsUrl::parse_with_query(text) else { return };
    let written = format!("https://{}{}", url.authority(), url.path);
    assert_eq!(HttpsUrl::parse_with_query(&written), Some(url), "a URL has one meaning");
    let authority = text.split(['/', '?']).nth(2).unwrap_or_default();
    let port = authority.rsplit(']').next().unwrap_or_default().rsplit_once(':');
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    assert!(port.is_none_or(|(_, port)| is_port(port)), "a port that is no number");
}

fn check_slots(found: Result<Slots<Range<usize>>, Unfilled>, body: &str, before: char) {
    match found {
        Ok(slots) => {
            let ranges = || slots.0.iter().map(|slot| slot.at.clone());
            check_ranges(ranges(), body);
            for range in ranges() {
                // A value of a form follows its name; a string of JSON includes its quotes.
                let from = if before == '=' { range.start.saturating_sub(1) } else { range.start };
                assert!(body.get(from..).is_some_and(|rest| rest.starts_with(before)));
            }
        }
        Err(unfilled) => check_unfilled(&unfilled),
    }
}

/// The ranges must be in order, disjoint, and on character boundaries.
fn check_ranges(ranges: impl Iterator<Item = Range<usize>>, body: &str) {
    let mut end = 0;
    for range in ranges {
        assert!(range.start >= end && range.start < range.end, "two places overlap");
        assert!(body.get(range.clone()).is_some(), "a place is not in the body");
        end = range.end;
    }
}

//! Filters the headers of a destination's answer that the caller may get. The transforms of the
//! proxy run afterwards: headers that they add are the tenant's.

use crate::app::proxy_calls::target;
use crate::domain::answer_headers::passes;
use crate::domain::connection_headers::listed;
use crate::secret::Secret;

type Headers = Vec<(String, Secret<Vec<u8>>)>;

/// `base` is the URL in the proxy or in the caller's request.
pub(super) fn passed(base: &str, headers: Headers) -> Headers {
    let connection = headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("connection"));
    let listed = listed(connection.map(|(_, value)| value.expose().as_slice()));
    let pass = |(name, value): (String, Secret<Vec<u8>>)| {
        let name = name.to_ascii_lowercase();
        if listed.contains(&name) {
            None
        } else if name == "location" {
            let text = std::str::from_utf8(value.expose()).ok()?;
            let location = target::location(base, text)?;
            Some((name, Secret::new(location.into_bytes())))
        } else {
            passes(&name).then_some((name, value))
        }
    };
    headers.into_iter().filter_map(pass).collect()
}

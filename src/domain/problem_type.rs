//! The content type of problems.
//!
//! Published clients send `Accept: application/json`, and two of them read no body whose type is
//! `application/problem+json`. So a problem has that type only if the request names it.

/// The type of every JSON answer, and of problems by default.
pub const JSON: &str = "application/json; charset=utf-8";
const PROBLEM: &str = "application/problem+json";

/// The content type of a problem, from the `Accept` headers of the request. A range such as `*/*`
/// does not name the type of problems, nor does the type with a weight of zero.
pub fn of_accept<'a>(accept: impl IntoIterator<Item = &'a str>) -> &'static str {
    let is_named = accept.into_iter().flat_map(|value| value.split(',')).any(names_problem);
    if is_named { PROBLEM } else { JSON }
}

fn names_problem(range: &str) -> bool {
    let mut parts = range.split(';').map(str::trim);
    let is_problem = parts.next().is_some_and(|name| name.eq_ignore_ascii_case(PROBLEM));
    is_problem && !parts.any(is_weight_of_zero)
}

fn is_weight_of_zero(parameter: &str) -> bool {
    let Some((name, value)) = parameter.split_once('=') else { return false };
    name.trim().eq_ignore_ascii_case("q")
        && value.trim().bytes().all(|byte| matches!(byte, b'0' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(accept: &[&str], expected: &str) {
        assert_eq!(of_accept(accept.iter().copied()), expected, "{accept:?}");
    }

    #[test]
    fn a_problem_is_plain_json_unless_its_own_type_is_named() {
        check(&[], JSON);
        check(&[""], JSON);
        check(&["*/*"], JSON);
        check(&["application/*"], JSON);
        check(&["application/json"], JSON);
        check(&["application/json, text/plain, */*"], JSON);
        check(&["application/problem+jsonx", "xapplication/problem+json"], JSON);
        check(&["application/problem+json"], PROBLEM);
        check(&["APPLICATION/Problem+JSON"], PROBLEM);
        check(&["application/json, application/problem+json"], PROBLEM);
        check(&["application/json", " application/problem+json ;q=0.1"], PROBLEM);
        check(&["application/problem+json;q=0"], JSON);
        check(&["application/problem+json; Q = 0.000"], JSON);
        check(&["application/problem+json;q=0, application/problem+json;q=1"], PROBLEM);
    }
}

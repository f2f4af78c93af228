//! `GET /console/data/limits`.

use crate::app::{KeyOverview, TenantCount};
use crate::domain::quota::Quotas;
use crate::http::wire::answer::answer;
use crate::limits::{Row, RowAction};

/// A row of the rate limits as it applies to the tenant.
pub(crate) struct RowView<'a> {
    pub(crate) row: &'static Row,
    /// Multiplied by the tenant's factor.
    pub(crate) requests: u64,
    /// Used by the caller's key from its address.
    pub(crate) used: Option<u64>,
    /// The tenant's key that has used the most.
    pub(crate) busiest: Option<(&'a KeyOverview, u64)>,
}

pub(crate) struct LimitsView<'a> {
    pub(crate) quotas: &'a Quotas,
    pub(crate) usage: &'a [TenantCount],
    pub(crate) is_on: bool,
    pub(crate) rows: &'a [RowView<'a>],
}

answer! {
    pub(crate) Limits<'a>(it: &'a LimitsView<'a>) {
        has quotas: list(Quota) = &it.quotas.texts();
        has usage: list(Usage) = it.usage;
        has rate_limit: text = &it.quotas.rate_limit.to_text(),
            "`default`, `unlimited`, or a factor as `10x`.";
        has limiter: word(["off", "on"]) = if it.is_on { "on" } else { "off" };
        has rate_limits: list(LimitedRow) = it.rows;
    }

    Quota<'a>(it: &'a (&'static str, String)) {
        has name: word(Quotas::NAMES) = it.0;
        has value: text = &it.1;
        has unit: word(["count", "rate", "seconds"]) = unit(it.0);
    }

    Usage<'a>(it: &'a TenantCount) {
        has name: text = it.name;
        has used: number = it.used;
        may_have limit: number = it.limit, "Absent without a limit.";
    }

    LimitedRow<'a>(it: &'a RowView<'a>) {
        has row: text = it.row.scope.name();
        has title: text = it.row.scope.requests(), "The requests that it counts, in words.";
        has counted_by: text = it.row.counted_by(),
            "The thing that has a counter of its own, in words.";
        has requests: number = it.requests;
        has seconds: number = it.row.period_s;
        has action: word(["block", "throttle"]) = action(it.row).0;
        may_have block_seconds: number = action(it.row).1;
        may_have used: number = it.used, "By this key, at this address.";
        may_have busiest: object(Busiest) = it.busiest, "The key that has used most.";
    }

    Busiest<'a>(it: (&'a KeyOverview, u64)) {
        has application_id: id = it.0.key.application;
        has key_id: id = it.0.key.id;
        has used: number = it.1;
    }
}

const fn action(row: &Row) -> (&'static str, Option<u32>) {
    match row.action {
        RowAction::Block { for_s } => ("block", Some(for_s)),
        RowAction::Throttle => ("throttle", None),
    }
}

fn unit(quota: &str) -> &'static str {
    if quota.ends_with("_retention") {
        "seconds"
    } else if quota == "rate_limit" {
        "rate"
    } else {
        "count"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_quota_has_a_unit() {
        let units = Quotas::NAMES.map(unit);
        let expected = ["count", "count", "seconds", "seconds", "seconds", "rate", "count"];
        assert_eq!(units, expected);
    }
}

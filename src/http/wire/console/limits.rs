//! `GET /console/data/limits`.

use crate::app::{KeyOverview, TenantCount};
use crate::domain::quota::Quotas;
use crate::http::wire::{Json, Object};
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

pub(crate) fn render(
    quotas: &Quotas,
    usage: &[TenantCount],
    is_on: bool,
    rows: &[RowView<'_>],
) -> Json {
    let mut object = Object::with_capacity(4 * 1024);
    object.objects("quotas", quotas.texts(), |object, (name, value)| {
        object.text("name", name);
        object.text("value", &value);
        object.text("unit", unit(name));
    });
    object.objects("usage", usage, |object, count| {
        object.text("name", count.name);
        object.number("used", count.used);
        object.optional_number("limit", count.limit);
    });
    object.text("rate_limit", &quotas.rate_limit.to_text());
    object.text("limiter", if is_on { "on" } else { "off" });
    object.objects("rate_limits", rows, render_row);
    object.close()
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

fn render_row(object: &mut Object, view: &RowView<'_>) {
    object.text("row", view.row.scope.name());
    object.text("title", view.row.scope.requests());
    object.text("counted_by", view.row.counted_by());
    object.number("requests", view.requests);
    object.number("seconds", view.row.period_s);
    match view.row.action {
        RowAction::Block { for_s } => {
            object.text("action", "block");
            object.number("block_seconds", for_s);
        }
        RowAction::Throttle => object.text("action", "throttle"),
    }
    object.optional_number("used", view.used);
    if let Some((busiest, used)) = view.busiest {
        object.object("busiest", |object| {
            object.display("application_id", busiest.key.application);
            object.display("key_id", busiest.key.id);
            object.number("used", used);
        });
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

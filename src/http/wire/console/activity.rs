//! `GET /console/data/activity`.

use crate::bounds::{ACTIVITY_HOURS, ACTIVITY_MINUTES, ACTIVITY_ROUTES_MAX};
use crate::domain::time::Timestamp;
use crate::http::activity::{ActivityView, AnswerCounts};
use crate::http::wire::answer::answer;

/// The facts about the server that every tenant may see.
pub(crate) struct ServerView {
    pub(crate) now: Timestamp,
    pub(crate) started_at: Timestamp,
    pub(crate) is_ready: bool,
}

answer! {
    pub(crate) Activity<'a>(it: (&'a ServerView, &'a ActivityView)) {
        has now: time = it.0.now;
        has server: object(Server) = it.0;
        has since: time = it.1.since, "Requests before this time are not counted.";
        has minutes: list(Span).at_least_items(ACTIVITY_MINUTES).up_to_items(ACTIVITY_MINUTES)
            = &it.1.minutes;
        has hours: list(Span).at_least_items(ACTIVITY_HOURS).up_to_items(ACTIVITY_HOURS)
            = &it.1.hours;
        has routes: list(CalledRoute).up_to_items(ACTIVITY_ROUTES_MAX) = &it.1.routes;
    }

    Server<'a>(it: &'a ServerView) {
        has version: text = env!("CARGO_PKG_VERSION");
        has started_at: time = it.started_at;
        has ready: flag = it.is_ready;
    }

    Span<'a>(it: &'a (Timestamp, AnswerCounts)) {
        has at: time = it.0;
        has ok: number = it.1.ok;
        has refused: number = it.1.refused, "4xx without 429.";
        has limited: number = it.1.limited, "429.";
        has failed: number = it.1.failed, "5xx.";
    }

    CalledRoute<'a>(it: &'a (&'static str, u64)) {
        has route: text = it.0;
        has requests: number = it.1;
    }
}

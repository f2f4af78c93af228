//! `GET /console/data/activity`.

use crate::domain::time::Timestamp;
use crate::http::activity::{ActivityView, AnswerCounts};
use crate::http::wire::{Json, Object};

/// The facts about the server that every tenant may see.
pub(crate) struct ServerView {
    pub(crate) now: Timestamp,
    pub(crate) started_at: Timestamp,
    pub(crate) is_ready: bool,
}

pub(crate) fn render(server: &ServerView, activity: &ActivityView) -> Json {
    let mut object = Object::with_capacity(16 * 1024);
    object.time("now", server.now);
    object.object("server", |object| {
        object.text("version", env!("CARGO_PKG_VERSION"));
        object.time("started_at", server.started_at);
        object.flag("ready", server.is_ready);
    });
    object.time("since", activity.since);
    object.objects("minutes", &activity.minutes, render_span);
    object.objects("hours", &activity.hours, render_span);
    object.objects("routes", &activity.routes, |object, (route, requests)| {
        object.text("route", route);
        object.number("requests", *requests);
    });
    object.close()
}

fn render_span(object: &mut Object, (at, answers): &(Timestamp, AnswerCounts)) {
    object.time("at", *at);
    object.number("ok", answers.ok);
    object.number("refused", answers.refused);
    object.number("limited", answers.limited);
    object.number("failed", answers.failed);
}

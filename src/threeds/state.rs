//! Where a session stands, and what may happen to it next.
//!
//! A session authenticates once: the protocol knows one request a transaction. Until then it can
//! expire; afterwards it only waits for a challenge, which has a deadline of its own.

use crate::domain::time::Timestamp;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Waits to be authenticated.
    Created { method: Method, expires_at: Timestamp },
    /// The request has gone out; the answer is not here.
    Requested,
    /// The cardholder is challenged; the result is awaited until then.
    Challenged { until: Timestamp },
    /// As [`State::Challenged`], by the issuer's own means and without us.
    Decoupled { until: Timestamp },
    /// There is a final outcome.
    Decided,
    /// The request failed at a server of others or ours; a new session is needed.
    Failed,
}

/// How far the ACS's fingerprinting of the browser has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// The card's issuer wants none, or there is no browser.
    Absent,
    Pending,
    Completed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The mobile SDK told what it runs on.
    DeviceDescribed,
    MethodCompleted,
    AuthenticationRequested,
    /// The answer says that all is decided.
    AnsweredFinally,
    AnsweredWithChallenge {
        until: Timestamp,
    },
    AnsweredDecoupled {
        until: Timestamp,
    },
    RequestFailed,
    /// The ACS told the outcome of the challenge.
    ResultReceived,
    /// The browser came back from the challenge; the result travels apart from it.
    ChallengeClosed,
    /// Nobody told the outcome in time.
    TimeRanOut,
}

/// Why an event is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    AlreadyDecided,
    AlreadyRequested,
    Expired,
    Failed,
    NoMethod,
    NotChallenged,
    NotRequested,
    TooEarly,
    TooLate,
}

/// The next state, or why there is none.
pub fn next(state: State, event: Event, now: Timestamp) -> Result<State, Refused> {
    match state {
        State::Created { method, expires_at } => created(method, expires_at, event, now),
        State::Requested => requested(event),
        State::Challenged { until } | State::Decoupled { until } => {
            challenged(state, until, event, now)
        }
        State::Decided => match event {
            // The browser may come back after the result, or twice.
            Event::ChallengeClosed => Ok(State::Decided),
            Event::DeviceDescribed
            | Event::MethodCompleted
            | Event::AuthenticationRequested
            | Event::AnsweredFinally
            | Event::AnsweredWithChallenge { .. }
            | Event::AnsweredDecoupled { .. }
            | Event::RequestFailed
            | Event::ResultReceived
            | Event::TimeRanOut => Err(Refused::AlreadyDecided),
        },
        State::Failed => Err(Refused::Failed),
    }
}

fn created(
    method: Method,
    expires_at: Timestamp,
    event: Event,
    now: Timestamp,
) -> Result<State, Refused> {
    if now >= expires_at {
        return Err(Refused::Expired);
    }
    match (event, method) {
        (Event::DeviceDescribed, _) => Ok(State::Created { method, expires_at }),
        (Event::MethodCompleted, Method::Pending | Method::Completed) => {
            Ok(State::Created { method: Method::Completed, expires_at })
        }
        (Event::MethodCompleted, Method::Absent) => Err(Refused::NoMethod),
        (Event::AuthenticationRequested, _) => Ok(State::Requested),
        (
            Event::AnsweredFinally
            | Event::AnsweredWithChallenge { .. }
            | Event::AnsweredDecoupled { .. }
            | Event::RequestFailed,
            _,
        ) => Err(Refused::NotRequested),
        (Event::ResultReceived | Event::ChallengeClosed | Event::TimeRanOut, _) => {
            Err(Refused::NotChallenged)
        }
    }
}

const fn requested(event: Event) -> Result<State, Refused> {
    match event {
        Event::AnsweredFinally => Ok(State::Decided),
        Event::AnsweredWithChallenge { until } => Ok(State::Challenged { until }),
        Event::AnsweredDecoupled { until } => Ok(State::Decoupled { until }),
        Event::RequestFailed => Ok(State::Failed),
        // What was not known when the request went out does not change what it said.
        Event::DeviceDescribed | Event::MethodCompleted | Event::AuthenticationRequested => {
            Err(Refused::AlreadyRequested)
        }
        Event::ResultReceived | Event::ChallengeClosed | Event::TimeRanOut => {
            Err(Refused::NotChallenged)
        }
    }
}

fn challenged(
    state: State,
    until: Timestamp,
    event: Event,
    now: Timestamp,
) -> Result<State, Refused> {
    match event {
        Event::ResultReceived if now < until => Ok(State::Decided),
        Event::ResultReceived => Err(Refused::TooLate),
        Event::TimeRanOut if now >= until => Ok(State::Decided),
        Event::TimeRanOut => Err(Refused::TooEarly),
        // The result decides, and it may still be on its way.
        Event::ChallengeClosed => Ok(state),
        Event::DeviceDescribed
        | Event::MethodCompleted
        | Event::AuthenticationRequested
        | Event::AnsweredFinally
        | Event::AnsweredWithChallenge { .. }
        | Event::AnsweredDecoupled { .. }
        | Event::RequestFailed => Err(Refused::AlreadyRequested),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_seconds(1_000);
    const BEFORE: Timestamp = Timestamp::from_seconds(999);
    const LATER: Timestamp = Timestamp::from_seconds(2_000);

    const EVENTS: [Event; 10] = [
        Event::DeviceDescribed,
        Event::MethodCompleted,
        Event::AuthenticationRequested,
        Event::AnsweredFinally,
        Event::AnsweredWithChallenge { until: LATER },
        Event::AnsweredDecoupled { until: LATER },
        Event::RequestFailed,
        Event::ResultReceived,
        Event::ChallengeClosed,
        Event::TimeRanOut,
    ];

    const fn created(method: Method, expires_at: Timestamp) -> State {
        State::Created { method, expires_at }
    }

    /// One row: what each of [`EVENTS`] makes of the state at [`NOW`].
    #[track_caller]
    fn check(state: State, expected: [Result<State, Refused>; 10]) {
        for (event, expected) in EVENTS.into_iter().zip(expected) {
            assert_eq!(next(state, event, NOW), expected, "{state:?} x {event:?}");
        }
    }

    #[test]
    fn every_state_answers_every_event_as_the_table_says() {
        use Refused::{
            AlreadyDecided, AlreadyRequested, Expired, Failed, NoMethod, NotChallenged,
            NotRequested, TooEarly, TooLate,
        };
        let waits = |method, after_method| {
            let same = created(method, LATER);
            [
                Ok(same),
                after_method,
                Ok(State::Requested),
                Err(NotRequested),
                Err(NotRequested),
                Err(NotRequested),
                Err(NotRequested),
                Err(NotChallenged),
                Err(NotChallenged),
                Err(NotChallenged),
            ]
        };
        let completed = Ok(created(Method::Completed, LATER));
        check(created(Method::Absent, LATER), waits(Method::Absent, Err(NoMethod)));
        check(created(Method::Pending, LATER), waits(Method::Pending, completed));
        check(created(Method::Completed, LATER), waits(Method::Completed, completed));
        // The moment of expiry is too late already.
        for method in [Method::Absent, Method::Pending, Method::Completed] {
            check(created(method, NOW), [Err(Expired); 10]);
            check(created(method, BEFORE), [Err(Expired); 10]);
        }
        check(
            State::Requested,
            [
                Err(AlreadyRequested),
                Err(AlreadyRequested),
                Err(AlreadyRequested),
                Ok(State::Decided),
                Ok(State::Challenged { until: LATER }),
                Ok(State::Decoupled { until: LATER }),
                Ok(State::Failed),
                Err(NotChallenged),
                Err(NotChallenged),
                Err(NotChallenged),
            ],
        );
        let awaits = |state, result, timeout| {
            [
                Err(AlreadyRequested),
                Err(AlreadyRequested),
                Err(AlreadyRequested),
                Err(AlreadyRequested),
                Err(AlreadyRequested),
                Err(AlreadyRequested),
                Err(AlreadyRequested),
                result,
                Ok(state),
                timeout,
            ]
        };
        let both: [fn(Timestamp) -> State; 2] =
            [|until| State::Challenged { until }, |until| State::Decoupled { until }];
        for make in both {
            check(make(LATER), awaits(make(LATER), Ok(State::Decided), Err(TooEarly)));
            check(make(NOW), awaits(make(NOW), Err(TooLate), Ok(State::Decided)));
            check(make(BEFORE), awaits(make(BEFORE), Err(TooLate), Ok(State::Decided)));
        }
        let mut decided = [Err(AlreadyDecided); 10];
        decided[8] = Ok(State::Decided);
        check(State::Decided, decided);
        check(State::Failed, [Err(Failed); 10]);
    }

    #[test]
    fn no_path_leads_to_a_second_request() {
        proptest::proptest!(|(path: Vec<(u8, i64)>)| {
            let mut state = created(Method::Pending, LATER);
            let mut requests = 0;
            for (choice, second) in path {
                let event = EVENTS[usize::from(choice) % EVENTS.len()];
                if let Ok(after) = next(state, event, Timestamp::from_seconds(second)) {
                    requests += u32::from(event == Event::AuthenticationRequested);
                    state = after;
                }
            }
            proptest::prop_assert!(requests <= 1);
        });
    }
}

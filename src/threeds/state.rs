//! The state machine of a session.
//!
//! A session authenticates once, because the protocol has one request for each transaction. Before
//! the request it can expire. After the request it only waits for a challenge, which has its own
//! deadline.

use crate::domain::time::Timestamp;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionState {
    /// The session waits for its authenticate call.
    Created { method: MethodState, expires_at: Timestamp },
    /// The request was sent; the answer has not arrived.
    Requested,
    /// The cardholder is being challenged; the result must arrive before `until`.
    Challenged { until: Timestamp },
    /// As [`SessionState::Challenged`], but the issuer reaches the cardholder by its own means.
    Decoupled { until: Timestamp },
    /// The outcome is final.
    Decided,
    /// The request failed, here or at another server; the client needs a new session.
    Failed,
}

/// Progress of the ACS's browser fingerprinting (the "3DS Method").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MethodState {
    /// The issuer does not use it, or there is no browser.
    Absent,
    Pending,
    Completed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionEvent {
    /// The mobile SDK sent its device data.
    DeviceDescribed,
    MethodCompleted,
    AuthenticationRequested,
    AnsweredFinally,
    AnsweredWithChallenge {
        until: Timestamp,
    },
    AnsweredDecoupled {
        until: Timestamp,
    },
    RequestFailed,
    /// The ACS sent the result of the challenge.
    ResultReceived,
    /// No result arrived before the deadline.
    TimeRanOut,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransitionError {
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

pub fn next(
    state: SessionState,
    event: SessionEvent,
    now: Timestamp,
) -> Result<SessionState, TransitionError> {
    match state {
        SessionState::Created { method, expires_at } => created(method, expires_at, event, now),
        SessionState::Requested => requested(event),
        SessionState::Challenged { until } | SessionState::Decoupled { until } => {
            challenged(until, event, now)
        }
        SessionState::Decided => Err(TransitionError::AlreadyDecided),
        SessionState::Failed => Err(TransitionError::Failed),
    }
}

fn created(
    method: MethodState,
    expires_at: Timestamp,
    event: SessionEvent,
    now: Timestamp,
) -> Result<SessionState, TransitionError> {
    if now >= expires_at {
        return Err(TransitionError::Expired);
    }
    match (event, method) {
        (SessionEvent::DeviceDescribed, _) => Ok(SessionState::Created { method, expires_at }),
        (SessionEvent::MethodCompleted, MethodState::Pending | MethodState::Completed) => {
            Ok(SessionState::Created { method: MethodState::Completed, expires_at })
        }
        (SessionEvent::MethodCompleted, MethodState::Absent) => Err(TransitionError::NoMethod),
        (SessionEvent::AuthenticationRequested, _) => Ok(SessionState::Requested),
        (
            SessionEvent::AnsweredFinally
            | SessionEvent::AnsweredWithChallenge { .. }
            | SessionEvent::AnsweredDecoupled { .. }
            | SessionEvent::RequestFailed,
            _,
        ) => Err(TransitionError::NotRequested),
        (SessionEvent::ResultReceived | SessionEvent::TimeRanOut, _) => {
            Err(TransitionError::NotChallenged)
        }
    }
}

const fn requested(event: SessionEvent) -> Result<SessionState, TransitionError> {
    match event {
        SessionEvent::AnsweredFinally => Ok(SessionState::Decided),
        SessionEvent::AnsweredWithChallenge { until } => Ok(SessionState::Challenged { until }),
        SessionEvent::AnsweredDecoupled { until } => Ok(SessionState::Decoupled { until }),
        SessionEvent::RequestFailed => Ok(SessionState::Failed),
        // The request was already sent without this information.
        SessionEvent::DeviceDescribed
        | SessionEvent::MethodCompleted
        | SessionEvent::AuthenticationRequested => Err(TransitionError::AlreadyRequested),
        SessionEvent::ResultReceived | SessionEvent::TimeRanOut => {
            Err(TransitionError::NotChallenged)
        }
    }
}

fn challenged(
    until: Timestamp,
    event: SessionEvent,
    now: Timestamp,
) -> Result<SessionState, TransitionError> {
    match event {
        SessionEvent::ResultReceived if now < until => Ok(SessionState::Decided),
        SessionEvent::ResultReceived => Err(TransitionError::TooLate),
        SessionEvent::TimeRanOut if now >= until => Ok(SessionState::Decided),
        SessionEvent::TimeRanOut => Err(TransitionError::TooEarly),
        SessionEvent::DeviceDescribed
        | SessionEvent::MethodCompleted
        | SessionEvent::AuthenticationRequested
        | SessionEvent::AnsweredFinally
        | SessionEvent::AnsweredWithChallenge { .. }
        | SessionEvent::AnsweredDecoupled { .. }
        | SessionEvent::RequestFailed => Err(TransitionError::AlreadyRequested),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_seconds(1_000);
    const BEFORE: Timestamp = Timestamp::from_seconds(999);
    const LATER: Timestamp = Timestamp::from_seconds(2_000);

    const EVENTS: [SessionEvent; 9] = [
        SessionEvent::DeviceDescribed,
        SessionEvent::MethodCompleted,
        SessionEvent::AuthenticationRequested,
        SessionEvent::AnsweredFinally,
        SessionEvent::AnsweredWithChallenge { until: LATER },
        SessionEvent::AnsweredDecoupled { until: LATER },
        SessionEvent::RequestFailed,
        SessionEvent::ResultReceived,
        SessionEvent::TimeRanOut,
    ];

    const fn created(method: MethodState, expires_at: Timestamp) -> SessionState {
        SessionState::Created { method, expires_at }
    }

    /// Checks one row of the table: the effect of each of [`EVENTS`] on the state at [`NOW`].
    #[track_caller]
    fn check(state: SessionState, expected: [Result<SessionState, TransitionError>; 9]) {
        for (event, expected) in EVENTS.into_iter().zip(expected) {
            assert_eq!(next(state, event, NOW), expected, "{state:?} x {event:?}");
        }
    }

    #[test]
    fn every_state_answers_every_event_as_the_table_says() {
        use TransitionError::{
            AlreadyDecided, AlreadyRequested, Expired, Failed, NoMethod, NotChallenged,
            NotRequested, TooEarly, TooLate,
        };
        let waits = |method, after_method| {
            let same = created(method, LATER);
            [
                Ok(same),
                after_method,
                Ok(SessionState::Requested),
                Err(NotRequested),
                Err(NotRequested),
                Err(NotRequested),
                Err(NotRequested),
                Err(NotChallenged),
                Err(NotChallenged),
            ]
        };
        let completed = Ok(created(MethodState::Completed, LATER));
        check(created(MethodState::Absent, LATER), waits(MethodState::Absent, Err(NoMethod)));
        check(created(MethodState::Pending, LATER), waits(MethodState::Pending, completed));
        check(created(MethodState::Completed, LATER), waits(MethodState::Completed, completed));
        // At the moment of expiry the session has already expired.
        for method in [MethodState::Absent, MethodState::Pending, MethodState::Completed] {
            check(created(method, NOW), [Err(Expired); 9]);
            check(created(method, BEFORE), [Err(Expired); 9]);
        }
        check(
            SessionState::Requested,
            [
                Err(AlreadyRequested),
                Err(AlreadyRequested),
                Err(AlreadyRequested),
                Ok(SessionState::Decided),
                Ok(SessionState::Challenged { until: LATER }),
                Ok(SessionState::Decoupled { until: LATER }),
                Ok(SessionState::Failed),
                Err(NotChallenged),
                Err(NotChallenged),
            ],
        );
        let awaits = |result, timeout| {
            let mut answers = [Err(AlreadyRequested); 9];
            answers[7..].copy_from_slice(&[result, timeout]);
            answers
        };
        let both: [fn(Timestamp) -> SessionState; 2] =
            [|until| SessionState::Challenged { until }, |until| SessionState::Decoupled { until }];
        for make in both {
            check(make(LATER), awaits(Ok(SessionState::Decided), Err(TooEarly)));
            check(make(NOW), awaits(Err(TooLate), Ok(SessionState::Decided)));
            check(make(BEFORE), awaits(Err(TooLate), Ok(SessionState::Decided)));
        }
        check(SessionState::Decided, [Err(AlreadyDecided); 9]);
        check(SessionState::Failed, [Err(Failed); 9]);
    }

    #[test]
    fn no_path_leads_to_a_second_request() {
        proptest::proptest!(|(path: Vec<(u8, i64)>)| {
            let mut state = created(MethodState::Pending, LATER);
            let mut requests = 0;
            for (choice, second) in path {
                let event = EVENTS[usize::from(choice) % EVENTS.len()];
                if let Ok(after) = next(state, event, Timestamp::from_seconds(second)) {
                    requests += u32::from(event == SessionEvent::AuthenticationRequested);
                    state = after;
                }
            }
            proptest::prop_assert!(requests <= 1);
        });
    }
}

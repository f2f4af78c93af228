use std::collections::BTreeSet;

use super::*;
use crate::domain::card::iin::{TestCard, TestUse};
use crate::threeds::codes::CancelReason;
use crate::threeds::message::{CardNumber, Numeric};
use crate::threeds::receive::{check_ares, check_rreq};
use crate::threeds::session::{AreqSummary, Authentication};
use crate::threeds::simulator::acs::{CardholderInput, ChallengeResult, ChallengeStep, cres};
use crate::threeds::simulator::cards::CARDS;

const PLACES: SimulatorUrls<'_> = SimulatorUrls { base: "https://vault.example" };

const fn drawn() -> TransactionSeed {
    TransactionSeed {
        acs_transaction: Uuid::from_bytes([1; 16]),
        ds_transaction: Uuid::from_bytes([2; 16]),
        proof: [7; 21],
    }
}

fn request(number: &str, change: impl FnOnce(&mut Areq)) -> (Areq, AreqSummary) {
    let number = CardNumber::parse(number).unwrap();
    let (channel, category) = (Channel::Browser, Category::Payment);
    let mut areq =
        Areq::sample(ProtocolVersion::V220, channel, category, Uuid::from_bytes([3; 16]), number);
    areq.options.decoupled = Some(YesNo::No);
    areq.options.authentication = Numeric::parse("01");
    change(&mut areq);
    let sent = AreqSummary {
        version: areq.version,
        channel: areq.channel,
        category: areq.category,
        preference: areq.options.preference,
        decoupled: areq.options.decoupled.unwrap_or(YesNo::No),
        sdk_transaction: areq.options.sdk_transaction,
    };
    (areq, sent)
}

/// The answer of the simulator, after the checks of a real 3DS server.
#[track_caller]
fn answered(
    number: &str,
    change: impl FnOnce(&mut Areq),
) -> (Ares, TransactionStatus, Option<SimulatedChallenge>, AreqSummary) {
    let (areq, sent) = request(number, change);
    let (bytes, simulated) = answer(message::render(&areq).expose(), &drawn(), &PLACES);
    let ares: Ares = message::parse(bytes.expose()).unwrap();
    let status = check_ares(areq.server_transaction, &sent, &ares).unwrap();
    (ares, status, simulated, sent)
}

#[test]
fn every_listed_card_gives_its_documented_outcome() {
    for card in CARDS {
        let enrolled = enrol(card.number, &PLACES);
        match card.outcome {
            Scenario::NotEnrolled => assert_eq!(enrolled, Err(EnrolmentError::UnknownCard)),
            Scenario::ServerError => assert_eq!(enrolled, Err(EnrolmentError::ServerError)),
            Scenario::DirectoryServerError => {
                assert!(enrolled.is_ok());
                let (areq, _) = request(card.number, |_| ());
                let (bytes, simulated) = answer(message::render(&areq).expose(), &drawn(), &PLACES);
                let erro: Erro = message::parse(bytes.expose()).unwrap();
                assert_eq!(erro.component, Component::DirectoryServer);
                assert_eq!(simulated, None);
            }
            Scenario::Frictionless(verdict) => {
                let (scheme, enrolment) = enrolled.unwrap();
                assert_eq!(scheme, card.scheme);
                assert!(enrolment.method_url.is_some());
                let (ares, status, simulated, _) = answered(card.number, |_| ());
                assert_eq!((status, ares.reason), (verdict.status(), verdict.reason()));
                assert_eq!(simulated, None);
            }
            Scenario::Challenge(challenge) => {
                let (_, enrolment) = enrolled.unwrap();
                let has_method = challenge.method == cards::MethodSupport::Present;
                assert_eq!(enrolment.method_url.is_some(), has_method);
                check_challenge(card.number, challenge);
            }
        }
    }
}

#[track_caller]
fn check_challenge(number: &str, challenge: Challenge) {
    let (ares, status, simulated, sent) = answered(number, |_| ());
    assert_eq!(status, TransactionStatus::Challenge);
    assert_eq!(ares.challenge_mandated, Some(challenge.mandated));
    assert_eq!(ares.acs_url.as_ref().unwrap().as_str(), PLACES.challenge_url());
    let simulated = simulated.unwrap();
    let right = match challenge.means {
        ChallengeKind::Code => CardholderInput::Code("1234"),
        ChallengeKind::OutOfBand => CardholderInput::Approved,
    };
    let ChallengeStep::Ended(ending) = simulated.take(right) else { panic!() };
    let transaction = ares.server_transaction;
    let authentication = Authentication::from_ares(ares, status, &sent);
    let rreq = simulated.rreq(transaction, &sent, &authentication, ending, [9; 21]);
    let result = check_rreq(&sent, &authentication, &rreq).unwrap();
    assert_eq!((result, rreq.reason), (challenge.verdict.status(), challenge.verdict.reason()));
    assert_eq!(rreq.interactions.as_ref().unwrap().as_str(), "01");
    let went_well = matches!(result, TransactionStatus::Successful | TransactionStatus::Attempted);
    assert_eq!(cres(&rreq).status == TransactionStatus::Successful, went_well);
}

#[test]
fn a_card_that_is_not_listed_succeeds_for_everyone() {
    for number in ["4242424242424242", "5105105105105100", "378282246310005", "6200000000000005"] {
        assert!(enrol(number, &PLACES).is_ok(), "{number}");
        for channel in Channel::ALL {
            for category in Category::ALL {
                for preference in ChallengePreference::ALL {
                    let (_, status, simulated, _) = answered(number, |areq| {
                        areq.channel = *channel;
                        areq.category = *category;
                        areq.options.preference = Some(*preference);
                        areq.options.decoupled = Some(YesNo::Yes);
                    });
                    assert_eq!((status, simulated), (TransactionStatus::Successful, None));
                }
            }
        }
    }
    assert_eq!(enrol("9999999999999995", &PLACES), Err(EnrolmentError::UnknownCard));
}

#[test]
fn preferences_that_share_data_are_answered_with_information() {
    for preference in ChallengePreference::ALL {
        let ask = |areq: &mut Areq| areq.options.preference = Some(*preference);
        let (_, status, ..) = answered("4200000000000002", ask);
        let shares = ["05", "06", "07"].contains(&preference.code());
        let expected =
            if shares { TransactionStatus::Informational } else { TransactionStatus::Successful };
        assert_eq!(status, expected, "{preference:?}");
        let (_, status, ..) = answered("4200000000000004", ask);
        let only = *preference == ChallengePreference::NoChallengeDataSharingOnly;
        assert_eq!(
            status,
            if only { TransactionStatus::Informational } else { TransactionStatus::Challenge }
        );
    }
}

#[test]
fn a_merchant_alone_gets_a_decoupled_challenge_or_none() {
    let alone = |decoupled| {
        answered("4200000000000004", |areq| {
            areq.channel = Channel::Merchant;
            areq.options.decoupled = Some(decoupled);
        })
    };
    let (ares, status, simulated, sent) = alone(YesNo::Yes);
    assert_eq!(status, TransactionStatus::DecoupledChallenge);
    let transaction = ares.server_transaction;
    let authentication = Authentication::from_ares(ares, status, &sent);
    let rreq = simulated.unwrap().rreq(
        transaction,
        &sent,
        &authentication,
        ChallengeResult::Answered,
        [1; 21],
    );
    assert_eq!(check_rreq(&sent, &authentication, &rreq).unwrap(), TransactionStatus::Successful);
    assert_eq!(rreq.interactions, None);
    let (ares, status, simulated, _) = alone(YesNo::No);
    assert_eq!((status, simulated), (TransactionStatus::Failed, None));
    assert_eq!(ares.reason, Some(Reason::DECOUPLED_REQUIRED));
}

#[test]
fn wrong_codes_are_counted_and_the_third_ends_it() {
    let (ares, status, simulated, sent) = answered("4200000000000004", |_| ());
    let transaction = ares.server_transaction;
    let authentication = Authentication::from_ares(ares, status, &sent);
    let simulated = simulated.unwrap();
    let ChallengeStep::Again(once) = simulated.take(CardholderInput::Code("0000")) else {
        panic!()
    };
    let ChallengeStep::Again(twice) = once.take(CardholderInput::Code("")) else { panic!() };
    assert_eq!(
        twice.take(CardholderInput::Code(" 1234 ")),
        ChallengeStep::Ended(ChallengeResult::Answered)
    );
    let ChallengeStep::Ended(ending) = twice.take(CardholderInput::Approved) else { panic!() };
    let rreq = twice.rreq(transaction, &sent, &authentication, ending, [1; 21]);
    assert_eq!(rreq.reason, Some(Reason::MAX_CHALLENGES_EXCEEDED));
    assert_eq!(rreq.interactions.as_ref().unwrap().as_str(), "03");
    assert_eq!(check_rreq(&sent, &authentication, &rreq).unwrap(), TransactionStatus::Failed);
    let ChallengeStep::Ended(ending) = simulated.take(CardholderInput::Canceled) else { panic!() };
    let rreq = simulated.rreq(transaction, &sent, &authentication, ending, [1; 21]);
    assert_eq!(rreq.cancel.map(CancelReason::code), Some("01"));
    assert_eq!(rreq.interactions.as_ref().unwrap().as_str(), "00");
    assert_eq!(check_rreq(&sent, &authentication, &rreq).unwrap(), TransactionStatus::Failed);
}

#[test]
fn proofs_have_the_schemes_own_form() {
    let (visa, ..) = answered("4200000000000002", |_| ());
    let value = visa.authentication_value.unwrap();
    assert!(value.as_str().ends_with('='));
    let (mastercard, ..) = answered("5204247750001471", |_| ());
    let value = mastercard.authentication_value.unwrap();
    assert!(value.as_str().starts_with('k') && !value.as_str().ends_with('='));
    assert_eq!(mastercard.eci.unwrap().as_str(), "02");
    let (failed, ..) = answered("4200000000000005", |_| ());
    assert_eq!(failed.authentication_value, None);
}

#[test]
fn the_older_version_gets_nothing_of_the_newer() {
    for card in CARDS {
        if matches!(card.outcome, Scenario::Challenge(_) | Scenario::Frictionless(_)) {
            for channel in [Channel::Browser, Channel::App] {
                answered(card.number, |areq| {
                    areq.version = ProtocolVersion::V210;
                    areq.channel = channel;
                    areq.options.decoupled = None;
                });
            }
            answered(card.number, |areq| {
                areq.version = ProtocolVersion::V210;
                areq.channel = Channel::Merchant;
                areq.category = Category::NonPayment;
                areq.options.decoupled = None;
            });
        }
    }
}

#[test]
fn no_card_is_listed_twice_and_every_documented_one_is() {
    let numbers: BTreeSet<_> = CARDS.iter().map(|card| card.number).collect();
    assert_eq!(numbers.len(), CARDS.len());
    for number in 4_200_000_000_000_002_u64..=4_200_000_000_000_017 {
        let number = number.to_string();
        assert!(numbers.contains(number.as_str()), "{number}");
        assert!(TestCard::of(&number).is_some_and(|it| it.used_for == TestUse::ThreeDs));
    }
}

#[test]
fn a_card_of_no_scheme_is_answered_with_an_error() {
    let (areq, _) = request("9999999999999995", |_| ());
    let (bytes, simulated) = answer(message::render(&areq).expose(), &drawn(), &PLACES);
    let erro: Erro = message::parse(bytes.expose()).unwrap();
    assert_eq!(erro.code, ErrorCode::TransactionDataInvalid);
    assert_eq!(simulated, None);
}

#[test]
fn bytes_that_are_no_request_are_answered_with_an_error() {
    for bytes in [&b"{"[..], b"[]", br#"{"messageType":"RReq","messageVersion":"2.2.0"}"#] {
        let (bytes, _) = answer(bytes, &drawn(), &PLACES);
        let erro: Erro = message::parse(bytes.expose()).unwrap();
        assert_eq!(erro.code, ErrorCode::MessageInvalid);
    }
    proptest::proptest!(|(bytes: Vec<u8>)| { drop(answer(&bytes, &drawn(), &PLACES)); });
}

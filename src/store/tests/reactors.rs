//! The encoding of reactors and of their results: vectors.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::domain::hex;
use crate::domain::id::{ReactorId, ReactorRequestId, TenantId};
use crate::domain::reactor::{Reactor, ReactorResult};
use crate::domain::time::Timestamp;
use crate::secret::Secret;
use crate::store::record::{
    decode_reactor, decode_reactor_result, encode_reactor, encode_reactor_result,
};

const ID: Uuid = Uuid::from_u128(0x018b_cfe5_6800_4fff_bfff_ffff_ffff_ffff);
const TENANT: Uuid = Uuid::from_u128(0x018b_cfe5_6800_4000_8000_0000_0000_0001);

fn pair((name, value): &(String, Secret<String>)) -> Value {
    json!([name, value.expose()])
}

fn tell(reactor: &Reactor) -> Value {
    let settings = &reactor.settings;
    json!({
        "id": reactor.id.to_string(),
        "tenant": reactor.tenant.to_string(),
        "name": settings.name,
        "code": settings.code.expose(),
        "application": settings.application.map(|id| id.to_string()),
        "configuration": settings.configuration.0.iter().map(pair).collect::<Vec<_>>(),
        "image": settings.runtime.as_ref().map(|it| it.image.as_str()),
        "runtime": settings.runtime.as_ref().map(|it| it.given().expose().clone()),
        "created_by": reactor.created_by.to_string(),
        "created_at": reactor.created_at.micros(),
        "modified_by": reactor.modified_by.map(|id| id.to_string()),
        "modified_at": reactor.modified_at.map(Timestamp::micros),
        "answer_seed": hex::encode(reactor.answer_seed.expose()),
    })
}

fn tell_result(result: &ReactorResult) -> Value {
    let times = [result.requested_at, result.ends_at, result.expires_at].map(Timestamp::micros);
    json!({
        "id": result.id.to_string(),
        "tenant": result.tenant.to_string(),
        "reactor": result.reactor.to_string(),
        "requested_by": result.requested_by.to_string(),
        "session": result.session.map(|id| id.to_string()),
        "is_public": result.is_public,
        "times": times,
    })
}

#[track_caller]
fn check<T>(
    file: &str,
    decode: impl Fn(&[u8]) -> Option<T>,
    encode: impl Fn(&T) -> Secret<Vec<u8>>,
    tell: impl Fn(&T) -> Value,
) {
    let vectors: Vec<Value> = serde_json::from_str(file).unwrap();
    assert_eq!(vectors.len(), 2);
    for vector in vectors {
        let encoded = vector["encoded"].as_str().unwrap();
        let found = decode(encoded.as_bytes()).unwrap();
        assert_eq!(tell(&found), vector["decoded"]);
        assert_eq!(str::from_utf8(encode(&found).expose()).unwrap(), encoded);
        assert!(decode(&[&[2], &encoded.as_bytes()[1..]].concat()).is_none());
        assert!(decode(&encoded.as_bytes()[..encoded.len() - 1]).is_none());
    }
}

#[test]
fn reactors_of_version_1_are_read_and_written_as_ever() {
    check(
        include_str!("../../../tests/vectors/reactor-v1.json"),
        |bytes| decode_reactor(TenantId::new(TENANT), ReactorId::new(ID), bytes).ok(),
        |it| encode_reactor(it).unwrap(),
        tell,
    );
}

#[test]
fn results_of_version_1_are_read_and_written_as_ever() {
    check(
        include_str!("../../../tests/vectors/reactor-result-v1.json"),
        |bytes| decode_reactor_result(TenantId::new(TENANT), ReactorRequestId::new(ID), bytes).ok(),
        |it| encode_reactor_result(it).unwrap(),
        tell_result,
    );
}

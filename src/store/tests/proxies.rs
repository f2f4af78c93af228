//! The encoding of proxies: vectors and round trips.

use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::domain::answer_seed::AnswerSeed;
use crate::domain::hex;
use crate::domain::id::{ApplicationId, ProxyId, TenantId};
use crate::domain::proxy::transform::{Given, Transforms};
use crate::domain::proxy::{Configuration, Destination, Proxy, ProxyKey, ProxySettings};
use crate::domain::time::Timestamp;
use crate::secret::Secret;
use crate::store::record::{decode_proxy, encode_proxy};

const ID: Uuid = Uuid::from_u128(0x018b_cfe5_6800_4fff_bfff_ffff_ffff_ffff);
const TENANT: Uuid = Uuid::from_u128(0x018b_cfe5_6800_4000_8000_0000_0000_0001);

fn tell_transforms(transforms: &Transforms) -> Value {
    let text = match transforms.given() {
        Given::Nothing => None,
        Given::One(text) => Some(format!("one {}", text.expose())),
        Given::List(text) => Some(format!("list {}", text.expose())),
    };
    json!([text, transforms.list().len()])
}

fn tell(proxy: &Proxy) -> Value {
    let settings = &proxy.settings;
    let entry = |(name, value): &(String, Secret<String>)| json!([name, value.expose()]);
    json!({
        "id": proxy.id.to_string(),
        "tenant": proxy.tenant.to_string(),
        "key": proxy.key.expose(),
        "name": settings.name,
        "destination_url": settings.destination.as_str(),
        "host": settings.destination.url().host,
        "require_auth": settings.require_auth,
        "application": settings.application.map(|id| id.to_string()),
        "configuration": settings.configuration.0.iter().map(entry).collect::<Vec<_>>(),
        "disable_detokenization": settings.disable_detokenization,
        "destroy_cvc_after_use": settings.destroy_cvc_after_use,
        "request": tell_transforms(&settings.request_transforms),
        "response": tell_transforms(&settings.response_transforms),
        "client_certificate":
            settings.client_certificate.as_ref().map(|it| it.pem().expose().clone()),
        "created_by": proxy.created_by.to_string(),
        "created_at": proxy.created_at.micros(),
        "modified_by": proxy.modified_by.map(|id| id.to_string()),
        "modified_at": proxy.modified_at.map(Timestamp::micros),
        "answer_seed": hex::encode(proxy.answer_seed.expose()),
    })
}

#[test]
fn proxies_of_version_1_are_read_and_written_as_ever() {
    let file = include_str!("../../../tests/vectors/proxy-v1.json");
    let vectors: Vec<Value> = serde_json::from_str(file).unwrap();
    assert_eq!(vectors.len(), 2);
    for vector in vectors {
        let encoded = vector["encoded"].as_str().unwrap();
        let decode = |bytes: &[u8]| decode_proxy(TenantId::new(TENANT), ProxyId::new(ID), bytes);
        let found = decode(encoded.as_bytes()).unwrap();
        assert_eq!(tell(&found), vector["decoded"]);
        let again = encode_proxy(&found).unwrap();
        assert_eq!(str::from_utf8(again.expose()).unwrap(), encoded);
        assert!(decode(&[&[2], &encoded.as_bytes()[1..]].concat()).is_err());
        assert!(decode(&encoded.as_bytes()[..encoded.len() - 1]).is_err());
        // Transforms that this program cannot run must not be skipped.
        let code = encoded.replace("append_header", "code");
        assert_eq!(decode(code.as_bytes()).is_err(), code != encoded);
    }
}

proptest! {
    #[test]
    fn every_proxy_comes_back_as_it_was_written(
        name in any::<String>(),
        key in any::<[u8; 16]>(),
        path in "[a-z/?&=]{0,30}",
        flags in any::<(bool, bool)>(),
        entries in vec((any::<String>(), any::<String>()), 0..5),
        times in (any::<i64>(), of((any::<u128>(), any::<i64>()))),
        seed in any::<[u8; 16]>(),
    ) {
        let destination = Destination::parse(&format!("https://psp.example/{path}")).unwrap();
        let entries = entries.into_iter().map(|(name, value)| (name, Secret::new(value)));
        let settings = ProxySettings {
            name,
            destination,
            require_auth: flags.0,
            application: Some(ApplicationId::new(ID)).filter(|_| flags.1),
            configuration: Configuration(entries.collect()),
            disable_detokenization: flags.1,
            destroy_cvc_after_use: flags.0,
            request_transforms: Transforms::default(),
            response_transforms: Transforms::default(),
            client_certificate: None,
        };
        let proxy = Proxy {
            id: ProxyId::new(ID),
            tenant: TenantId::new(TENANT),
            key: ProxyKey::new(&key),
            settings,
            created_by: ApplicationId::new(TENANT),
            created_at: Timestamp::from_micros(times.0),
            modified_by: times.1.map(|(by, _)| ApplicationId::new(Uuid::from_u128(by))),
            modified_at: times.1.map(|(_, at)| Timestamp::from_micros(at)),
            answer_seed: AnswerSeed::new(seed),
        };
        let bytes = encode_proxy(&proxy).unwrap();
        let again = decode_proxy(proxy.tenant, proxy.id, bytes.expose()).unwrap();
        prop_assert_eq!(tell(&again), tell(&proxy));
    }
}

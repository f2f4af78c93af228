//! Proxies, version 1.

use serde::ser::SerializeMap;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::domain::id::{ProxyId, TenantId};
use crate::domain::mistakes::Mistakes;
use crate::domain::proxy::certificate::ClientCertificate;
use crate::domain::proxy::read::read_transforms;
use crate::domain::proxy::transform::{Given, Side, Transforms};
use crate::domain::proxy::{Configuration, Destination, Proxy, ProxyKey, ProxySettings};
use crate::secret::Secret;
use crate::store::record::shape::{
    AsStored, Json, Members, Shape, Sparse, plain, put, put_sparse, record, stored_as, texts,
};

record! { encode_proxy, decode_proxy(tenant: TenantId, id: ProxyId): Proxy {
    key, ..settings, created_by, created_at, modified_by?, modified_at?, answer_seed,
} }

texts! { as_str: Destination; expose: ProxyKey; }

impl Shape for ProxySettings {
    type Key = ();

    /// Fails for transforms whose text is not JSON.
    fn write_members<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        put(map, "name", &self.name)?;
        put(map, "destination_url", &self.destination)?;
        put(map, "require_auth", &self.require_auth)?;
        put_sparse(map, "application", &self.application)?;
        put_sparse(map, "configuration", &self.configuration)?;
        put_sparse(map, "disable_detokenization", &self.disable_detokenization)?;
        put_sparse(map, "destroy_cvc_after_use", &self.destroy_cvc_after_use)?;
        write_transforms(map, Side::Request, &self.request_transforms)?;
        write_transforms(map, Side::Response, &self.response_transforms)?;
        put_sparse(map, "client_certificate", &self.client_certificate)
    }

    fn read_members(members: &Members<'_>, (): ()) -> Option<Self> {
        Some(Self {
            name: members.required("name")?,
            destination: members.required("destination_url")?,
            require_auth: members.required("require_auth")?,
            application: members.optional("application")?,
            configuration: members.optional("configuration")?,
            disable_detokenization: members.optional("disable_detokenization")?,
            destroy_cvc_after_use: members.optional("destroy_cvc_after_use")?,
            request_transforms: read_given(members, Side::Request)?,
            response_transforms: read_given(members, Side::Response)?,
            client_certificate: members.optional("client_certificate")?,
        })
    }
}

/// Keeps the transforms in the request's own text.
fn write_transforms<M: SerializeMap>(
    map: &mut M,
    side: Side,
    transforms: &Transforms,
) -> Result<(), M::Error> {
    let (name, text) = match transforms.given() {
        Given::Nothing => return Ok(()),
        Given::One(text) => (side.one(), text),
        Given::List(text) => (side.list(), text),
    };
    map.serialize_entry(name, &Json(text.expose()))
}

fn read_given(members: &Members<'_>, side: Side) -> Option<Transforms> {
    let (one, list) = (members.find(side.one()), members.find(side.list()));
    let mut members = Map::new();
    for (name, raw) in [(side.one(), one), (side.list(), list)] {
        if let Some(raw) = raw {
            members.insert(String::from(name), plain(raw)?);
        }
    }
    // The record keeps the request's text; the parsed form may order members differently.
    let text = |raw: &RawValue| Secret::new(String::from(raw.get()));
    let given = match (one, list) {
        (None, None) => Given::Nothing,
        (Some(one), None) => Given::One(text(one)),
        (None, Some(list)) => Given::List(text(list)),
        (Some(_), Some(_)) => return None,
    };
    let members = Secret::new(Value::Object(members));
    let mut mistakes = Mistakes::new();
    let members = members.expose().as_object()?;
    let read = read_transforms(members, side, &mut mistakes);
    mistakes.into_result().ok()?;
    Some(read.with_given(given))
}

stored_as! {
    // Keeps the order of the request.
    Configuration: |it| it.0.iter().map(AsStored).collect::<Vec<_>>(), |entries| Some(Self(entries));
    ClientCertificate: |it| it.pem().expose(), |pem: Secret<String>| Self::parse(pem.expose());
}

impl Sparse for Configuration {
    fn is_left_out(&self) -> bool {
        self.0.is_empty()
    }
}

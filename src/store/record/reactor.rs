//! Reactors and the results of calls without a waiting caller, version 1.

use serde::Serializer;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::domain::id::{ReactorId, ReactorRequestId, TenantId};
use crate::domain::mistakes::Mistakes;
use crate::domain::program::Runtime;
use crate::domain::reactor::{Reactor, ReactorResult, ReactorSettings};
use crate::secret::Secret;
use crate::store::record::shape::{Json, Stored, members, plain, record, stored_as};

record! { encode_reactor, decode_reactor(tenant: TenantId, id: ReactorId): Reactor {
    ..settings, created_by, created_at, modified_by?, modified_at?, answer_seed,
} }

record! { encode_reactor_result, decode_reactor_result(tenant: TenantId, id: ReactorRequestId): ReactorResult {
    reactor, requested_by, session?, is_public?, requested_at, ends_at, expires_at,
} }

members! {
    ReactorSettings { name, code, application?, configuration?, runtime? }
}

stored_as! {
    Secret<String>: |it| it.expose(), |text| Some(Self::new(text));
    (String, Secret<String>): |it| (&it.0, it.1.expose()),
        |(name, value): (String, String)| Some((name, Secret::new(value)));
}

/// Keeps the runtime in the request's own text.
impl Stored for Runtime {
    fn write<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serde::Serialize::serialize(&Json(self.given().expose()), serializer)
    }

    fn read(json: &RawValue) -> Option<Self> {
        let value = Secret::new(plain::<Value>(json)?);
        let read = Self::read(value.expose(), "runtime", &mut Mistakes::new())?;
        Some(read.with_given(Secret::new(String::from(json.get()))))
    }
}

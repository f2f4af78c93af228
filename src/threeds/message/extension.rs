//! Message extensions of the schemes. They are passed on; none is interpreted.

use serde_json::Value;

use crate::bounds::{THREEDS_EXTENSIONS_BYTES_MAX, THREEDS_EXTENSIONS_MAX};
use crate::threeds::ProtocolVersion;
use crate::threeds::message::{EcmaObject, Element, ElementReader, Flag, Text, object};

object! {
    Extension {
        name: Text<64> = "name" V210;
        id: Text<64> = "id" V210;
        critical: Flag = "criticalityIndicator" V210;
        data: EcmaObject<8059> = "data" V210;
    }
}

#[derive(Debug, PartialEq, Eq)]
pub struct Extensions(pub Vec<Extension>);

impl Extensions {
    /// The ids of the critical extensions, which a receiver must support.
    pub(super) fn critical(&self) -> Option<String> {
        let critical = self.0.iter().filter(|it| it.critical == Flag::True);
        let ids: Vec<_> = critical.map(|it| it.id.as_str()).collect();
        (!ids.is_empty()).then(|| ids.join(","))
    }
}

impl Element for Extensions {
    fn read(value: &Value, reader: &mut ElementReader) -> Option<Self> {
        let items = value.as_array().filter(|items| {
            (1..=THREEDS_EXTENSIONS_MAX).contains(&items.len())
                && value.to_string().len() <= THREEDS_EXTENSIONS_BYTES_MAX
        });
        let items = reader.valid(items)?;
        let read = |item| Extension::read(item, reader);
        items.iter().map(read).collect::<Option<_>>().map(Self)
    }

    fn write(&self, version: ProtocolVersion) -> Value {
        Value::Array(self.0.iter().map(|it| it.write(version)).collect())
    }
}

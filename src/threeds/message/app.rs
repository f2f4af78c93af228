//! Elements of the app channel: the ways in which the SDK and the ACS can display a challenge.

use serde_json::Value;

use crate::threeds::ProtocolVersion;
use crate::threeds::message::{Element, ElementReader, Text, object};

object! {
    DeviceRenderOptions {
        interface: Text<2> = "sdkInterface" V210;
        ui_types: UiTypes = "sdkUiType" V210;
    }
}

object! {
    AcsRenderingType {
        interface: Text<2> = "acsInterface" V210;
        template: Text<2> = "acsUiTemplate" V210;
    }
}

/// Codes of the user interface types of a challenge, 01 to 05.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UiTypes(pub Vec<String>);

impl Element for UiTypes {
    fn read(value: &Value, reader: &mut ElementReader) -> Option<Self> {
        let items = value.as_array().filter(|items| !items.is_empty() && items.len() <= 7);
        let text = |item: &Value| item.as_str().filter(|it| it.len() == 2).map(String::from);
        let types = items.and_then(|items| items.iter().map(text).collect::<Option<Vec<_>>>());
        reader.valid(types).map(Self)
    }

    fn write(&self, _: ProtocolVersion) -> Value {
        Value::from(self.0.clone())
    }
}

//! The runtime of a tenant's program: which contract it has with the vault, how long it may take,
//! and the rights that it has without an application.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::bounds::{
    PROGRAM_TIMEOUT, PROGRAM_TIMEOUT_ASYNC, PROGRAM_TIMEOUT_ASYNC_MAX, PROGRAM_TIMEOUT_NODE,
    RUNTIME_BYTES_MAX, RUNTIME_PERMISSIONS_MAX,
};
use crate::domain::application::ApplicationKind;
use crate::domain::mistakes::Mistakes;
use crate::domain::permission::Permission;
use crate::domain::words::words;
use crate::secret::{Secret, SecretBuffer};

const WRONG_TYPE: &str = "Deserialization error, invalid input.";
const IMAGE: &str = "The image is node-bt, node22 or node24.";
const PERMISSION: &str = "There is no such permission of a private application.";
const RESOURCES: &str = "The resources are standard, large or xlarge.";
const LEVEL: &str = "The level is debug, info, warn or error.";

words! {
    /// The contract of a program.
    pub enum Image {
        /// The program gets `bt`, the client of the vault, and throws errors of the published package.
        NodeBt = "node-bt";
        Node22 = "node22";
        Node24 = "node24";
    }
}

words! {
    /// From least to most important.
    pub enum LineLevel:
        /// Its number in the messages of a worker.
        number -> u32 [from_number]
    {
        Debug = "debug", 0;
        Info = "info", 1;
        Warn = "warn", 2;
        Error = "error", 3;
    }
}

/// The member `runtime` of a reactor or a code transform.
#[derive(Debug)]
pub struct Runtime {
    /// The request's own JSON, which answers repeat.
    given: Secret<String>,
    pub image: Image,
    timeout_s: Option<u64>,
    /// The rights of the program. Only the newer contract has them.
    pub permissions: Vec<Permission>,
    /// The least level of the lines that are kept. `None` if lines are not kept.
    pub lines: Option<LineLevel>,
}

impl Image {
    pub const fn is_node(self) -> bool {
        matches!(self, Self::Node22 | Self::Node24)
    }
}

impl Runtime {
    /// Reads the member and collects all mistakes. `None` if it has any.
    pub fn read(value: &Value, path: &str, mistakes: &mut Mistakes) -> Option<Self> {
        let Some(members) = value.as_object() else {
            mistakes.add(path, WRONG_TYPE);
            return None;
        };
        let mut given = SecretBuffer::with_capacity(256);
        given.json(value);
        if given.len() > RUNTIME_BYTES_MAX {
            mistakes.add(path, format!("The runtime has at most {RUNTIME_BYTES_MAX} bytes."));
            return None;
        }
        let mut reader = Reader { members, path, mistakes, is_sound: true };
        let image = reader.word("image", Image::parse, IMAGE).unwrap_or(Image::NodeBt);
        let is_async = reader.flag("async").unwrap_or(false);
        let timeout_s = reader.timeout(is_async);
        let permissions = reader.permissions();
        let lines = reader.lines();
        reader.word(
            "resources",
            |it| matches!(it, "standard" | "large" | "xlarge").then_some(()),
            RESOURCES,
        );
        for map in ["dependencies", "resolutions"] {
            reader.texts(map);
        }
        if reader.value("warm_concurrency").is_some_and(|it| it.as_u64().is_none()) {
            reader.wrong("warm_concurrency", WRONG_TYPE);
        }
        let is_sound = reader.is_sound;
        let given = given.finish_text();
        is_sound.then_some(Self { given, image, timeout_s, permissions, lines })
    }

    pub const fn given(&self) -> &Secret<String> {
        &self.given
    }

    /// The same runtime with the text of the record that it was read from.
    #[must_use]
    pub fn with_given(self, given: Secret<String>) -> Self {
        Self { given, ..self }
    }
}

/// The contract of a program whose `runtime` may be absent.
pub fn image(runtime: Option<&Runtime>) -> Image {
    runtime.map_or(Image::NodeBt, |runtime| runtime.image)
}

/// The deadline of a call whose caller waits for the answer.
pub fn timeout(runtime: Option<&Runtime>) -> Duration {
    let usual = if image(runtime).is_node() { PROGRAM_TIMEOUT_NODE } else { PROGRAM_TIMEOUT };
    let given = runtime.and_then(|runtime| runtime.timeout_s).map(Duration::from_secs);
    given.unwrap_or(usual).min(PROGRAM_TIMEOUT)
}

/// The deadline of a call whose caller does not wait.
pub fn timeout_async(runtime: Option<&Runtime>) -> Duration {
    let given = runtime.and_then(|runtime| runtime.timeout_s).map(Duration::from_secs);
    given.filter(|given| *given > PROGRAM_TIMEOUT).unwrap_or(PROGRAM_TIMEOUT_ASYNC)
}

struct Reader<'a, 'm> {
    members: &'a Map<String, Value>,
    path: &'a str,
    mistakes: &'m mut Mistakes,
    is_sound: bool,
}

impl<'a> Reader<'a, '_> {
    fn wrong(&mut self, name: &str, message: impl Into<String>) {
        self.is_sound = false;
        self.mistakes.add(format!("{}.{name}", self.path), message);
    }

    fn value(&self, name: &str) -> Option<&'a Value> {
        self.members.get(name).filter(|value| !value.is_null())
    }

    /// An empty text is the same as an absent member: set-up programs send it.
    fn word<T>(
        &mut self,
        name: &str,
        parse: impl FnOnce(&str) -> Option<T>,
        message: &str,
    ) -> Option<T> {
        let value = self.value(name)?;
        let Some(text) = value.as_str() else {
            self.wrong(name, WRONG_TYPE);
            return None;
        };
        if text.is_empty() {
            return None;
        }
        let parsed = parse(text);
        if parsed.is_none() {
            self.wrong(name, message);
        }
        parsed
    }

    fn flag(&mut self, name: &str) -> Option<bool> {
        let value = self.value(name)?;
        if value.as_bool().is_none() {
            self.wrong(name, WRONG_TYPE);
        }
        value.as_bool()
    }

    /// Zero is the same as an absent member, as in the published provider for Terraform.
    fn timeout(&mut self, is_async: bool) -> Option<u64> {
        let value = self.value("timeout")?;
        let most = if is_async { PROGRAM_TIMEOUT_ASYNC_MAX } else { PROGRAM_TIMEOUT };
        let most = most.as_secs();
        match value.as_u64() {
            Some(0) => None,
            Some(seconds) if seconds <= most => Some(seconds),
            Some(_) | None => {
                self.wrong("timeout", format!("The timeout is a number of seconds up to {most}."));
                None
            }
        }
    }

    fn permissions(&mut self) -> Vec<Permission> {
        let Some(value) = self.value("permissions") else { return Vec::new() };
        let Some(items) = value.as_array() else {
            self.wrong("permissions", WRONG_TYPE);
            return Vec::new();
        };
        if items.len() > RUNTIME_PERMISSIONS_MAX {
            self.wrong("permissions", format!("There may be at most {RUNTIME_PERMISSIONS_MAX}."));
            return Vec::new();
        }
        let mut permissions = Vec::with_capacity(items.len());
        for (at, item) in items.iter().enumerate() {
            let known = item.as_str().and_then(Permission::parse);
            let known = known.filter(|it| it.may_be_held_by(ApplicationKind::Private));
            if known.is_none() {
                self.wrong(&format!("permissions[{at}]"), PERMISSION);
            }
            permissions.extend(known);
        }
        permissions
    }

    fn lines(&mut self) -> Option<LineLevel> {
        let value = self.value("logs")?;
        let Some(members) = value.as_object() else {
            self.wrong("logs", WRONG_TYPE);
            return None;
        };
        let path = format!("{}.logs", self.path);
        let mut inner = Reader { members, path: &path, mistakes: self.mistakes, is_sound: true };
        let is_enabled = inner.flag("enabled").unwrap_or(false);
        let level = inner.word("level", LineLevel::parse, LEVEL).unwrap_or(LineLevel::Info);
        self.is_sound &= inner.is_sound;
        is_enabled.then_some(level)
    }

    fn texts(&mut self, name: &str) {
        let Some(value) = self.value(name) else { return };
        let is_map = value.as_object().is_some_and(|it| it.values().all(Value::is_string));
        if !is_map {
            self.wrong(name, WRONG_TYPE);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(value: &Value) -> Result<Runtime, Vec<String>> {
        let mut mistakes = Mistakes::new();
        let read = Runtime::read(value, "runtime", &mut mistakes);
        read.ok_or_else(|| mistakes.by_path().keys().cloned().collect())
    }

    #[test]
    fn a_runtime_is_read_and_repeated() {
        let given = json!({
            "image": "node22", "timeout": 20, "permissions": ["token:create", "token:read"],
            "logs": {"enabled": true, "level": "warn"}, "dependencies": {"stripe": "17.0.0"},
            "resources": "", "warm_concurrency": 0,
        });
        let runtime = read(&given).unwrap();
        assert_eq!(serde_json::from_str::<Value>(runtime.given().expose()).unwrap(), given);
        assert!(runtime.image.is_node());
        assert_eq!(timeout(Some(&runtime)), Duration::from_secs(20));
        assert_eq!(runtime.permissions, [Permission::TokenCreate, Permission::TokenRead]);
        assert_eq!(runtime.lines, Some(LineLevel::Warn));
        let usual = read(&json!({})).unwrap();
        assert_eq!((usual.image, usual.lines), (Image::NodeBt, None));
        assert_eq!(timeout(None), PROGRAM_TIMEOUT);
        assert_eq!(timeout_async(Some(&runtime)), PROGRAM_TIMEOUT_ASYNC);
        let long = read(&json!({"image": "node24", "async": true, "timeout": 900})).unwrap();
        assert_eq!(timeout_async(Some(&long)), PROGRAM_TIMEOUT_ASYNC_MAX);
        assert_eq!(timeout(Some(&long)), PROGRAM_TIMEOUT);
    }

    #[test]
    fn every_mistake_is_found_under_its_path() {
        let wrong = json!({
            "image": "deno", "timeout": 31, "permissions": ["tenant:delete", 7], "async": "yes",
            "logs": {"enabled": 1, "level": "loud"}, "dependencies": {"a": 1}, "resources": "huge",
        });
        let expected = [
            "async",
            "dependencies",
            "image",
            "logs.enabled",
            "logs.level",
            "permissions[0]",
            "permissions[1]",
            "resources",
            "timeout",
        ];
        assert_eq!(read(&wrong).unwrap_err(), expected.map(|name| format!("runtime.{name}")));
        assert_eq!(read(&json!("node22")).unwrap_err(), ["runtime"]);
        let long = json!({"dependencies": {"a": "1".repeat(RUNTIME_BYTES_MAX)}});
        assert_eq!(read(&long).unwrap_err(), ["runtime"]);
        let many = json!({"permissions": vec!["token:read"; RUNTIME_PERMISSIONS_MAX + 1]});
        assert_eq!(read(&many).unwrap_err(), ["runtime.permissions"]);
    }
}

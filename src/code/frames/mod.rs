//! The messages between the vault and a worker: a length, a kind and members, each with its length.
//!
//! The vault reads what a worker sends as it reads what a stranger sends: the program may have taken
//! the worker over. A length is compared with what is there before anything is allocated for it.

#[cfg(any(fuzzing, test))]
pub(crate) mod fuzz;
#[cfg(test)]
mod tests;

use crate::app::programs::{Contract, LineLevel, ProgramRequest, ProgramResponse};
use crate::bounds::{
    CODE_FETCH_BODY_BYTES_MAX, CODE_FETCH_HEADERS_MAX, CODE_FRAME_BYTES_MAX, CODE_LINE_BYTES_MAX,
    CODE_PACKAGE_NAME_BYTES_MAX, CODE_RESULT_BYTES_MAX,
};
use crate::secret::Secret;

/// Bytes before the content of a frame: its length.
pub const HEAD_BYTES: usize = 4;

/// The walls around a worker that the kernel gave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Confinement {
    pub landlock: bool,
    pub seccomp: bool,
}

pub enum FromWorker {
    /// The engine has started. The first message of every worker.
    Ready(Confinement),
    Fetch {
        number: u32,
        request: ProgramRequest,
    },
    Line {
        level: LineLevel,
        text: Secret<String>,
    },
    /// Asks for a file of a package. The worker waits for the answer.
    Source {
        name: String,
    },
    /// The outcome as JSON: the last message.
    Outcome(Secret<Vec<u8>>),
    OutOfMemory,
    ResultTooLarge,
    /// The program waits for a promise that nothing can settle.
    Forever,
}

pub enum ToWorker {
    Call(WorkerCall),
    Fetched { number: u32, answer: Result<ProgramResponse, String> },
    Source(Option<String>),
}

/// A call as a worker gets it: without the tenant.
pub struct WorkerCall {
    pub code: Secret<String>,
    pub contract: Contract,
    pub argument: Secret<Vec<u8>>,
    pub key: Option<Secret<String>>,
    pub base_url: String,
    pub timeout_ms: u32,
}

opaque_debug!(FromWorker);
opaque_debug!(ToWorker);
opaque_debug!(WorkerCall);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameTooLarge;

/// The length of the content that this head announces, if a frame may have it.
pub fn content_length(head: [u8; HEAD_BYTES]) -> Option<usize> {
    let length = usize::try_from(u32::from_le_bytes(head)).ok()?;
    (1..=CODE_FRAME_BYTES_MAX).contains(&length).then_some(length)
}

impl FromWorker {
    pub fn encode(&self) -> Result<Vec<u8>, FrameTooLarge> {
        match self {
            Self::Ready(Confinement { landlock, seccomp }) => {
                let flags = u32::from(*landlock) | (u32::from(*seccomp) << 1);
                FrameWriter::new(1).number(flags).finish()
            }
            Self::Fetch { number, request } => {
                let writer = FrameWriter::new(2).number(*number);
                let writer = writer.text(&request.method).text(request.url.expose());
                writer.headers(&request.headers).bytes(request.body.expose()).finish()
            }
            Self::Line { level, text } => {
                FrameWriter::new(3).number(level.number()).text(text.expose()).finish()
            }
            Self::Source { name } => FrameWriter::new(4).text(name).finish(),
            Self::Outcome(json) => FrameWriter::new(5).bytes(json.expose()).finish(),
            Self::OutOfMemory => FrameWriter::new(6).finish(),
            Self::ResultTooLarge => FrameWriter::new(7).finish(),
            Self::Forever => FrameWriter::new(8).finish(),
        }
    }

    /// None if the content is not exactly one message within its bounds.
    pub fn decode(content: &[u8]) -> Option<Self> {
        let (kind, mut reader) = FrameReader::new(content)?;
        let message = match kind {
            1 => {
                let flags = reader.number().filter(|flags| *flags <= 3)?;
                Self::Ready(Confinement { landlock: flags & 1 != 0, seccomp: flags & 2 != 0 })
            }
            2 => {
                let number = reader.number()?;
                let method = String::from(reader.text()?);
                let url = Secret::new(String::from(reader.text()?));
                let headers = reader.headers()?;
                let body = reader.bytes_up_to(CODE_FETCH_BODY_BYTES_MAX)?;
                let body = Secret::new(body.to_vec());
                Self::Fetch { number, request: ProgramRequest { method, url, headers, body } }
            }
            3 => {
                let level = LineLevel::from_number(reader.number()?)?;
                let text = reader.text().filter(|text| text.len() <= CODE_LINE_BYTES_MAX)?;
                Self::Line { level, text: Secret::new(String::from(text)) }
            }
            4 => {
                let name = reader.text().filter(|it| it.len() <= CODE_PACKAGE_NAME_BYTES_MAX)?;
                Self::Source { name: String::from(name) }
            }
            5 => {
                let json = reader.bytes_up_to(CODE_RESULT_BYTES_MAX)?;
                Self::Outcome(Secret::new(json.to_vec()))
            }
            6 => Self::OutOfMemory,
            7 => Self::ResultTooLarge,
            8 => Self::Forever,
            _ => return None,
        };
        reader.is_at_end().then_some(message)
    }
}

impl ToWorker {
    pub fn encode(&self) -> Result<Vec<u8>, FrameTooLarge> {
        match self {
            Self::Call(call) => {
                let contract = match call.contract {
                    Contract::Bt => 1,
                    Contract::Node => 2,
                };
                let writer = FrameWriter::new(1).number(contract).number(call.timeout_ms);
                let writer = writer.text(call.code.expose()).bytes(call.argument.expose());
                let writer = writer.number(u32::from(call.key.is_some()));
                let key = call.key.as_ref().map_or("", |key| key.expose().as_str());
                writer.text(key).text(&call.base_url).finish()
            }
            Self::Fetched { number, answer: Ok(response) } => {
                let writer = FrameWriter::new(2).number(*number);
                let writer = writer.number(u32::from(response.status));
                writer.headers(&response.headers).bytes(response.body.expose()).finish()
            }
            Self::Fetched { number, answer: Err(message) } => {
                FrameWriter::new(3).number(*number).text(message).finish()
            }
            Self::Source(Some(text)) => FrameWriter::new(4).text(text).finish(),
            Self::Source(None) => FrameWriter::new(5).finish(),
        }
    }

    pub fn decode(content: &[u8]) -> Option<Self> {
        let (kind, mut reader) = FrameReader::new(content)?;
        let message = match kind {
            1 => {
                let contract = match reader.number()? {
                    1 => Contract::Bt,
                    2 => Contract::Node,
                    _ => return None,
                };
                let timeout_ms = reader.number()?;
                let code = Secret::new(String::from(reader.text()?));
                let argument = Secret::new(reader.bytes()?.to_vec());
                let has_key = reader.number().filter(|it| *it <= 1)? == 1;
                let key = reader.text().map(|key| Secret::new(String::from(key)))?;
                let base_url = String::from(reader.text()?);
                if !has_key && !key.expose().is_empty() {
                    return None;
                }
                let key = has_key.then_some(key);
                Self::Call(WorkerCall { code, contract, argument, key, base_url, timeout_ms })
            }
            2 => {
                let number = reader.number()?;
                let status = u16::try_from(reader.number()?).ok()?;
                let headers = reader.headers()?;
                let body = Secret::new(reader.bytes()?.to_vec());
                Self::Fetched { number, answer: Ok(ProgramResponse { status, headers, body }) }
            }
            3 => {
                let number = reader.number()?;
                Self::Fetched { number, answer: Err(String::from(reader.text()?)) }
            }
            4 => Self::Source(Some(String::from(reader.text()?))),
            5 => Self::Source(None),
            _ => return None,
        };
        reader.is_at_end().then_some(message)
    }
}

type Headers = Vec<(String, Secret<Vec<u8>>)>;

struct FrameWriter {
    /// With room for the head.
    bytes: Vec<u8>,
}

impl FrameWriter {
    fn new(kind: u8) -> Self {
        Self { bytes: vec![0, 0, 0, 0, kind] }
    }

    fn number(mut self, number: u32) -> Self {
        self.bytes.extend_from_slice(&number.to_le_bytes());
        self
    }

    fn bytes(mut self, bytes: &[u8]) -> Self {
        // The whole frame is refused at its end if this was too long for its length.
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        self.bytes.reserve(bytes.len().saturating_add(HEAD_BYTES));
        self = self.number(length);
        self.bytes.extend_from_slice(bytes);
        self
    }

    fn text(self, text: &str) -> Self {
        self.bytes(text.as_bytes())
    }

    fn headers(mut self, headers: &Headers) -> Self {
        self = self.number(u32::try_from(headers.len()).unwrap_or(u32::MAX));
        for (name, value) in headers {
            self = self.text(name).bytes(value.expose());
        }
        self
    }

    fn finish(mut self) -> Result<Vec<u8>, FrameTooLarge> {
        let length = self.bytes.len().checked_sub(HEAD_BYTES).ok_or(FrameTooLarge)?;
        if length > CODE_FRAME_BYTES_MAX {
            return Err(FrameTooLarge);
        }
        let length = u32::try_from(length).or(Err(FrameTooLarge))?;
        for (place, byte) in self.bytes.iter_mut().zip(length.to_le_bytes()) {
            *place = byte;
        }
        Ok(self.bytes)
    }
}

struct FrameReader<'a> {
    rest: &'a [u8],
}

impl<'a> FrameReader<'a> {
    fn new(content: &'a [u8]) -> Option<(u8, Self)> {
        let (kind, rest) = content.split_first()?;
        Some((*kind, Self { rest }))
    }

    fn number(&mut self) -> Option<u32> {
        let (number, rest) = self.rest.split_first_chunk::<4>()?;
        self.rest = rest;
        Some(u32::from_le_bytes(*number))
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        self.bytes_up_to(CODE_FRAME_BYTES_MAX)
    }

    fn bytes_up_to(&mut self, most: usize) -> Option<&'a [u8]> {
        let length = usize::try_from(self.number()?).ok().filter(|length| *length <= most)?;
        let (bytes, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(bytes)
    }

    fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.bytes()?).ok()
    }

    fn headers(&mut self) -> Option<Headers> {
        let count = usize::try_from(self.number()?).ok()?;
        if count > CODE_FETCH_HEADERS_MAX {
            return None;
        }
        let mut headers = Vec::with_capacity(count);
        for _ in 0..count {
            let name = String::from(self.text()?);
            headers.push((name, Secret::new(self.bytes()?.to_vec())));
        }
        Some(headers)
    }

    const fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }
}

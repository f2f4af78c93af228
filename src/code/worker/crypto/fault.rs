//! Failures of the cryptography of programs: constant texts without input.

use rquickjs::{Ctx, Error, Exception};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fault(pub(super) &'static str);

impl Fault {
    pub(super) fn throw(self, ctx: &Ctx<'_>) -> Error {
        Exception::throw_message(ctx, self.0)
    }
}

pub(super) const UNKNOWN_HASH: Fault = Fault("Digest method not supported");
pub(super) const UNKNOWN_CIPHER: Fault = Fault("Unknown cipher");
pub(super) const INVALID_KEY: Fault = Fault("The key cannot be read");
pub(super) const UNKNOWN_KEY: Fault = Fault("The kind of key is not supported");
pub(super) const WRONG_KEY: Fault = Fault("The key is of another kind than the operation needs");
pub(super) const NEEDS_PRIVATE: Fault = Fault("The operation needs a private key");
pub(super) const KEY_LENGTH: Fault = Fault("Invalid key length");
pub(super) const IV_LENGTH: Fault = Fault("Invalid initialization vector");
pub(super) const BAD_DECRYPT: Fault = Fault("bad decrypt");
pub(super) const NOT_AUTHENTIC: Fault = Fault("Unsupported state or unable to authenticate data");
pub(super) const BLOCK_LENGTH: Fault = Fault("wrong final block length");
pub(super) const TOO_LARGE: Fault = Fault("data too large for key size");
pub(super) const TOO_LONG: Fault = Fault("The requested length is too large");
pub(super) const OPERATION_FAILED: Fault = Fault("The operation failed");

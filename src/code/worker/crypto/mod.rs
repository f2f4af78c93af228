//! Functions of the host for cryptography, base64 and UTF-8.

use rquickjs::{Ctx, Object};

/// Sets the member `crypto` of the host.
#[expect(clippy::unnecessary_wraps, reason = "the functions may fail")]
pub fn install<'js>(_ctx: &Ctx<'js>, _host: &Object<'js>) -> rquickjs::Result<()> {
    Ok(())
}

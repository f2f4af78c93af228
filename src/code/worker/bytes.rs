//! Bytes of programs, without a pointer into the memory of the engine.
//!
//! The engine shows the content of an array only by a pointer, and this program has no unsafe code.
//! A small script makes a text of the bytes instead, a character for each.

use rquickjs::{Ctx, Exception, Function, TypedArray};

use crate::code::worker::engine::script;

/// It keeps the functions that it needs: programs may replace them later.
const READER: &str = "(() => {
  const { fromCharCode } = String, { apply } = Reflect, { subarray } = Uint8Array.prototype;
  return (bytes) => {
    let text = '';
    for (let at = 0; at < bytes.length; at += 8192)
      text += apply(fromCharCode, null, apply(subarray, bytes, [at, at + 8192]));
    return text;
  };
})()";

#[derive(Debug)]
pub struct BytesReader<'js>(Function<'js>);

impl<'js> BytesReader<'js> {
    /// Must be made before the program runs.
    pub fn new(ctx: &Ctx<'js>) -> rquickjs::Result<Self> {
        ctx.eval_with_options(READER, script("library.js")).map(Self)
    }

    pub fn read(&self, bytes: &TypedArray<'js, u8>) -> rquickjs::Result<Vec<u8>> {
        let text: String = self.0.call((bytes.clone(),))?;
        let bytes: Option<_> = text.chars().map(|it| u8::try_from(it).ok()).collect();
        bytes.ok_or_else(|| Exception::throw_type(self.0.ctx(), "these are not bytes"))
    }
}

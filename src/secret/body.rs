//! The body of an answer, or of a request to another server. Its bytes are overwritten once hyper
//! has written or dropped them.
//!
//! hyper queues the bytes without a copy, because the stream below it accepts several slices at
//! once; rustls encrypts them into records of its own. Neither wipes the small pieces that it does
//! copy (HTTP/2 copies frames of less than 256 bytes). The chapter `promises.md` documents this.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};

use crate::secret::Secret;

/// A whole body. It is sent as one frame, or as one frame for each piece.
#[derive(Default)]
pub struct SecretBody {
    /// `None` if the body is empty or was sent already.
    left: Option<Bytes>,
    /// The pieces after it, the last one first.
    rest: Vec<Bytes>,
}

impl SecretBody {
    pub const fn empty() -> Self {
        Self { left: None, rest: Vec::new() }
    }

    pub fn new(bytes: Secret<Vec<u8>>) -> Self {
        if bytes.expose().is_empty() {
            return Self::empty();
        }
        Self { left: Some(Bytes::from_owner(WipedBytes(bytes))), rest: Vec::new() }
    }

    /// Bytes with further owners that are not secret, such as a published document. They are not
    /// overwritten.
    pub fn shared(bytes: Bytes) -> Self {
        Self { left: Some(bytes).filter(|bytes| !bytes.is_empty()), rest: Vec::new() }
    }

    /// The same body in pieces of this length. Each piece is its own allocation, which is freed
    /// when the piece is sent or dropped, and owns the result of `share` for its length. The last
    /// piece is made first.
    #[must_use]
    pub fn in_pieces<S: Send + 'static>(
        self,
        bytes_max: usize,
        mut share: impl FnMut(usize) -> S,
    ) -> Self {
        let mut rest = Vec::new();
        for part in self.rest.iter().chain(&self.left) {
            rest.extend(part.rchunks(bytes_max).map(|piece| {
                let bytes = WipedBytes(Secret::new(piece.to_vec()));
                Bytes::from_owner(HeldBytes { bytes, _share: share(piece.len()) })
            }));
        }
        Self { left: rest.pop(), rest }
    }

    /// Drops a value once the last byte is sent or dropped.
    #[must_use]
    pub fn holding(mut self, share: impl Send + 'static) -> Self {
        if let Some(last) = self.rest.first_mut().or(self.left.as_mut()) {
            let bytes = std::mem::take(last);
            *last = Bytes::from_owner(HeldBytes { bytes, _share: share });
        }
        self
    }

    /// A second body with the same bytes. They are overwritten when both are dropped.
    #[must_use]
    pub fn again(&self) -> Self {
        Self { left: self.left.clone(), rest: self.rest.clone() }
    }

    pub fn len(&self) -> usize {
        self.left.iter().chain(&self.rest).map(Bytes::len).sum()
    }

    pub const fn is_empty(&self) -> bool {
        self.left.is_none()
    }
}

impl From<Secret<Vec<u8>>> for SecretBody {
    fn from(bytes: Secret<Vec<u8>>) -> Self {
        Self::new(bytes)
    }
}

impl From<Vec<u8>> for SecretBody {
    fn from(bytes: Vec<u8>) -> Self {
        Self::new(Secret::new(bytes))
    }
}

impl From<String> for SecretBody {
    fn from(text: String) -> Self {
        Self::from(text.into_bytes())
    }
}

impl Body for SecretBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = self.rest.pop();
        let piece = std::mem::replace(&mut self.left, next);
        Poll::Ready(piece.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(u64::try_from(self.len()).unwrap_or(u64::MAX))
    }
}

opaque_debug!(SecretBody);

/// Bytes, and a value that is dropped after them.
struct HeldBytes<B, S> {
    bytes: B,
    _share: S,
}

impl<B: AsRef<[u8]>, S> AsRef<[u8]> for HeldBytes<B, S> {
    fn as_ref(&self) -> &[u8] {
        self.bytes.as_ref()
    }
}

/// The owner of the bytes. They are overwritten when the last handle to them is dropped.
struct WipedBytes(Secret<Vec<u8>>);

impl AsRef<[u8]> for WipedBytes {
    fn as_ref(&self) -> &[u8] {
        self.0.expose()
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use super::*;

    fn frame(body: &mut SecretBody) -> Option<Bytes> {
        let mut cx = Context::from_waker(std::task::Waker::noop());
        match pin!(body).poll_frame(&mut cx) {
            Poll::Ready(Some(Ok(frame))) => frame.into_data().ok(),
            Poll::Ready(Some(Err(never))) => match never {},
            Poll::Ready(None) | Poll::Pending => None,
        }
    }

    #[test]
    fn a_body_is_one_frame_of_a_known_length() {
        let mut body = SecretBody::from(String::from("4242424242424242"));
        assert_eq!((body.size_hint().exact(), body.is_end_stream()), (Some(16), false));
        assert_eq!(format!("{body:?}"), "SecretBody(..)");
        assert_eq!(frame(&mut body).as_deref(), Some(&b"4242424242424242"[..]));
        assert_eq!((body.size_hint().exact(), body.is_end_stream()), (Some(0), true));
        assert_eq!(frame(&mut body), None);
    }

    #[test]
    fn pieces_are_the_same_body() {
        let mut parts = Vec::new();
        let body = SecretBody::from(String::from("ten bytes."));
        let mut body = body.in_pieces(4, |bytes| parts.push(bytes));
        assert_eq!((body.size_hint().exact(), parts), (Some(10), vec![4, 4, 2]));
        for (piece, left) in [("te", 8), ("n by", 4), ("tes.", 0)] {
            assert_eq!(frame(&mut body).as_deref(), Some(piece.as_bytes()));
            assert_eq!((body.size_hint().exact(), body.is_end_stream()), (Some(left), left == 0));
        }
        assert_eq!(frame(&mut body), None);
    }

    #[test]
    fn nothing_to_send_is_the_end_at_once() {
        for body in [SecretBody::empty(), Vec::new().into(), SecretBody::shared(Bytes::new())] {
            assert!(body.is_end_stream() && body.is_empty());
            assert_eq!(body.size_hint().exact(), Some(0));
        }
    }
}

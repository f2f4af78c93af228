//! The EMV 3-D Secure messages of versions 2.1.0 and 2.2.0: typed, checked when they are received,
//! and rendered so that no message holds what its version does not know.
//!
//! Receiving follows one order: it parses, nothing stands twice, it is of the wanted type, its version
//! is known, nothing required is missing, every value is legal. The first of these that fails is the error; members
//! that no version here defines are ignored.

mod app;
mod areq;
mod ares;
mod challenge;
mod codec;
mod distinct;
mod element;
mod erro;
mod extension;
mod preq;
mod pres;
mod rejection;
mod rreq;
#[cfg(test)]
mod tests;
mod values;

pub use app::{AcsRenderingType, DeviceRenderOptions, UiTypes};
pub use areq::{
    AccountInfo, Areq, AreqOptions, LoginInfo, MerchantRisk, Phone, PriorInfo,
    RequestorAuthentication,
};
pub use ares::Ares;
pub use challenge::{Creq, Cres};
pub use codec::{Message, members, parse, read, render, type_of};
pub use element::{Element, Flaws};
pub use erro::{Component, Erro};
pub use extension::{Extension, Extensions};
pub use preq::{AcsInformations, ActionIndicator, CardRange, CardRanges, Preq, Pres};
pub use pres::{RangesAnswer, parse_pres};
pub use rejection::{ErrorCode, Rejection};
pub use rreq::{Rreq, Rres};
pub use values::{AuthenticationValue, CardNumber, Digits, EcmaObject, Flag, Numeric, Text};

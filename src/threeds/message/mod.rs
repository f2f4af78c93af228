//! The EMV 3-D Secure messages of versions 2.1.0 and 2.2.0. They are typed, checked on receipt, and
//! rendered without elements that their version does not have.
//!
//! A received message is checked in this order: valid JSON, no repeated member, the expected type,
//! a supported version, no missing element, no illegal value. The first failure is the error.
//! Unknown members are ignored.

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

use codec::message;
#[cfg(not(any(fuzzing, test)))]
use codec::parse;
use codec::version_of;
use element::{Element, ElementReader, object, optional, textual};
use preq::CardRanges;

pub use app::{AcsRenderingType, DeviceRenderOptions, UiTypes};
pub use areq::{AccountInfo, Areq, AreqOptions, LoginInfo, MerchantRisk, Phone, PriorInfo};
pub use ares::Ares;
pub use challenge::{Creq, Cres};
#[cfg(any(fuzzing, test))]
pub use codec::{Message, parse};
pub use codec::{members, read, render, type_of};
pub use distinct::repeated;
pub use erro::{Component, Erro};
pub use extension::{Extension, Extensions};
pub use preq::{ActionIndicator, CardRange, Preq, Pres};
pub use pres::{RangesAnswer, parse_pres};
pub use rejection::{ErrorCode, Rejection};
pub use rreq::{Rreq, Rres};
pub use values::{AuthenticationValue, CardNumber, Digits, EcmaObject, Flag, Numeric, Text};

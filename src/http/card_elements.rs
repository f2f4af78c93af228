//! The header by which the vault's own frames say that a request holds values of card elements: fields
//! for cards in a web page. The page cannot set or remove it, and the app keeps such values in the
//! containers for cards. From any other client it only limits the client's own request.

use hyper::HeaderMap;
use percent_encoding::percent_decode_str;

use crate::app::{DataSource, TokenizeDraft};
use crate::http::{Exchange, Problem};

const HEADER: &str = "strongroom-card-elements";
/// The value for all token requests of a body.
const ALL: &str = "true";
const NO_PLACE: &str = "The Strongroom-Card-Elements header must be true, or the places of token requests \
                        in the body: percent-encoded, with commas between them.";

impl Exchange<'_> {
    /// The source of a body that is one token request.
    pub(super) fn data_source(&self) -> DataSource {
        if self.parts.headers.contains_key(HEADER) {
            DataSource::CardElements
        } else {
            DataSource::Caller
        }
    }

    /// Sets the sources of the token requests in a body.
    pub(super) fn set_data_sources(&self, draft: &mut TokenizeDraft) -> Result<(), Problem> {
        set_sources(&self.parts.headers, draft)
    }
}

/// A place that names no token request is refused: its value would be stored elsewhere.
fn set_sources(headers: &HeaderMap, draft: &mut TokenizeDraft) -> Result<(), Problem> {
    let Some(value) = headers.get(HEADER) else { return Ok(()) };
    let value = value.to_str().ok().ok_or(Problem::new(400, NO_PLACE))?;
    if value == ALL {
        for part in &mut draft.drafts {
            part.draft.source = DataSource::CardElements;
        }
        return Ok(());
    }
    for place in value.split(',') {
        let place = percent_decode_str(place).decode_utf8_lossy();
        let mut found = false;
        for part in draft.drafts.iter_mut().filter(|part| part.path == place) {
            part.draft.source = DataSource::CardElements;
            found = true;
        }
        if !found {
            return Err(Problem::new(400, NO_PLACE));
        }
    }
    Ok(())
}

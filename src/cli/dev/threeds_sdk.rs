//! The published browser SDK for 3-D Secure, which `strongroom dev` serves to its example.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use crate::bounds::THREEDS_SDK_BYTES_MAX;
use crate::cli::support::failure::{Exit, Failure};
use crate::cli::support::failure_texts::misconfigured;
use crate::http::set_threeds_sdk;

pub(super) fn serve_sdk(path: &Path) -> Result<(), Failure> {
    let failed = |error: &io::Error| misconfigured("read the 3-D Secure SDK", path, error);
    let mut text = String::new();
    let file = File::open(path).map_err(|error| failed(&error))?;
    // Read one byte more to notice a file that is too large.
    let most = THREEDS_SDK_BYTES_MAX.saturating_add(1);
    let read = file.take(most).read_to_string(&mut text).map_err(|error| failed(&error))?;
    if u64::try_from(read).is_ok_and(|read| read == most) {
        let why = format!("it has more than {THREEDS_SDK_BYTES_MAX} bytes");
        return Err(Failure::new(Exit::Usage, "the 3-D Secure SDK is too large")
            .file(path)
            .why(why));
    }
    set_threeds_sdk(text);
    Ok(())
}

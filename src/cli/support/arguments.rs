//! Arguments that several commands take.

use crate::cli::support::{Exit, Failure, Result};

pub fn quotas(texts: &[String]) -> Result<Vec<(String, String)>> {
    let pair = |text: &String| {
        text.split_once('=').map(|(name, value)| (String::from(name), String::from(value)))
    };
    texts.iter().map(pair).collect::<Option<_>>().ok_or_else(|| {
        Failure::new(Exit::Usage, "a --quota is not of the form NAME=VALUE")
            .try_this("--quota tokenize_limit=100")
    })
}

pub fn switch(flag: &str, text: &str) -> Result<bool> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(Failure::new(Exit::Usage, format!("{flag} takes on or off"))),
    }
}

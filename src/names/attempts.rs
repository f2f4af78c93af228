//! Sequential attempts, each with its own share of the time, so that a silent peer leaves time for
//! the next one.

use std::time::Duration;

use tokio::time::timeout;

/// Returns the first success, or the last failure; `silent` is the failure of an attempt that timed
/// out. `None` without items.
pub async fn first_success<I, T, E: Copy, F: Future<Output = Result<T, E>>>(
    items: impl IntoIterator<Item = I>,
    share: Duration,
    silent: E,
    mut attempt: impl FnMut(I) -> F,
) -> Option<Result<T, E>> {
    let mut found = None;
    for item in items {
        let outcome = timeout(share, attempt(item)).await.unwrap_or(Err(silent));
        if outcome.is_ok() {
            return Some(outcome);
        }
        found = Some(outcome);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const SILENT: &str = "silent";

    /// Answers at once with the number; without a number it never answers.
    async fn reply(number: Option<u8>) -> Result<u8, &'static str> {
        match number {
            Some(0) => Err("zero"),
            Some(number) => Ok(number),
            None => std::future::pending().await,
        }
    }

    #[tokio::test]
    async fn one_that_is_silent_does_not_keep_the_others_from_being_tried() {
        let share = Duration::from_millis(1);
        let first = |items: &[Option<u8>]| first_success(items.to_vec(), share, SILENT, reply);
        assert_eq!(first(&[None, Some(0), Some(1), Some(2)]).await, Some(Ok(1)));
        assert_eq!(first(&[None, Some(0)]).await, Some(Err("zero")));
        assert_eq!(first(&[Some(0), None]).await, Some(Err(SILENT)));
        assert_eq!(first(&[]).await, None);
    }
}

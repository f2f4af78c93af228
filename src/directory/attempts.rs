//! One after the other, each for so long: one that stays silent leaves the others their time.

use std::time::Duration;

use tokio::time::timeout;

const SILENT: &str = "it could not be reached in time";

/// The first that does not fail; otherwise how the last one did.
pub(super) async fn first_success<I, T, F: Future<Output = Result<T, &'static str>>>(
    items: impl IntoIterator<Item = I>,
    share: Duration,
    mut attempt: impl FnMut(I) -> F,
) -> Option<Result<T, &'static str>> {
    let mut found = None;
    for item in items {
        let outcome = timeout(share, attempt(item)).await.unwrap_or(Err(SILENT));
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

    /// A number that is told at once; without one there is silence.
    async fn tell(number: Option<u8>) -> Result<u8, &'static str> {
        match number {
            Some(0) => Err("zero"),
            Some(number) => Ok(number),
            None => std::future::pending().await,
        }
    }

    #[tokio::test]
    async fn one_that_is_silent_does_not_keep_the_others_from_being_tried() {
        let share = Duration::from_millis(1);
        let first = |items: &[Option<u8>]| first_success(items.to_vec(), share, tell);
        assert_eq!(first(&[None, Some(0), Some(1), Some(2)]).await, Some(Ok(1)));
        assert_eq!(first(&[None, Some(0)]).await, Some(Err("zero")));
        assert_eq!(first(&[Some(0), None]).await, Some(Err(SILENT)));
        assert_eq!(first(&[]).await, None);
    }
}

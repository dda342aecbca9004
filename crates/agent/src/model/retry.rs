//! Repeats calls that have failed before their first event.

use std::time::{Duration, SystemTime};

use headwater_contract::Backoff;
use reqwest::header::{HeaderMap, RETRY_AFTER};

use super::fault::Fault;

/// How often a call is repeated.
const MAX_RETRIES: u32 = 4;
/// The first delay, at most.
const FIRST_DELAY: Duration = Duration::from_secs(1);
/// The longest delay that is chosen here.
const MAX_DELAY: Duration = Duration::from_secs(15);
/// The longest delay that a provider may ask for. If it asks for more, the caller gets the failure, and a person decides.
const MAX_ASKED: Duration = Duration::from_secs(90);

/// Repeats `attempt` while its failure is temporary.
pub(super) async fn retry<T, F>(name: &str, mut attempt: impl FnMut() -> F) -> Result<T, Fault>
where
    F: Future<Output = Result<T, Fault>>,
{
    let mut backoff = Backoff::new(FIRST_DELAY, MAX_DELAY);
    for retries_left in (0..=MAX_RETRIES).rev() {
        let fault = match attempt().await {
            Ok(answer) => return Ok(answer),
            Err(fault) => fault,
        };
        let is_too_late = fault.retry_after.is_some_and(|asked| asked > MAX_ASKED);
        if retries_left == 0 || is_too_late || !fault.kind.is_temporary() {
            return Err(fault);
        }
        let chosen = jitter(backoff.next_wait().unwrap_or(MAX_DELAY));
        let delay = fault.retry_after.map_or(chosen, |asked| asked + chosen / 10);
        tracing::info!(model = name, kind = ?fault.kind, ?delay, "the call of the model is repeated");
        tokio::time::sleep(delay).await;
    }
    Err(Fault::new(super::ModelErrorKind::Unreachable, "")) // the last round returns
}

/// Half of the delay to all of it: clients do not return all at once.
fn jitter(delay: Duration) -> Duration {
    // Without randomness all wait equally long, which is no reason to fail.
    let random = getrandom::u32().unwrap_or(u32::MAX);
    delay.mul_f64(0.5 + f64::from(random) / f64::from(u32::MAX) / 2.0)
}

/// How long a response asks to wait: `retry-after-ms`, or `Retry-After` in seconds or as a date.
pub(super) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| (0.0..1e9).contains(number));
    if let Some(milliseconds) = text("retry-after-ms").and_then(number) {
        return Some(Duration::from_secs_f64(milliseconds / 1000.0));
    }
    let text = text(RETRY_AFTER.as_str())?;
    if let Some(seconds) = number(text) {
        return Some(Duration::from_secs_f64(seconds));
    }
    let date = httpdate::parse_http_date(text).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::super::ModelErrorKind;
    use super::*;

    fn fault(kind: ModelErrorKind, retry_after: Option<u64>) -> Fault {
        let mut fault = Fault::new(kind, "x");
        fault.retry_after = retry_after.map(Duration::from_secs);
        fault
    }

    /// The number of attempts and the time that they took, if every attempt fails.
    async fn attempts(fault: Fault) -> (u32, Duration) {
        let (started, mut attempts) = (Instant::now(), 0);
        let result: Result<(), _> = retry("m", || {
            attempts += 1;
            std::future::ready(Err(fault.clone()))
        })
        .await;
        assert_eq!(result, Err(fault));
        (attempts, started.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn temporary_failures_are_repeated_a_few_times_with_growing_delays() {
        let (count, time) = attempts(fault(ModelErrorKind::Overloaded, None)).await;
        assert_eq!(count, 5);
        assert!((Duration::from_millis(7500)..=Duration::from_secs(16)).contains(&time), "{time:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_provider_that_says_when_is_asked_then_unless_that_is_too_late() {
        let (count, time) = attempts(fault(ModelErrorKind::RateLimited, Some(60))).await;
        assert!(count == 5 && time >= Duration::from_mins(4), "{count} {time:?}");
        let (count, time) = attempts(fault(ModelErrorKind::RateLimited, Some(3600))).await;
        assert_eq!((count, time), (1, Duration::ZERO));
    }

    #[tokio::test(start_paused = true)]
    async fn failures_that_stay_are_returned_at_once() {
        for kind in [ModelErrorKind::Unauthorized, ModelErrorKind::ContextTooLong, ModelErrorKind::Refused] {
            assert_eq!(attempts(fault(kind, None)).await, (1, Duration::ZERO));
        }
    }

    #[test]
    fn the_time_to_wait_is_read_in_every_form() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777 - 30);
        let read = |name: &'static str, value: &'static str| {
            retry_after(&HeaderMap::from_iter([(name.parse().unwrap(), value.parse().unwrap())]), now)
        };
        assert_eq!(read("retry-after", "7"), Some(Duration::from_secs(7)));
        assert_eq!(read("retry-after", "0.5"), Some(Duration::from_millis(500)));
        assert_eq!(read("retry-after-ms", "250"), Some(Duration::from_millis(250)));
        assert_eq!(read("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT"), Some(Duration::from_secs(30)));
        assert_eq!(read("retry-after", "Sun, 06 Nov 1994 08:40:00 GMT"), Some(Duration::ZERO));
        assert_eq!((read("retry-after", "soon"), read("retry-after", "-1")), (None, None));
        assert_eq!(read("retry-after", "1e300"), None);
    }
}

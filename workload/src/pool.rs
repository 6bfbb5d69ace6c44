//! Bounded concurrency over numbered items: so many workers, each taking the next number when its last is done.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::task::JoinSet;

use crate::error::Error;
use crate::progress::Progress;

const STEP_INTERVAL: Duration = Duration::from_secs(1);

struct Shared<F> {
    next: AtomicU64,
    done: AtomicU64,
    total: u64,
    work: F,
}

/// Runs `work` for each of 0..total, `workers` at a time, telling `progress` now and then.
///
/// *Errors*: the first one; no further item is begun after it.
pub(crate) async fn for_each<F, W>(
    what: &str,
    total: u64,
    workers: u32,
    work: F,
    progress: &mut dyn Progress,
) -> Result<(), Error>
where
    F: Fn(u64) -> W + Send + Sync + 'static,
    W: Future<Output = Result<(), Error>> + Send + 'static,
{
    let shared = Arc::new(Shared { next: AtomicU64::new(0), done: AtomicU64::new(0), total, work });
    let mut running = JoinSet::new();
    for _ in 0..u64::from(workers).min(total) {
        running.spawn(worker(shared.clone()));
    }
    let mut steps = tokio::time::interval(STEP_INTERVAL);
    steps.tick().await;
    let mut failure = None;
    loop {
        tokio::select! {
            ended = running.join_next() => match ended {
                None => break,
                Some(Ok(Ok(()))) => {}
                Some(Ok(Err(error))) => failure = failure.or(Some(error)),
                Some(Err(error)) => return Err(Error::Worker(error.to_string())),
            },
            _ = steps.tick() => progress.step(what, shared.done.load(Ordering::Relaxed), total),
        }
    }
    progress.step(what, shared.done.load(Ordering::Relaxed), total);
    failure.map_or(Ok(()), Err)
}

async fn worker<F, W>(shared: Arc<Shared<F>>) -> Result<(), Error>
where
    F: Fn(u64) -> W,
    W: Future<Output = Result<(), Error>>,
{
    loop {
        let item = shared.next.fetch_add(1, Ordering::Relaxed);
        if item >= shared.total {
            return Ok(());
        }
        if let Err(error) = (shared.work)(item).await {
            shared.next.store(shared.total, Ordering::Relaxed);
            return Err(error);
        }
        shared.done.fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[tokio::test]
    async fn every_item_is_done_once() {
        let seen = Arc::new(Mutex::new(vec![0; 1000]));
        let marks = seen.clone();
        let work = move |item: u64| {
            let marks = marks.clone();
            async move {
                tokio::task::yield_now().await;
                marks.lock().unwrap()[item as usize] += 1;
                Ok(())
            }
        };
        for_each("marking", 1000, 7, work, &mut ()).await.expect("done");
        assert!(seen.lock().unwrap().iter().all(|count| *count == 1));
    }

    #[tokio::test]
    async fn the_first_error_stops_the_rest() {
        let begun = Arc::new(AtomicU64::new(0));
        let count = begun.clone();
        let work = move |item: u64| {
            count.fetch_add(1, Ordering::Relaxed);
            async move {
                tokio::task::yield_now().await;
                if item == 5 { Err(Error::Usage("five".to_owned())) } else { Ok(()) }
            }
        };
        let error = for_each("counting", 1_000_000, 2, work, &mut ()).await.expect_err("fails");
        assert_eq!(error.to_string(), "five");
        assert!(begun.load(Ordering::Relaxed) < 100);
    }
}

//! News of durability, from the journal's thread to the node's.

use super::failpoint;
use command_store::actor::Position;
use journal::{Durable, OnDurable};
use std::sync::Arc;
use tokio::sync::watch;

/// How far the log may be relied on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Durability {
    pub(crate) upto: Position,
    /// Why no further position will come.
    pub(crate) failed: Option<Arc<str>>,
}

/// The journal's callback, and where its news arrive; whoever is slow sees only the latest.
pub(crate) fn channel() -> (OnDurable, watch::Receiver<Durability>) {
    let (sender, receiver) = watch::channel(Durability::default());
    let news = move |durable: Durable| {
        failpoint::hit("journal");
        sender.send_modify(|state| match durable {
            Durable::Synced(lsn) | Durable::Written(lsn) => state.upto = state.upto.max(Position(lsn.0)),
            Durable::Failed(why) => state.failed = Some(why),
        });
    };
    (Box::new(news), receiver)
}

/// Waits until the log is durable up to `position`.
///
/// *Errors*: why it never will be.
pub(crate) async fn wait_for(news: &mut watch::Receiver<Durability>, position: Position) -> Result<(), String> {
    let state = news.wait_for(|state| state.upto >= position || state.failed.is_some()).await;
    match state {
        Ok(state) if state.upto >= position => Ok(()),
        Ok(state) => Err(state.failed.as_deref().unwrap_or("the journal failed").to_owned()),
        Err(_) => Err("the journal has ended".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use journal::Lsn;

    #[tokio::test]
    async fn a_position_is_reached_or_never_will_be() {
        let (tell, mut news) = channel();
        tell(Durable::Synced(Lsn(7)));
        assert_eq!(wait_for(&mut news, Position(7)).await, Ok(()));
        tell(Durable::Failed("no space".into()));
        assert_eq!(wait_for(&mut news, Position(7)).await, Ok(()));
        assert_eq!(wait_for(&mut news, Position(8)).await, Err("no space".to_owned()));
        drop(tell);
        assert!(wait_for(&mut news, Position(9)).await.is_err());
    }
}

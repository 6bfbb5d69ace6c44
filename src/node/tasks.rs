//! What a node does beside its actors: news of durability, clock reservations, schema agreement, catching up.

use super::backend::NodeBackend;
use super::durability::Durability;
use super::log::NodeLog;
use super::start::Fatal;
use crate::clock::Clock;
use actix::Recipient;
use command_store::actor::{Durable, Position};
use cql_server::{Answer, Backend, NewTxn};
use cql_txn::Action;
use protocol::{Hlc, NodeClock, Tell};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{oneshot, watch};
use tokio::time::{MissedTickBehavior, interval, sleep};
use tracing::debug;

/// Time between two looks at reservations and schema agreement; a reservation lasts seconds.
const TICK: Duration = Duration::from_millis(50);

/// Pause between two attempts to catch up.
const CATCH_UP_PAUSE: Duration = Duration::from_secs(1);

/// Keeps the node's clock reserved ahead of itself.
#[derive(Clone)]
pub(crate) struct Reservations {
    log: Rc<RefCell<NodeLog>>,
    clock: Arc<NodeClock>,
    time: Clock,
    /// What is on its way to the disk.
    asked: Rc<Cell<Option<(Position, Hlc)>>>,
}

impl Reservations {
    pub(crate) fn new(log: Rc<RefCell<NodeLog>>, clock: Arc<NodeClock>, time: Clock) -> Self {
        Self { log, clock, time, asked: Rc::default() }
    }

    fn renew(&self) -> Result<(), String> {
        if self.asked.get().is_none()
            && let Some(upto) = self.clock.reservation_due(self.time.now())
        {
            let position = self.log.borrow_mut().reserve(upto.0)?;
            self.asked.set(Some((position, upto)));
        }
        Ok(())
    }

    fn on_durable(&self, upto: Position) {
        if let Some((_, reserved)) = self.asked.get().filter(|(position, _)| *position <= upto) {
            self.clock.reserved(reserved);
            self.asked.set(None);
        }
    }
}

/// Tells stores and clock how far the log is durable; ends with the journal.
pub(crate) async fn pass_news_on(
    mut news: watch::Receiver<Durability>,
    stores: Vec<Recipient<Tell<Durable>>>,
    reservations: Reservations,
    fatal: Fatal,
) {
    while news.changed().await.is_ok() {
        let Durability { upto, failed } = news.borrow_and_update().clone();
        for store in &stores {
            store.do_send(Tell(Durable(upto)));
        }
        reservations.on_durable(upto);
        if let Some(why) = failed {
            return fatal(format!(
                "the journal has failed: {why}; restart the node, it comes back from what is durable"
            ));
        }
    }
}

/// Looks after everything that only needs a look now and then.
pub(crate) async fn tick(reservations: Reservations, backend: Rc<NodeBackend>, fatal: Fatal) {
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        if let Err(why) = reservations.renew() {
            return fatal(why);
        }
        backend.schema.settle(|node| backend.is_live(node));
    }
}

/// Takes part in one transaction on the schema, which brings this node whatever it missed of it.
///
/// Without it a node that was away while a table was made would not know the table until the next statement on the schema.
pub(crate) async fn catch_up(backend: Rc<NodeBackend>) {
    let Some(txn) = nothing_on_the_schema(&backend) else { return backend.health.set_caught_up() };
    loop {
        let (tell, told) = oneshot::channel();
        backend.submit(txn.clone(), Box::new(move |answer| drop(tell.send(answer))));
        match told.await {
            Ok(Answer::Applied { txn_id, .. }) => {
                backend.health.set_caught_up();
                return debug!(%txn_id, "caught up with the schema");
            }
            Ok(answer) => debug!(?answer, "cannot catch up with the schema yet"),
            Err(_) => return,
        }
        sleep(CATCH_UP_PAUSE).await;
    }
}

/// A statement on the schema that changes nothing.
fn nothing_on_the_schema(backend: &NodeBackend) -> Option<NewTxn> {
    let schema = backend.schema();
    let parsed = cql_txn::parse("DROP TABLE IF EXISTS nobody.nothing").ok()?;
    let prepared = cql_txn::prepare(&parsed, &schema, None).ok()?;
    debug_assert!(matches!(prepared.action(), Action::Ddl(_)));
    let bound = prepared.bind(&[], &schema).ok()?;
    Some(NewTxn {
        kind: bound.kind,
        ephemeral_candidate: false,
        keys: bound.keys,
        body: bound.body,
        wants_trace: false,
    })
}

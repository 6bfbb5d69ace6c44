//! Keeps one place of a session connected: replaces a connection that ended, with growing pauses while the node is away.

use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::connection::{ConnectOptions, Connection};
use crate::error::Error;

const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(5);
/// A connection that held so long is replaced at once; one that did not may be refused again and again.
const STEADY: Duration = Duration::from_secs(1);

/// A place for one connection to one node.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) address: String,
    options: ConnectOptions,
    /// The cluster that the session's first connection found.
    cluster: Arc<OnceLock<String>>,
    current: Mutex<Current>,
}

#[derive(Debug, Default)]
struct Current {
    connection: Option<Connection>,
    last_failure: String,
}

impl Place {
    pub(crate) fn new(address: String, options: ConnectOptions, cluster: Arc<OnceLock<String>>) -> Self {
        Self { address, options, cluster, current: Mutex::default() }
    }

    /// The connection, if it takes requests.
    pub(crate) fn live(&self) -> Option<Connection> {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.connection.clone().filter(Connection::is_live)
    }

    /// Why the last attempt failed or the last connection ended.
    pub(crate) fn last_failure(&self) -> String {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).last_failure.clone()
    }

    /// Connects once and keeps the outcome.
    pub(crate) async fn connect(&self) -> Result<(), Error> {
        let outcome = self.open().await;
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        match outcome {
            Ok(connection) => {
                current.connection = Some(connection);
                Ok(())
            }
            Err(error) => {
                current.connection = None;
                current.last_failure = error.to_string();
                Err(error)
            }
        }
    }

    /// A connection to the session's cluster: the address of a node that is away may have gone to a stranger.
    async fn open(&self) -> Result<Connection, Error> {
        let connection = Connection::connect(&self.address, &self.options).await?;
        let got = connection.cluster_name().await?;
        let wanted = self.cluster.get_or_init(|| got.clone());
        if got != *wanted {
            return Err(Error::OtherCluster { address: self.address.clone(), wanted: wanted.clone(), got });
        }
        Ok(connection)
    }

    fn note_end(&self) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(why) = current.connection.as_ref().and_then(Connection::end_reason) {
            current.last_failure = format!("{}: {why}", self.address);
        }
    }
}

/// Runs until the session that owns the place is gone.
pub(crate) async fn keep(place: Weak<Place>) {
    let mut pause = PAUSE_MIN;
    loop {
        let Some(watch) = place.upgrade().map(|place| place.live().map(|live| live.watch_over())) else { return };
        if let Some(mut over) = watch {
            let since = Instant::now();
            // An error means that the connection is gone altogether, which is an end as well.
            let _ = over.wait_for(|over| *over).await;
            if since.elapsed() >= STEADY {
                pause = Duration::ZERO;
            }
        }
        let Some(strong) = place.upgrade() else { return };
        strong.note_end();
        drop(strong);
        sleep(pause).await;
        pause = (pause * 2).clamp(PAUSE_MIN, PAUSE_MAX);
        let Some(strong) = place.upgrade() else { return };
        reconnect(&strong).await;
    }
}

/// A failure is kept in the place; the loop around comes back to it.
async fn reconnect(place: &Arc<Place>) {
    drop(place.connect().await);
}

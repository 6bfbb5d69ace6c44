//! The one timer of a connection: what a resting connection waits for, and how long that may take.

use crate::config::PortConfig;
use std::future::Future;
use std::pin::Pin;
use std::task::Context;
use std::time::Duration;
use tokio::time::{Sleep, sleep};

/// How long we listen on after we closed our side, so that the client sees our last words instead of a reset.
const FAREWELL: Duration = Duration::from_secs(1);

/// What a connection waits for. A change of any part of it is progress and starts the time anew.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Awaited {
    /// The handshake.
    Login,
    /// The rest of the request that follows `served` others.
    Request { served: u64 },
    /// The client to take more than the `sent` bytes it took so far.
    Reader { sent: u64 },
    /// The client to close its side.
    Farewell,
}

impl Awaited {
    fn time(self, config: &PortConfig) -> Duration {
        match self {
            Self::Login => config.login_timeout,
            Self::Request { .. } => config.request_timeout,
            Self::Reader { .. } => config.write_timeout,
            Self::Farewell => FAREWELL,
        }
    }
}

/// The timer; at rest most connections wait for nothing and have none.
#[derive(Debug, Default)]
pub(crate) struct Watch(Option<(Awaited, Pin<Box<Sleep>>)>);

impl Watch {
    /// Whether the time for what is awaited is over; if not, `cx` is woken when it is.
    pub(crate) fn is_late(&mut self, awaited: Option<Awaited>, config: &PortConfig, cx: &mut Context<'_>) -> bool {
        if self.0.as_ref().map(|(known, _)| *known) != awaited {
            self.0 = awaited.map(|awaited| (awaited, Box::pin(sleep(awaited.time(config)))));
        }
        self.0.as_mut().is_some_and(|(_, sleep)| sleep.as_mut().poll(cx).is_ready())
    }
}

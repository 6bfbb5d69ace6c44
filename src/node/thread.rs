//! A node on a thread of its own, for processes that hold several.

use super::{Figures, Node, NodeSetup, stop_process};
use crate::Error;
use std::net::SocketAddr;
use std::rc::Rc;
use std::thread::JoinHandle;
use tokio::sync::{mpsc, oneshot};

/// What a node on another thread says of itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NodeReport {
    /// Where clients connect.
    pub client_address: SocketAddr,
    /// Where metrics and health are served, if anywhere.
    pub metrics_address: Option<SocketAddr>,
    /// How many peers it can send to.
    pub connected_count: usize,
    /// What it has done so far.
    pub figures: Figures,
}

enum Order {
    Report(oneshot::Sender<NodeReport>),
    Stop,
    Kill,
}

/// The handle of a node that runs on its own thread; dropping it kills the node.
#[derive(Debug)]
pub struct NodeThread {
    orders: mpsc::UnboundedSender<Order>,
    thread: Option<JoinHandle<Result<bool, Error>>>,
    client_address: SocketAddr,
}

impl NodeThread {
    /// Starts a node and waits until it serves.
    ///
    /// *Errors*: those of [`Node::start`], or no thread to be had.
    pub async fn start(setup: NodeSetup) -> Result<Self, Error> {
        let (orders, inbox) = mpsc::unbounded_channel();
        let (ready, started) = oneshot::channel();
        let name = format!("node-{}", setup.id.0);
        let thread = std::thread::Builder::new()
            .name(name)
            .spawn(move || actix::System::new().block_on(live(setup, inbox, ready)));
        let thread = thread.map_err(|error| Error::Failed(format!("cannot start a thread for a node: {error}")))?;
        match started.await {
            Ok(client_address) => Ok(Self { orders, thread: Some(thread), client_address }),
            Err(_) => match join(thread) {
                Err(error) => Err(error),
                Ok(_) => Err(Error::Failed("the node ended before it served".to_owned())),
            },
        }
    }

    /// Where clients connect.
    pub fn client_address(&self) -> SocketAddr {
        self.client_address
    }

    /// What the node says of itself now; `None` if it has ended.
    pub async fn report(&self) -> Option<NodeReport> {
        let (tell, told) = oneshot::channel();
        self.orders.send(Order::Report(tell)).ok()?;
        told.await.ok()
    }

    /// Stops it in order; true if everything under way ended in time. Blocks the calling thread meanwhile.
    ///
    /// *Errors*: those of [`Node::stop`].
    pub fn stop(mut self) -> Result<bool, Error> {
        self.end(Order::Stop)
    }

    /// Ends it at once: nothing is answered, told or drained. Blocks until its threads have let go of the directory.
    ///
    /// What was handed to the journal before may still reach the disk, as it may in a real crash.
    pub fn kill(mut self) {
        // the result of a node that was killed is no news
        let _ = self.end(Order::Kill);
    }

    fn end(&mut self, order: Order) -> Result<bool, Error> {
        // a node that has ended by itself takes no orders
        let _ = self.orders.send(order);
        self.thread.take().map_or(Ok(true), join)
    }
}

impl Drop for NodeThread {
    fn drop(&mut self) {
        let _ = self.end(Order::Kill);
    }
}

fn join(thread: JoinHandle<Result<bool, Error>>) -> Result<bool, Error> {
    thread.join().unwrap_or_else(|_| Err(Error::Failed("the thread of a node panicked".to_owned())))
}

async fn live(
    setup: NodeSetup,
    mut orders: mpsc::UnboundedReceiver<Order>,
    ready: oneshot::Sender<SocketAddr>,
) -> Result<bool, Error> {
    let node = Node::start(setup, Rc::new(|why| stop_process(&why))).await?;
    if ready.send(node.client_address()).is_err() {
        return node.stop().await;
    }
    loop {
        match orders.recv().await {
            Some(Order::Report(to)) => {
                let report = NodeReport {
                    client_address: node.client_address(),
                    metrics_address: node.metrics_address(),
                    connected_count: node.connected_count(),
                    figures: node.figures(),
                };
                // whoever asked may have gone
                let _ = to.send(report);
            }
            Some(Order::Stop) => return node.stop().await,
            Some(Order::Kill) | None => return Ok(true),
        }
    }
}

//! Start and stop of a node, in order.

use super::NodeSetup;
use super::backend::NodeBackend;
use super::checkpoint::Checkpointer;
use super::counters::{Counters, Figures};
use super::durability::{Durability, wait_for};
use super::failpoint;
use super::health::Health;
use super::http::MetricsPort;
use super::log::NodeLog;
use super::observer::Observer;
use super::recover::{Recovered, recover};
use super::schema::SchemaBoard;
use super::switch::{FrameDoor, Links, Meet, Neighbours, Surroundings, SwitchActor};
use super::tasks::{Reservations, catch_up, pass_news_on, tick};
use crate::Error;
use crate::clock::Clock;
use crate::config::Config;
use actix::{Actor, Addr};
use auth::KeyRing;
use command_store::actor::{CommandStoreActor, Rows, StoreSeams};
use command_store::{CommandStore, Slices, StoreInput};
use coordinator::Coordinator;
use coordinator::actor::{CoordinatorActor, CoordinatorSeams, CountCoordinations, Desk};
use cql_server::{Backend, ClientPort, PortHandle};
use cql_txn::{CqlSemantics, schema_key};
use journal::{DirLock, RowCheckpoint};
use protocol::{Epoch, NoHooks, NodeClock, NodeId, Note, Now, RowStore, StoreId, Tell, Topology};
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::task::{JoinHandle, spawn_local};
use tokio::time::{Instant, sleep, timeout_at};
use tracing::info;
use transport::{Endpoint, Listener, ListenerCounters, link};

/// Told why the node must not go on.
pub type Fatal = Rc<dyn Fn(String)>;

/// Time that links get to write what is queued when the node stops.
const LINK_PATIENCE: Duration = Duration::from_secs(1);

/// Time that outcomes get to be spread when the node stops.
const IDLE_PATIENCE: Duration = Duration::from_secs(2);

/// Pause between two looks at coordinations that end.
const DRAIN_PAUSE: Duration = Duration::from_millis(10);

/// Part of the journal's room that waits for the disk before clients are refused.
const PENDING_SHARE: usize = 4;

/// A running node; lives on the thread that started it.
pub struct Node {
    id: NodeId,
    backend: Rc<NodeBackend>,
    counters: Rc<Counters>,
    coordinator: Addr<CoordinatorActor>,
    port: PortHandle,
    serving: JoinHandle<()>,
    peer_address: SocketAddr,
    metrics_address: Option<SocketAddr>,
    link_tasks: Vec<JoinHandle<()>>,
    tasks: Vec<JoinHandle<()>>,
    checkpointing: JoinHandle<()>,
    checkpointer: Rc<Checkpointer>,
    /// The journal is being closed: whoever still wants to append has nobody to tell.
    is_closing: Rc<Cell<bool>>,
    lock: DirLock,
}

/// What is made before the first actor.
struct Groundwork {
    id: NodeId,
    config: Arc<Config>,
    time: Clock,
    topology: Arc<Topology>,
    clock: Arc<NodeClock>,
    log: Rc<RefCell<NodeLog>>,
    schema: Rc<SchemaBoard>,
    counters: Rc<Counters>,
    health: Rc<Health>,
    fatal: Fatal,
}

/// What was found on disk and has no place yet.
struct Found {
    lock: DirLock,
    news: watch::Receiver<Durability>,
    checkpoint: RowCheckpoint,
    stores: Vec<(CommandStore<NoHooks>, Rows)>,
}

/// The peer port, bound, and the links to all peers, running.
struct Peers {
    listener: Listener,
    address: SocketAddr,
    links: Links,
    tasks: Vec<JoinHandle<()>>,
}

/// The actors of a node.
struct Cast {
    switch: Addr<SwitchActor>,
    coordinator: Addr<CoordinatorActor>,
    stores: Vec<Addr<CommandStoreActor<NodeLog>>>,
    desk: Rc<Desk>,
}

impl Node {
    /// Comes back from disk and serves; must be called on an actix arbiter.
    ///
    /// *Errors*: a data directory or port that cannot be used; the text says which and what to do.
    pub async fn start(setup: NodeSetup, fatal: Fatal) -> Result<Self, Error> {
        let is_closing = Rc::new(Cell::new(false));
        let health = Rc::new(Health::default());
        let fatal = until_closing(&is_closing, noted(&health, fatal));
        let (ground, found, ring) = Groundwork::lay(setup, health, fatal).await?;
        let peers = ground.peers(ring).await?;
        let cast = ground.cast(found.stores, &peers.links);
        let backend = ground.backend(&cast, &peers.links);
        let port = ground.client_port(&backend).await?;
        let handle = port.handle();
        ground.schema.open(handle.clone());
        let checkpointer = Rc::new(Checkpointer {
            checkpoint: found.checkpoint,
            stores: cast.stores.clone(),
            log: Rc::clone(&ground.log),
            news: found.news.clone(),
            end: Notify::new(),
            has_failed: Cell::new(false),
        });
        ground.let_observe(&backend, &cast, peers.listener.counters(), found.news.clone());
        let mut tasks = ground.tasks(&cast, &backend, found.news);
        let metrics_address = ground.serve_metrics(&backend, &mut tasks).await;
        let checkpointing = spawn_local(Rc::clone(&checkpointer).run(ground.config.rows.checkpoint_period));
        let (counters, time) = (Rc::clone(&ground.counters), ground.time);
        let door = FrameDoor { switch: cast.switch.recipient(), counters, time };
        tasks.push(spawn_local(async move { peers.listener.run(door).await }));
        let node = Self {
            id: ground.id,
            backend,
            counters: ground.counters,
            coordinator: cast.coordinator,
            port: handle,
            serving: spawn_local(port.serve()),
            peer_address: peers.address,
            metrics_address,
            link_tasks: peers.tasks,
            tasks,
            checkpointing,
            checkpointer,
            is_closing,
            lock: found.lock,
        };
        info!(node = node.id.0, clients = %node.client_address(), peers = %node.peer_address, "node {} is ready", node.id.0);
        Ok(node)
    }

    /// Where clients connect.
    pub fn client_address(&self) -> SocketAddr {
        let unset = || SocketAddr::from(([0, 0, 0, 0], 0));
        self.backend.client_address.get().copied().unwrap_or_else(unset)
    }

    /// Where peers connect.
    pub fn peer_address(&self) -> SocketAddr {
        self.peer_address
    }

    /// Where metrics and health are served, if anywhere.
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics_address
    }

    /// How many peers this node can send to now.
    pub fn connected_count(&self) -> usize {
        self.backend.links.keys().filter(|peer| self.backend.is_live(**peer)).count()
    }

    /// What it has done so far.
    pub fn figures(&self) -> Figures {
        self.counters.figures()
    }

    /// Lets what is under way end, for at most `[timeouts] drain`, and closes everything in order. True if every client was answered.
    ///
    /// *Errors*: a disk that refuses at the end; the next start replays.
    pub async fn stop(self) -> Result<bool, Error> {
        let deadline = Instant::now() + self.backend.config.timeouts.drain;
        self.backend.is_stopping.set(true);
        self.port.stop();
        let is_drained = timeout_at(deadline, self.serving).await.is_ok();
        idle(&self.coordinator, deadline.min(Instant::now() + IDLE_PATIENCE)).await;
        for link in self.backend.links.values() {
            link.close();
        }
        let patience = Instant::now() + LINK_PATIENCE;
        for task in self.link_tasks {
            // a peer that does not read loses what it would have lost in a crash
            let _ = timeout_at(patience, task).await;
        }
        self.checkpointer.end.notify_one();
        // it holds the checkpointer, and gives it back by ending
        let _ = self.checkpointing.await;
        for task in &self.tasks {
            task.abort();
        }
        for task in self.tasks {
            // aborted or ended, both is well
            let _ = task.await;
        }
        let checkpointer = Rc::into_inner(self.checkpointer);
        let checkpointer =
            checkpointer.ok_or_else(|| Error::Failed("the row checkpoint is still at work".to_owned()))?;
        self.is_closing.set(true);
        checkpointer.finish().await?;
        drop(self.lock);
        info!(node = self.id.0, "node {} has stopped", self.id.0);
        Ok(is_drained)
    }
}

/// `fatal`, until the node closes its journal: a timer of a store may ring after that, and must not turn an orderly end into a failure.
fn until_closing(is_closing: &Rc<Cell<bool>>, fatal: Fatal) -> Fatal {
    let is_closing = Rc::clone(is_closing);
    Rc::new(move |why| {
        if !is_closing.get() {
            fatal(why);
        }
    })
}

/// `fatal`, remembered for whoever asks after the node's health before the process ends.
fn noted(health: &Rc<Health>, fatal: Fatal) -> Fatal {
    let health = Rc::clone(health);
    Rc::new(move |why| {
        health.set_fatal(&why);
        fatal(why);
    })
}

/// Waits until no coordination runs, for a while: clients have been answered, and others can finish what is left.
async fn idle(coordinator: &Addr<CoordinatorActor>, deadline: Instant) {
    while let Ok(count) = coordinator.send(CountCoordinations).await
        && count > 0
    {
        if Instant::now() >= deadline {
            return info!(count, "outcomes are still being spread; the other nodes go on with it");
        }
        sleep(DRAIN_PAUSE).await;
    }
}

impl Groundwork {
    /// Comes back from disk and reserves the clock: nothing is issued before the first reservation is durable.
    async fn lay(setup: NodeSetup, health: Rc<Health>, fatal: Fatal) -> Result<(Self, Found, KeyRing), Error> {
        let topology = Arc::new(setup.config.topology()?);
        let recovered = recover(&setup, &topology)?;
        let Recovered { lock, journal, mut news, checkpoint, stores, resume_at } = recovered;
        let NodeSetup { config, id, ring, clock: time, .. } = setup;
        let log = Rc::new(RefCell::new(NodeLog::new(journal)));
        let clock = Arc::new(NodeClock::new(id, Epoch(1), resume_at));
        if let Some(upto) = clock.reservation_due(time.now()) {
            let position = log.borrow_mut().reserve(upto.0).map_err(Error::Failed)?;
            wait_for(&mut news, position).await.map_err(Error::Failed)?;
            clock.reserved(upto);
        }
        let schema = stored_schema(&config, &topology, &stores);
        let schema = SchemaBoard::new(id, topology.largest_group(), schema.as_deref());
        let schema = Rc::new(schema.map_err(|error| Error::Failed(format!("{error}; start a newer accordd")))?);
        let counters = Rc::new(Counters::default());
        let ground = Self { id, config, time, topology, clock, log, schema, counters, health, fatal };
        Ok((ground, Found { lock, news, checkpoint, stores }, ring))
    }

    async fn peers(&self, ring: KeyRing) -> Result<Peers, Error> {
        let bad = |error: transport::Error| Error::Failed(error.to_string());
        let entropy = |bytes: &mut [u8]| {
            if let Err(error) = crate::entropy::fill(bytes) {
                // a nonce that is not random would be a lie about freshness
                super::stop_process(&error.to_string());
            }
        };
        let incarnation = crate::entropy::number()?;
        let endpoint = Endpoint::new(ring, incarnation, self.config.transport_settings(), entropy).map_err(bad)?;
        endpoint.set_epoch(self.clock.epoch().0);
        let listen = self.config.peer_listen(self.id).ok_or_else(|| self.unknown())?;
        let listener = Listener::bind(Arc::clone(&endpoint), &listen.to_string()).await;
        let listener = listener.map_err(|error| taken("peer_port", &error))?;
        let address = listener.local_addr().map_err(|error| taken("peer_port", &error))?;
        let (mut links, mut tasks) = (BTreeMap::new(), Vec::new());
        for entry in self.config.cluster.nodes.iter().filter(|entry| entry.id != self.id.0) {
            let (link, task) = link(Arc::clone(&endpoint), entry.id, entry.peer_addr.to_string()).map_err(bad)?;
            links.insert(NodeId(entry.id), link);
            tasks.push(spawn_local(task.run()));
        }
        Ok(Peers { listener, address, links: Rc::new(links), tasks })
    }

    fn unknown(&self) -> Error {
        Error::Config(format!("node {} is not among [cluster] nodes", self.id.0))
    }

    async fn client_port(&self, backend: &Rc<NodeBackend>) -> Result<ClientPort, Error> {
        let listen = self.config.client_listen(self.id).ok_or_else(|| self.unknown())?;
        let in_use = |error: std::io::Error| taken("client_port", &format!("cannot listen on {listen}: {error}"));
        let backend_of_port: Rc<dyn Backend> = Rc::<NodeBackend>::clone(backend);
        let port = ClientPort::bind(listen, self.config.port_config(), backend_of_port).await.map_err(in_use)?;
        // set once, here
        let _ = backend.client_address.set(port.local_addr().map_err(in_use)?);
        Ok(port)
    }

    fn cast(&self, stores: Vec<(CommandStore<NoHooks>, Rows)>, links: &Links) -> Cast {
        let around = Surroundings {
            node: self.id,
            topology: Arc::clone(&self.topology),
            links: Rc::clone(links),
            schema: Rc::clone(&self.schema),
            counters: Rc::clone(&self.counters),
        };
        let switch = SwitchActor::new(around, Slices::new(self.config.node.stores)).start();
        let desk = Rc::new(Desk::default());
        let coordinator = self.coordinator(&switch, &desk);
        let stores = stores.into_iter().zip(0..).map(|((machine, rows), store)| {
            let (log, clock) = (Rc::clone(&self.log), Arc::clone(&self.clock));
            let seams = self.store_seams(&switch, &coordinator);
            CommandStoreActor::new(StoreId(store), machine, rows, Arc::new(CqlSemantics), log, clock, seams).start()
        });
        let stores: Vec<_> = stores.collect();
        switch.do_send(Tell(Meet(Neighbours {
            stores: stores.iter().map(|store| store.clone().recipient()).collect(),
            coordinator: coordinator.clone().recipient(),
            statuses: coordinator.clone().recipient(),
        })));
        for store in &stores {
            // an empty batch is a wake-up: what the replay left to do is taken up again
            store.do_send(Tell(Vec::<StoreInput>::new()));
        }
        Cast { switch, coordinator, stores, desk }
    }

    fn coordinator(&self, switch: &Addr<SwitchActor>, desk: &Rc<Desk>) -> Addr<CoordinatorActor> {
        let config = self.config.coordinator_config(self.id, Arc::clone(&self.topology));
        let machine = Coordinator::new(config, Arc::new(CqlSemantics), NoHooks);
        let output = switch.clone().recipient();
        let clocks = self.now();
        // read in every turn of the actor, and by nobody else
        let now = Rc::new(move || {
            failpoint::hit("coordinator");
            clocks()
        });
        let seams = CoordinatorSeams { output, now, note: self.note(), fatal: Rc::clone(&self.fatal) };
        CoordinatorActor::new(machine, Rc::clone(desk), Arc::clone(&self.clock), seams).start()
    }

    fn store_seams(&self, switch: &Addr<SwitchActor>, coordinator: &Addr<CoordinatorActor>) -> StoreSeams {
        let schema = Rc::clone(&self.schema);
        let key = schema.key().clone();
        StoreSeams {
            replies: switch.clone().recipient(),
            chases: coordinator.clone().recipient(),
            watched: Some((key, Box::new(move |rows| schema.written(rows)))),
            now: self.now(),
            note: self.note(),
            fatal: Rc::clone(&self.fatal),
        }
    }

    fn now(&self) -> Rc<dyn Fn() -> Now> {
        let time = self.time;
        Rc::new(move || time.now())
    }

    fn note(&self) -> Rc<dyn Fn(Note)> {
        let counters = Rc::clone(&self.counters);
        Rc::new(move |note| counters.note(note))
    }

    fn backend(&self, cast: &Cast, links: &Links) -> Rc<NodeBackend> {
        Rc::new(NodeBackend {
            node: self.id,
            config: Arc::clone(&self.config),
            topology: Arc::clone(&self.topology),
            schema: Rc::clone(&self.schema),
            links: Rc::clone(links),
            desk: Rc::clone(&cast.desk),
            coordinator: cast.coordinator.clone().recipient(),
            log: Rc::clone(&self.log),
            time: self.time,
            counters: Rc::clone(&self.counters),
            health: Rc::clone(&self.health),
            observer: OnceCell::new(),
            pending_max: usize::try_from(self.config.journal.pending_max).unwrap_or(usize::MAX) / PENDING_SHARE,
            is_stopping: Cell::new(false),
            client_address: OnceCell::new(),
        })
    }

    /// From now on the node can be looked at.
    fn let_observe(
        &self,
        backend: &Rc<NodeBackend>,
        cast: &Cast,
        inbound: Arc<ListenerCounters>,
        news: watch::Receiver<Durability>,
    ) {
        let observer = Observer {
            backend: Rc::downgrade(backend),
            time: self.time,
            counters: Rc::clone(&self.counters),
            stores: cast.stores.clone(),
            coordinator: cast.coordinator.clone(),
            inbound,
            news,
        };
        // set once, here
        let _ = backend.observer.set(Rc::new(observer));
    }

    /// Opens the metrics port, if there is to be one.
    async fn serve_metrics(&self, backend: &NodeBackend, tasks: &mut Vec<JoinHandle<()>>) -> Option<SocketAddr> {
        let (listen, observer) = (self.config.metrics_listen(self.id)?, backend.observer.get()?);
        let (port, address) = MetricsPort::bind(listen, Rc::clone(observer)).await?;
        tasks.push(spawn_local(port.run()));
        info!(%address, "metrics and health are served");
        Some(address)
    }

    fn tasks(&self, cast: &Cast, backend: &Rc<NodeBackend>, news: watch::Receiver<Durability>) -> Vec<JoinHandle<()>> {
        let reservations = Reservations::new(Rc::clone(&self.log), Arc::clone(&self.clock), self.time);
        let stores = cast.stores.iter().map(|store| store.clone().recipient()).collect();
        vec![
            spawn_local(pass_news_on(news, stores, reservations.clone(), Rc::clone(&self.fatal))),
            spawn_local(tick(reservations, Rc::clone(backend), Rc::clone(&self.fatal))),
            spawn_local(catch_up(Rc::clone(backend))),
        ]
    }
}

/// The bytes of the schema in the rows of the store that owns it.
fn stored_schema(
    config: &Config,
    topology: &Topology,
    stores: &[(CommandStore<NoHooks>, Rows)],
) -> Option<protocol::Bytes> {
    let key = schema_key(topology.largest_group());
    let store = Slices::new(config.node.stores).store_of(key.routing);
    stores.get(usize::from(store.0)).and_then(|(_, rows)| rows.get(&key))
}

fn taken(section: &str, error: &dyn std::fmt::Display) -> Error {
    Error::Failed(format!("{error}; stop whoever has the port, or change [{section}] listen"))
}

//! The Python driver against a port in front of one node in memory.
//!
//! Needs a Python with the package `cassandra-driver`: `ACCORDD_PYTHON=/path/to/python`. Skipped, and says so, without one.

mod one_node;

use cql_server::{ClientPort, PortConfig};
use one_node::OneNode;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Command, Output};
use std::rc::Rc;
use tokio::sync::oneshot;
use tokio::task::{LocalSet, spawn_local};

async fn run_driver(python: String, version: u8) -> Output {
    let node = Rc::new(OneNode::default());
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let port = ClientPort::bind(address, PortConfig::default(), Rc::clone(&node) as _).await.expect("bind");
    let local = port.local_addr().expect("address");
    node.set_port(local.port());
    let handle = port.handle();
    let serving = spawn_local(port.serve());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/driver_smoke.py");
    let (done, output) = oneshot::channel();
    std::thread::spawn(move || {
        let arguments = [local.ip().to_string(), local.port().to_string(), version.to_string()];
        let _ = done.send(Command::new(python).arg(script).args(arguments).output());
    });
    let output = output.await.expect("thread").expect("python starts");
    handle.stop();
    serving.await.expect("port ends");
    output
}

fn smoke(version: u8) {
    let Ok(python) = std::env::var("ACCORDD_PYTHON") else {
        println!("skipped: ACCORDD_PYTHON names no Python with the package cassandra-driver");
        return;
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("runtime");
    let output = LocalSet::new().block_on(&runtime, run_driver(python, version));
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && out.trim_end().ends_with("ok"), "{}\n{out}\n{err}", output.status);
}

#[test]
fn python_driver_runs_a_bank_in_version_four() {
    smoke(4);
}

#[test]
fn python_driver_runs_a_bank_in_version_five() {
    smoke(5);
}

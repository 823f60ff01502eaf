//! The reports of a proxy to its owner.

use std::fmt;
use std::net::IpAddr;
use std::pin::Pin;
use std::time::Duration;

use crate::host::Host;

/// A future on the heap, as a trait object can return it.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Hears of the connections of a proxy. Its methods run on the tasks of the proxy, so they must not block.
pub trait Observer: Send + Sync + 'static {
    /// A connection is over. One that leads nowhere is over before its client gets an answer.
    fn ended(&self, connection: &Connection);

    /// A client sent something that is no request for a host, so there is no [`Connection`]. Nothing was dialed.
    fn malformed(&self, _why: &str) {}

    /// Decides about a host that is not listed, for this connection.
    ///
    /// The client waits meanwhile, even if it has hung up, and takes one of the places of the proxy: bound the wait.
    /// Private addresses stay out of reach, unless the host is an address itself.
    fn ask<'a>(&'a self, _host: &'a Host, _port: u16) -> BoxFuture<'a, bool> {
        Box::pin(async { false })
    }
}

/// A connection that a command asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connection {
    /// The host, as it was judged.
    pub host: Host,
    /// The port, as it was judged.
    pub port: u16,
    /// The verdict, and where it led.
    pub outcome: Outcome,
    /// Bytes that the server took.
    pub sent: u64,
    /// Bytes that came from the server.
    pub received: u64,
    /// From the whole request to the end.
    pub duration: Duration,
}

/// The fate of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// No rule has the host and port, and nobody allowed it.
    NotListed,
    /// The host is listed, but resolves to this address of this machine or of a private network.
    PrivateAddress(IpAddr),
    /// The host is allowed, but there is no connection to it, for this reason.
    Unreachable(String),
    /// Bytes were copied until both sides ended, one of them failed, or the proxy was dropped.
    Relayed,
}

/// A sentence that tells a model what happened.
impl fmt::Display for Connection {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port, outcome, sent, received, .. } = self;
        match outcome {
            Outcome::NotListed => write!(out, "{host}:{port} is not on the list of hosts that this command may reach"),
            Outcome::PrivateAddress(ip) => write!(
                out,
                "{host}:{port} resolves to {ip}, an address of this machine or of a private network, which is not on \
                 the list of hosts that this command may reach"
            ),
            Outcome::Unreachable(why) => write!(out, "{host}:{port} cannot be reached: {why}"),
            Outcome::Relayed => write!(out, "{host}:{port}: {sent} bytes sent, {received} received"),
        }
    }
}

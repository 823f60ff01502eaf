//! From an allowed host to a connection: resolve, judge each address, dial the judged one.

use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::timeout;

use crate::host::Host;
use crate::observer::Outcome;
use crate::rules::Rules;

/// Time limit of resolving and connecting together.
pub(crate) const CONNECT: Duration = Duration::from_secs(30);

/// Most addresses of one name that are tried, one behind the other.
const MOST_ADDRESSES: usize = 4;

/// Time limit of an address that another one follows: some networks drop all packets of one IP version.
const ATTEMPT: Duration = Duration::from_secs(3);

/// The program that resolves names, on most systems, some old ones, and NixOS. `PATH` is not searched, because a fenced
/// command may write into one of its directories, and this runs outside of the fence.
const GETENT: [&str; 3] = ["/usr/bin/getent", "/bin/getent", "/run/current-system/sw/bin/getent"];

/// Connects to a host that was allowed. Dropping the future leaves at most a lookup behind, which ends by itself.
pub(crate) async fn dial(
    rules: &Rules,
    lookups: &Arc<Semaphore>,
    host: &Host,
    port: u16,
) -> Result<TcpStream, Outcome> {
    let dialing = async {
        let addresses = match host.ip() {
            Some(ip) => vec![ip],
            None => resolve(host.to_string(), lookups).await.map_err(|error| unreachable(&error))?,
        };
        let (mut usable, private): (Vec<_>, Vec<_>) =
            addresses.into_iter().partition(|ip| rules.may_dial(host, *ip, port));
        // The versions of IP alternate, and begin with the resolver's favorite.
        let mut seen = [0, 0];
        usable.sort_by_cached_key(|ip| {
            seen[usize::from(ip.is_ipv6())] += 1;
            seen[usize::from(ip.is_ipv6())]
        });
        usable.truncate(MOST_ADDRESSES);
        let mut outcome = match private.first() {
            Some(ip) => Outcome::PrivateAddress(*ip),
            None => Outcome::Unreachable("its name does not resolve to an address".to_owned()),
        };
        for ip in &usable {
            let patience = if Some(ip) == usable.last() { CONNECT } else { ATTEMPT };
            match timeout(patience, TcpStream::connect((*ip, port))).await {
                Ok(Ok(server)) => return Ok(server),
                Ok(Err(error)) => outcome = unreachable(&error),
                Err(_) => {}
            }
        }
        Err(outcome)
    };
    let late = || Outcome::Unreachable(format!("no connection in {} s", CONNECT.as_secs()));
    timeout(CONNECT, dialing).await.unwrap_or_else(|_| Err(late()))
}

fn unreachable(error: &io::Error) -> Outcome {
    Outcome::Unreachable(error.to_string())
}

/// Asks the system's resolver, on a thread that has its place until the lookup ends, even if nobody waits for it any more.
///
/// Not on a thread of tokio: the whole program shares those, and a command could use them all up with names whose
/// servers do not answer.
async fn resolve(name: String, lookups: &Arc<Semaphore>) -> io::Result<Vec<IpAddr>> {
    let place = Arc::clone(lookups).acquire_owned().await.map_err(io::Error::other)?;
    let (answer, answered) = oneshot::channel();
    std::thread::Builder::new().name("egress-lookup".to_owned()).spawn(move || {
        // Nobody waits any more if this fails.
        let _ = answer.send(getent(&name));
        drop(place);
    })?;
    answered.await.map_err(io::Error::other)?
}

/// Runs the system's program for lookups.
///
/// A static program must not call `getaddrinfo` itself: on many systems glibc then loads modules such as
/// `libnss_resolve`, with a second C library, and crashes.
fn getent(name: &str) -> io::Result<Vec<IpAddr>> {
    let program = GETENT.iter().find(|path| Path::new(path).exists());
    let program = program.ok_or_else(|| io::Error::other("resolving names needs the program `getent`"))?;
    // Without variables: `HOSTALIASES` would make other names of them.
    let mut command = Command::new(program);
    let output = command.args(["ahosts", name]).env_clear().stdin(Stdio::null()).stderr(Stdio::null()).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let ips = text.lines().filter_map(|line| line.split_whitespace().next()?.parse().ok());
    let mut ips: Vec<IpAddr> = ips.map(|ip: IpAddr| ip.to_canonical()).collect();
    // There is a line for each type of socket.
    ips.dedup();
    Ok(ips)
}

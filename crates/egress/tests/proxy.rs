//! The proxy over real sockets of this machine.

use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use bashful_egress::{BoxFuture, Connection, Host, Observer, Outcome, Rules, forward, serve};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

/// A bound that only a hang reaches.
const WIDE: Duration = Duration::from_mins(2);

async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(WIDE, future).await.expect("nothing hangs")
}

/// Passes on what it hears. Allows one host that is not listed.
struct Log(UnboundedSender<Result<Connection, String>>);

impl Observer for Log {
    fn ended(&self, connection: &Connection) {
        self.0.send(Ok(connection.clone())).expect("the test listens");
    }
    fn malformed(&self, why: &str) {
        self.0.send(Err(why.to_owned())).expect("the test listens");
    }
    fn ask<'a>(&'a self, host: &'a Host, _port: u16) -> BoxFuture<'a, bool> {
        Box::pin(async { host.to_string() == "127.0.0.77" })
    }
}

/// Has no opinion.
struct Silent;

impl Observer for Silent {
    fn ended(&self, _: &Connection) {}
}

struct Proxy {
    address: SocketAddr,
    log: UnboundedReceiver<Result<Connection, String>>,
    task: JoinHandle<()>,
}

impl Proxy {
    async fn new(rules: &[String]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let (log, heard) = unbounded_channel();
        let address = listener.local_addr().expect("its address");
        let rules = Arc::new(Rules::parse(rules).expect("rules"));
        Self { address, log: heard, task: tokio::spawn(serve(listener, rules, Arc::new(Log(log)))) }
    }

    async fn connect(&self) -> TcpStream {
        soon(TcpStream::connect(self.address)).await.expect("the proxy listens")
    }

    /// The whole answer to some bytes. The client hangs up only after it.
    async fn answer(&self, request: impl AsRef<[u8]>) -> String {
        let (mut client, mut answer) = (self.connect().await, Vec::new());
        client.write_all(request.as_ref()).await.expect("it is taken");
        soon(client.read_to_end(&mut answer)).await.expect("an end");
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// A tunnel that is ready for bytes.
    async fn tunnel(&self, to: SocketAddr) -> TcpStream {
        let mut client = self.connect().await;
        client
            .write_all(format!("CONNECT {to} HTTP/1.1\r\nHost: other\r\n\r\n").as_bytes())
            .await
            .expect("it is taken");
        granted(&mut client).await;
        client
    }

    /// The next connection that ended.
    async fn ended(&mut self) -> Connection {
        soon(self.log.recv()).await.expect("the proxy runs").expect("it was well-formed")
    }
}

async fn granted(client: &mut TcpStream) {
    let mut answer = [0; 39];
    soon(client.read_exact(&mut answer)).await.expect("an answer");
    assert_eq!(&answer, b"HTTP/1.1 200 Connection established\r\n\r\n");
}

fn socks(name: &[u8], port: u16) -> Vec<u8> {
    let length = u8::try_from(name.len()).expect("a short name");
    [&[5, 1, 0, 5, 1, 0, 3, length], name, &port.to_be_bytes()].concat()
}

/// The answer to a SOCKS client: its method, and the number of its reply.
fn reply(number: u8) -> String {
    String::from_utf8(vec![5, 0, 5, number, 0, 1, 0, 0, 0, 0, 0, 0]).expect("ASCII")
}

async fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("its address");
    (listener, address)
}

/// A server that reads to the end of its input, and then sends it back behind `got:`.
async fn echo() -> SocketAddr {
    let (listener, address) = listen().await;
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut bytes = b"got:".to_vec();
                client.read_to_end(&mut bytes).await?;
                client.write_all(&bytes).await
            });
        }
    });
    address
}

/// Sends bytes and the end of them, and reads to the end.
async fn exchange(client: &mut TcpStream, bytes: &[u8]) -> String {
    let mut answer = Vec::new();
    client.write_all(bytes).await.expect("it is taken");
    client.shutdown().await.expect("half of it is closed");
    soon(client.read_to_end(&mut answer)).await.expect("an end");
    String::from_utf8(answer).expect("text")
}

#[tokio::test]
async fn a_refusal_is_a_sentence_and_the_observer_knows_it_first() {
    let mut proxy = Proxy::new(&["example.org".to_owned()]).await;
    let sentence = |target: &str| format!("bashful: {target} is not on the list of hosts that this command may reach");
    for (request, target) in [
        ("CONNECT example.org:22 HTTP/1.1\r\n\r\n", "example.org:22"),
        ("CONNECT 192.0.2.1:443 HTTP/1.1\r\nHost: example.org\r\n\r\n", "192.0.2.1:443"),
        ("CONNECT [::1]:80 HTTP/1.1\r\n\r\n", "[::1]:80"),
        ("CONNECT localhost:80 HTTP/1.1\r\n\r\n", "localhost:80"),
        ("POST http://evil.net/ HTTP/1.1\r\nHost: example.org\r\nContent-Length: 4\r\n\r\nbody", "evil.net:80"),
        ("GET HTTP://Evil.net?http://example.org/ HTTP/1.1\r\n\r\n", "evil.net:80"),
    ] {
        let answer = proxy.answer(request).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 403 {}\r\n", sentence(target))), "{answer}");
        assert!(answer.contains("\r\nContent-Type: text/plain\r\n"), "{answer}");
        assert!(answer.ends_with(&format!("\r\n\r\n{}\n", sentence(target))), "{answer}");
        let heard = proxy.log.try_recv().expect("it was told before the answer").expect("it was well-formed");
        assert_eq!((format!("{}:{}", heard.host, heard.port), heard.outcome), (target.to_owned(), Outcome::NotListed));
    }
    assert_eq!(proxy.answer(socks(b"evil.net", 443)).await, reply(2));
    assert_eq!(proxy.ended().await.host.to_string(), "evil.net");
    assert_eq!(proxy.answer([5, 1, 0, 5, 1, 0, 1, 127, 0, 0, 1, 0, 80]).await, reply(2));
    assert_eq!(proxy.ended().await.host.to_string(), "127.0.0.1");
    let mapped = [&[5, 1, 0, 5, 1, 0, 4][..], &[0; 10], &[255, 255, 127, 0, 0, 1, 0, 80]].concat();
    assert_eq!(proxy.answer(mapped).await, reply(2));
    assert_eq!(proxy.ended().await.host.to_string(), "127.0.0.1");
}

#[tokio::test]
async fn a_request_that_can_be_read_in_two_ways_is_not_served() {
    let mut proxy = Proxy::new(&["good".to_owned(), "bad".to_owned()]).await;
    for request in [
        "GET http://good@bad/ HTTP/1.1\r\n\r\n",
        "GET http://good:80@bad/ HTTP/1.1\r\n\r\n",
        "GET http://good\\@bad/ HTTP/1.1\r\n\r\n",
        "GET http:///good/ HTTP/1.1\r\n\r\n",
        "GET https://good/ HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: good\r\n\r\n",
        "CONNECT good HTTP/1.1\r\n\r\n",
        "CONNECT good:80:80 HTTP/1.1\r\n\r\n",
        "CONNECT good.:80 HTTP/1.1\r\n\r\n",
        "CONNECT 2130706433:80 HTTP/1.1\r\n\r\n",
        "CONNECT good:80 HTTP/1.1\r\nHost good\r\n\r\n",
        "nonsense\r\n\r\n",
        "\u{16}\u{3}\u{1}\u{2}",
        &format!("GET http://good/ HTTP/1.1\r\nA: {}", "a".repeat(64 * 1024)),
    ] {
        let answer = proxy.answer(request).await;
        assert!(answer.starts_with("HTTP/1.1 400 bashful: "), "{request}: {answer}");
        proxy.log.try_recv().expect("it was told before the answer").expect_err("there is no host");
    }
    assert_eq!(proxy.answer(socks(b"good\0.evil.net", 80)).await, reply(2));
    assert!(
        proxy.log.try_recv().expect("it was told").expect_err("there is no host").starts_with(r#""good\x00.evil.net""#)
    );
    assert_eq!(proxy.answer([5, 1, 0, 5, 2, 0, 1, 127, 0, 0, 1, 0, 80]).await, reply(7), "BIND");
    assert_eq!(proxy.answer([5, 1, 2]).await.as_bytes(), "\u{5}\u{fffd}".as_bytes(), "a password");
}

#[tokio::test]
async fn every_protocol_reaches_a_listed_host_and_half_closed_connections_work() {
    let server = echo().await;
    let port = server.port();
    let mut proxy = Proxy::new(&[format!("localhost:{port}"), format!("127.0.0.1:{port}")]).await;
    for name in ["localhost", "LOCALHOST", "127.0.0.1", "[::ffff:127.0.0.1]"] {
        let mut client = proxy.connect().await;
        // The bytes behind the head come with it.
        client.write_all(format!("CONNECT {name}:{port} HTTP/1.1\r\n\r\nea").as_bytes()).await.expect("it is taken");
        granted(&mut client).await;
        assert_eq!(exchange(&mut client, b"rly").await, "got:early");
        let ended = proxy.ended().await;
        assert_eq!((ended.outcome, ended.sent, ended.received), (Outcome::Relayed, 5, 9));

        let mut client = proxy.connect().await;
        let request = [&socks(name.as_bytes(), port), &b"socks"[..]].concat();
        assert_eq!(exchange(&mut client, &request).await, reply(0) + "got:socks");
        assert_eq!(proxy.ended().await.sent, 5);
    }
}

#[tokio::test]
async fn the_server_sees_the_judged_host_whatever_the_headers_say() {
    let server = echo().await;
    let mut proxy = Proxy::new(&[format!("localhost:{}", server.port())]).await;
    let request = format!(
        "POST http://LocalHost:{}?q#fragment HTTP/1.1\r\nHost: evil.net\r\nA:  b \r\nhOST: other.net\r\n\
         Proxy-Authorization: x\r\nProxy-Connection: keep-alive\r\nConnection: keep-alive\r\nContent-Length: 4\n\r\nbody",
        server.port()
    );
    let mut client = proxy.connect().await;
    let got = exchange(&mut client, request.as_bytes()).await;
    let judged = format!("Host: localhost:{}\r\nConnection: close", server.port());
    assert_eq!(got, format!("got:POST /?q HTTP/1.1\r\n{judged}\r\nA: b\r\nContent-Length: 4\r\n\r\nbody"));
    assert_eq!(proxy.ended().await.outcome, Outcome::Relayed);
}

#[tokio::test]
async fn a_name_does_not_lead_to_an_address_of_this_machine_unless_that_is_listed() {
    // The name of a machine leads to itself nearly everywhere. Where it does not, there is nothing to test.
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").expect("a name").trim().to_lowercase();
    let port = echo().await.port();
    let addresses: Vec<_> = (name.as_str(), port).to_socket_addrs().map(Iterator::collect).unwrap_or_default();
    if name == "localhost" || addresses != [SocketAddr::from(([127, 0, 0, 1], port))] {
        return;
    }
    let rule = format!("{name}:{port}");
    let mut proxy = Proxy::new(std::slice::from_ref(&rule)).await;
    let answer = proxy.answer(format!("CONNECT {rule} HTTP/1.1\r\n\r\n")).await;
    assert!(
        answer.starts_with(&format!("HTTP/1.1 403 bashful: {rule} resolves to 127.0.0.1, an address of")),
        "{answer}"
    );
    assert_eq!(proxy.ended().await.outcome, Outcome::PrivateAddress([127, 0, 0, 1].into()));
    assert_eq!(proxy.answer(socks(name.as_bytes(), port)).await, reply(2));

    let mut proxy = Proxy::new(&[rule, format!("127.0.0.1:{port}")]).await;
    let mut client = proxy.connect().await;
    exchange(&mut client, &socks(name.as_bytes(), port)).await;
    assert_eq!(proxy.ended().await.outcome, Outcome::Relayed);
}

#[tokio::test]
async fn the_observer_can_allow_a_host_and_hears_why_it_cannot_be_reached() {
    let mut proxy = Proxy::new(&[]).await;
    // The listener is gone again, so nothing answers on this port.
    let port = listen().await.1.port();
    let answer = proxy.answer(format!("CONNECT 127.0.0.77:{port} HTTP/1.1\r\n\r\n")).await;
    assert!(answer.starts_with(&format!("HTTP/1.1 502 bashful: 127.0.0.77:{port} cannot be reached: ")), "{answer}");
    assert!(matches!(proxy.ended().await.outcome, Outcome::Unreachable(_)));
    assert_eq!(proxy.answer(socks(b"127.0.0.77", port)).await, reply(4));
    let other = proxy.answer(format!("CONNECT 127.0.0.78:{port} HTTP/1.1\r\n\r\n")).await;
    assert!(other.starts_with("HTTP/1.1 403 "), "{other}");
    assert!(!Silent.ask(&Host::parse(b"127.0.0.77").expect("a host"), port).await, "without a word it is a no");
}

#[tokio::test]
async fn a_thousand_clients_are_served_at_once_and_the_next_one_waits_for_a_place() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit })
        .expect("a process may raise its soft limit");
    let places = limit.maximum.map_or(1024, |files| 1024.min(files / 8));
    let server = echo().await;
    let mut proxy = Proxy::new(&[server.to_string()]).await;
    let mut clients = Vec::new();
    for _ in 0..places {
        clients.push(proxy.tunnel(server).await);
    }
    let mut late = proxy.connect().await;
    late.write_all(format!("CONNECT {server} HTTP/1.1\r\n\r\n").as_bytes()).await.expect("the backlog takes it");
    for (number, client) in clients.iter_mut().enumerate().skip(1) {
        client.write_all(format!("hello {number}").as_bytes()).await.expect("it is taken");
    }
    assert!(late.try_read(&mut [0]).is_err(), "there is no place");
    for (number, mut client) in clients.into_iter().enumerate().skip(1) {
        assert_eq!(exchange(&mut client, b"!").await, format!("got:hello {number}!"));
        assert_eq!(proxy.ended().await.outcome, Outcome::Relayed);
    }
    granted(&mut late).await;
    assert_eq!(exchange(&mut late, b"late").await, "got:late");
}

#[tokio::test]
async fn a_client_that_never_reads_stops_its_server_and_nobody_else() {
    const WHOLE: u64 = 64 << 20;
    let (listener, server) = listen().await;
    let others = echo().await;
    let mut proxy = Proxy::new(&[server.to_string(), others.to_string()]).await;
    let small = TcpSocket::new_v4().expect("a socket");
    small.set_recv_buffer_size(64 * 1024).expect("a small buffer");
    let mut client = small.connect(proxy.address).await.expect("the proxy listens");
    client.write_all(format!("CONNECT {server} HTTP/1.1\r\n\r\n").as_bytes()).await.expect("it is taken");
    granted(&mut client).await;
    let (mut stream, _) = soon(listener.accept()).await.expect("the proxy dials");
    let (first, reached) = tokio::sync::oneshot::channel();
    let sending = tokio::spawn(async move {
        let bytes = vec![7; usize::try_from(WHOLE).expect("it fits")];
        stream.write_all(&bytes[..1 << 18]).await.expect("the proxy takes some of it");
        first.send(()).expect("the test waits");
        stream.write_all(&bytes).await
    });
    soon(reached).await.expect("the server sends");
    for _ in 0..100 {
        assert_eq!(exchange(&mut proxy.tunnel(others).await, b"me").await, "got:me");
        assert_eq!(proxy.ended().await.received, 6);
    }
    drop(client);
    let ended = proxy.ended().await;
    assert!((1 << 16..WHOLE / 2).contains(&ended.received), "{ended}");
    soon(sending).await.expect("no panic").expect_err("the reset reaches the server");
}

#[tokio::test]
async fn a_reset_connection_does_not_look_like_one_that_ended() {
    let (listener, server) = listen().await;
    let mut proxy = Proxy::new(&[server.to_string()]).await;
    let mut client = proxy.tunnel(server).await;
    let (stream, _) = soon(listener.accept()).await.expect("the proxy dials");
    stream.set_zero_linger().expect("it is a socket");
    drop(stream);
    soon(client.read(&mut [0])).await.expect_err("the reset is passed on");
    assert_eq!(proxy.ended().await.outcome, Outcome::Relayed);
}

#[tokio::test]
async fn a_server_that_never_answers_holds_up_nobody_and_a_stopped_proxy_reports_it() {
    let (silent, address) = listen().await;
    let others = echo().await;
    let mut proxy = Proxy::new(&[address.to_string(), others.to_string()]).await;
    let mut waiting = proxy.connect().await;
    waiting.write_all(format!("GET http://{address}/ HTTP/1.1\r\n\r\n").as_bytes()).await.expect("it is taken");
    let _unanswered = soon(silent.accept()).await.expect("the proxy dials");
    // A client without a request, too.
    let _mute = proxy.connect().await;
    assert_eq!(exchange(&mut proxy.tunnel(others).await, b"me").await, "got:me");
    assert_eq!(proxy.ended().await.port, others.port());
    let mut idle = proxy.tunnel(others).await;
    proxy.task.abort();
    let mut ends = vec![proxy.ended().await.port, proxy.ended().await.port];
    ends.sort_unstable();
    let mut ports = vec![address.port(), others.port()];
    ports.sort_unstable();
    assert_eq!(ends, ports);
    assert_eq!(soon(waiting.read(&mut [0])).await.expect("an end"), 0);
    assert_eq!(soon(idle.read(&mut [0])).await.expect("an end"), 0);
}

#[tokio::test]
async fn a_forwarded_port_reaches_its_target_alone() {
    let (listener, inside) = listen().await;
    tokio::spawn(forward(listener, echo().await));
    let mut client = TcpStream::connect(inside).await.expect("it listens");
    assert_eq!(exchange(&mut client, b"CONNECT x:1 HTTP/1.1\r\n\r\n").await, "got:CONNECT x:1 HTTP/1.1\r\n\r\n");
    let (listener, inside) = listen().await;
    // The listener of the target is gone again.
    tokio::spawn(forward(listener, listen().await.1));
    let mut client = TcpStream::connect(inside).await.expect("it listens");
    assert_eq!(soon(client.read(&mut [0])).await.expect("an end"), 0);
}

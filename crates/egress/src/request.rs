//! A request of any of the three protocols, told apart by its first byte, and the answers to it.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};

use crate::host::Host;
use crate::observer::{Connection, Outcome};
use crate::{http, socks};

/// A request to connect to a host.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) host: Host,
    pub(crate) port: u16,
    pub(crate) protocol: Protocol,
    /// Bytes for the server that were read with the request.
    pub(crate) early: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    Connect,
    PlainHttp,
    Socks,
}

/// There is no request.
#[derive(Debug)]
pub(crate) enum NoRequest {
    /// The client hung up.
    Gone,
    /// The client asked for something that is not served.
    Malformed { why: String, answer: Vec<u8> },
}

impl From<io::Error> for NoRequest {
    fn from(_: io::Error) -> Self {
        Self::Gone
    }
}

impl Request {
    pub(crate) async fn read<C: AsyncRead + AsyncWrite + Unpin>(client: &mut C) -> Result<Self, NoRequest> {
        match client.read_u8().await? {
            socks::VERSION => socks::read(client).await,
            first => http::read(client, first).await,
        }
    }
}

impl Protocol {
    /// The answer before the first byte of the server.
    pub(crate) fn granted(self) -> &'static [u8] {
        match self {
            Self::Connect => b"HTTP/1.1 200 Connection established\r\n\r\n",
            Self::PlainHttp => b"",
            Self::Socks => socks::SUCCEEDED,
        }
    }

    /// The only answer, for a request that leads nowhere.
    pub(crate) fn denied(self, connection: &Connection) -> Vec<u8> {
        let refused = matches!(connection.outcome, Outcome::NotListed | Outcome::PrivateAddress(_));
        match self {
            Self::Connect | Self::PlainHttp => http::answer(if refused { 403 } else { 502 }, connection),
            Self::Socks => socks::answer(if refused { socks::NOT_ALLOWED } else { socks::HOST_UNREACHABLE }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::{Rules, Verdict};
    use proptest::prelude::*;
    use tokio::io::AsyncWriteExt;

    fn decide(rules: &Rules, protocol: Protocol, bytes: &[u8]) -> Option<(Host, Verdict)> {
        let mut client = tokio::io::join(bytes, tokio::io::sink());
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let request = runtime.block_on(Request::read(&mut client)).ok()?;
        assert_eq!(request.protocol, protocol);
        let verdict = rules.decide(&request.host, request.port);
        Some((request.host, verdict))
    }

    #[tokio::test]
    async fn a_request_in_single_bytes_is_a_request() {
        for head in
            ["CONNECT a:1 HTTP/1.1\r\n\r\n", "CONNECT a:1 HTTP/1.1\n\n", "\u{5}\u{1}\0\u{5}\u{1}\0\u{3}\u{1}a\0\u{1}"]
        {
            let (mut near, far) = tokio::io::duplex(1);
            let mut client = tokio::io::join(far, tokio::io::sink());
            let (sent, request) = tokio::join!(near.write_all(head.as_bytes()), Request::read(&mut client));
            sent.expect("it was taken");
            let request = request.expect("a request");
            assert_eq!((request.host.to_string(), request.port), ("a".to_owned(), 1));
        }
    }

    proptest! {
        /// Bytes that end a host in HTTP (`/?#`, spaces) are left out: they make another request of it.
        #[test]
        fn a_host_gets_the_same_decision_by_every_protocol(
            host in prop_oneof!["[a-z0-9.A-Z:@_%*\\\\\\[\\]\\x00-]{0,12}", "(a\\.)?(Example|eXAMPLE)\\.(org|com)", "(::)?[0-9x.]{1,9}"],
            port in prop_oneof![Just(80_u16), Just(443), 1..=u16::MAX]
        ) {
            let rules = Rules::parse(["example.org", "*.example.com:443", "127.0.0.1", "[::1]:80"]).expect("rules");
            let connect = decide(&rules, Protocol::Connect, format!("CONNECT {host}:{port} HTTP/1.1\r\n\r\n").as_bytes());
            let plain = format!("GET http://{host}:{port}/x HTTP/1.1\r\nHost: example.org\r\n\r\n");
            prop_assert_eq!(&connect, &decide(&rules, Protocol::PlainHttp, plain.as_bytes()));
            let length = u8::try_from(host.len()).expect("a short host");
            let bytes = [&[5, 1, 0, 5, 1, 0, 3, length], host.as_bytes(), &port.to_be_bytes()].concat();
            prop_assert_eq!(&connect, &decide(&rules, Protocol::Socks, &bytes));
            prop_assert_eq!(connect.map(|(host, _)| host), Host::parse(host.as_bytes()).ok());
        }
    }
}

//! SOCKS5 (RFC 1928) without authentication, and of its commands CONNECT alone.
//!
//! By hand: `fast-socks5` could judge before it dials, but brings UDP, a client, and second versions of `socket2` and
//! `thiserror`.

use std::net::IpAddr;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::host::Host;
use crate::request::{NoRequest, Protocol, Request};

/// The first byte of every message.
pub(crate) const VERSION: u8 = 5;
/// The answer to a request that was granted. The address in it is unspecified: clients do not need it.
pub(crate) const SUCCEEDED: &[u8] = &[VERSION, 0, 0, 1, 0, 0, 0, 0, 0, 0];
pub(crate) const NOT_ALLOWED: u8 = 2;
pub(crate) const HOST_UNREACHABLE: u8 = 4;
const COMMAND_NOT_SUPPORTED: u8 = 7;
const ADDRESS_NOT_SUPPORTED: u8 = 8;

const NO_AUTHENTICATION: u8 = 0;
const CONNECT: u8 = 1;

/// Reads a greeting whose first byte has been read, and the request behind it.
pub(crate) async fn read<C: AsyncRead + AsyncWrite + Unpin>(client: &mut C) -> Result<Request, NoRequest> {
    let mut methods = vec![0; usize::from(client.read_u8().await?)];
    client.read_exact(&mut methods).await?;
    if !methods.contains(&NO_AUTHENTICATION) {
        let why = "the SOCKS client insists on authentication".to_owned();
        return Err(NoRequest::Malformed { why, answer: vec![VERSION, 0xff] });
    }
    client.write_all(&[VERSION, NO_AUTHENTICATION]).await?;
    let [_version, command, _reserved, kind] = bytes(client).await?;
    let host = match kind {
        1 => Ok(IpAddr::from(bytes::<4>(client).await?).into()),
        3 => {
            let mut name = vec![0; usize::from(client.read_u8().await?)];
            client.read_exact(&mut name).await?;
            Host::parse(&name)
        }
        4 => Ok(IpAddr::from(bytes::<16>(client).await?).into()),
        _ => return Err(malformed("the kind of address is unknown", ADDRESS_NOT_SUPPORTED)),
    };
    let port = client.read_u16().await?;
    if command != CONNECT {
        return Err(malformed("of SOCKS there is CONNECT alone", COMMAND_NOT_SUPPORTED));
    }
    let host = host.map_err(|error| malformed(&error.to_string(), NOT_ALLOWED))?;
    Ok(Request { host, port, protocol: Protocol::Socks, early: Vec::new() })
}

async fn bytes<const N: usize>(client: &mut (impl AsyncRead + Unpin)) -> Result<[u8; N], NoRequest> {
    let mut bytes = [0; N];
    client.read_exact(&mut bytes).await?;
    Ok(bytes)
}

fn malformed(why: &str, reply: u8) -> NoRequest {
    NoRequest::Malformed { why: why.to_owned(), answer: answer(reply) }
}

/// A reply without an address.
pub(crate) fn answer(reply: u8) -> Vec<u8> {
    let mut answer = SUCCEEDED.to_vec();
    answer[1] = reply;
    answer
}

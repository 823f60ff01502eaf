//! `bashful mcp --http`: the listening address and the token.

use std::error::Error;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::path::{Path, PathBuf};

use bashful_mcp::{AccessRules, Token, TokenError};
use bashful_sys::limits::Limit;
use rustix::net::listen as set_backlog;
use rustix::rand::{GetRandomFlags, getrandom};
use thiserror::Error;

use crate::cli::McpArgs;
use crate::print;
use crate::settings;
use crate::token_file::{self, TokenFileError};

/// The variable that holds the token. Commands never get it.
pub(crate) const TOKEN: &str = "BASHFUL_MCP_TOKEN";

/// Connections that the system holds until the server accepts them. A client whose connection does not fit tries again only a
/// second later, so a burst of strangers has to fit. The system lowers this to its own limit.
const BACKLOG: i32 = 4096;

/// An error that keeps the server from listening.
#[derive(Debug, Error)]
pub(crate) enum HttpError {
    #[error("{given:?} is not an address: use PORT or HOST:PORT, as in 8331 or 127.0.0.1:8331")]
    Address { given: String },
    #[error("cannot listen on {address}")]
    Listen { address: SocketAddr, source: std::io::Error },
    #[error(
        "{address} can be reached from other machines, so clients and server have to agree on a token first: \
         use --token-file or {TOKEN}"
    )]
    OpenToOthers { address: SocketAddr },
    #[error(transparent)]
    TokenFile(#[from] TokenFileError),
    #[error("{place} is not fit for a token")]
    NoToken { place: String, source: TokenError },
    #[error("the system gives no random bytes for a token")]
    NoRandomness(#[source] std::io::Error),
}

/// A bound socket, and the rules for its clients.
pub(crate) struct ListeningServer {
    pub(crate) listener: TcpListener,
    pub(crate) access_rules: AccessRules,
}

/// The source of a token.
enum Origin {
    File(PathBuf),
    Setting,
    /// This program made the token, so it has to print it.
    Made,
}

/// Binds the socket, and prints the address and the token.
pub(crate) fn listen(given: &str, args: &McpArgs, settings: &settings::Mcp) -> Result<ListeningServer, Box<dyn Error>> {
    let address = address(given)?;
    let (token, origin) = token(args.token_file.as_deref(), settings)?;
    if !address.ip().is_loopback() && matches!(origin, Origin::Made) {
        return Err(HttpError::OpenToOthers { address }.into());
    }
    let failed = |source| HttpError::Listen { address, source };
    let listener = TcpListener::bind(address).map_err(failed)?;
    set_backlog(&listener, BACKLOG).map_err(|error| failed(error.into()))?;
    // The system has replaced port 0.
    let address = listener.local_addr().map_err(failed)?;
    announce(address, &token, &origin);
    let access_rules = AccessRules {
        token,
        hosts: settings.hosts.0.iter().map(ToString::to_string).collect(),
        sessions: settings.sessions.count(),
        idle: settings.session_idle_seconds.duration(),
        // The program raises its own limit that far.
        descriptors: Limit::descriptors().hard.unwrap_or(u64::MAX),
    };
    Ok(ListeningServer { listener, access_rules })
}

/// Parses an address. Without a host it is loopback.
fn address(given: &str) -> Result<SocketAddr, HttpError> {
    let is_port = !given.is_empty() && given.bytes().all(|byte| byte.is_ascii_digit());
    let whole = match given.strip_prefix(':').or(is_port.then_some(given)) {
        Some(port) => format!("127.0.0.1:{port}"),
        None => given.to_owned(),
    };
    let found = whole.to_socket_addrs().ok().and_then(|mut found| found.next());
    found.ok_or_else(|| HttpError::Address { given: given.to_owned() })
}

/// The token from the file on the command line, from the settings, or a new one.
fn token(file: Option<&Path>, settings: &settings::Mcp) -> Result<(Token, Origin), HttpError> {
    let in_settings = Some(settings.token_file.as_str()).filter(|path| !path.is_empty() && settings.token.is_empty());
    if let Some(path) = file.or(in_settings.map(Path::new)) {
        let text = token_file::read(path)?;
        let no_token = |source| HttpError::NoToken { place: path.display().to_string(), source };
        return Ok((Token::new(&text).map_err(no_token)?, Origin::File(path.to_owned())));
    }
    if !settings.token.is_empty() {
        let no_token = |source| HttpError::NoToken { place: format!("`[mcp] token`, or {TOKEN},"), source };
        return Ok((Token::new(settings.token.reveal()).map_err(no_token)?, Origin::Setting));
    }
    let mut bytes = [0; 32];
    let filled = getrandom(&mut bytes, GetRandomFlags::empty()).map_err(std::io::Error::from);
    match filled {
        Ok(filled) if filled == bytes.len() => Ok((Token::of_random(bytes), Origin::Made)),
        Ok(_) => Err(HttpError::NoRandomness(std::io::ErrorKind::UnexpectedEof.into())),
        Err(source) => Err(HttpError::NoRandomness(source)),
    }
}

/// Prints the address and the client's settings. A token from a file or the settings is not printed.
fn announce(address: SocketAddr, token: &Token, origin: &Origin) {
    let url = format!("http://{address}/mcp");
    let (note, shown) = match origin {
        Origin::Made => {
            ("its token was made for this run; --token-file keeps one for longer\n", token.reveal().to_owned())
        }
        Origin::File(path) => ("", format!("$(cat {})", path.display())),
        Origin::Setting => ("", format!("${TOKEN}")),
    };
    print::talk(&format!(
        "bashful: listening on {url}\n{note}\
         claude mcp add --transport http bashful {url} --header \"Authorization: Bearer {shown}\""
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_without_a_host_is_this_machine_alone() {
        let check = |given: &str, expected: &str| {
            assert_eq!(address(given).expect("an address").to_string(), expected, "{given}");
        };
        check(":8331", "127.0.0.1:8331");
        check("8331", "127.0.0.1:8331");
        check("127.0.0.2:0", "127.0.0.2:0");
        check("[::1]:5", "[::1]:5");
        check("0.0.0.0:80", "0.0.0.0:80");
        for given in ["", ":", "127.0.0.1", ":99999", "99999", "::1:5x", "http://127.0.0.1:80", ":8331 "] {
            assert!(address(given).is_err(), "{given}");
        }
    }
}
